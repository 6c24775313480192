// SPDX-License-Identifier: GPL-2.0-only

//! What a dispatch packet launches, and the class its queue has in hardware.

use crate::gpu::Nanos;
use serde::Serialize;
use std::sync::Arc;

/// Picoseconds of undisturbed work: the clock that slows down under load.
pub type Work = u64;

/// One dispatch packet and the grid behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    pub workgroups: u32,
    /// Slots that one workgroup occupies, of `SLOTS_PER_CU`.
    pub slots: u64,
    /// Throughput that one workgroup can use, in parts of `FULL_DEMAND`.
    pub demand: u64,
    /// Time of one workgroup that does not have to share, in the middle of all.
    pub time: Nanos,
    /// By how many percent of that time workgroups are shorter or longer than it.
    pub spread: u8,
    pub waves: u32,
    /// Wave state of one workgroup.
    pub state_bytes: u64,
    /// Ends of workgroups fall on multiples of this, 0 for any time.  Without
    /// it a kernel of many rounds that was disturbed once has as many events
    /// as workgroups.
    pub grain: Work,
}

/// As many different times as there are among the workgroups of a kernel with a spread.
pub const PARTS: u32 = 8;

impl Kernel {
    /// How many of the workgroups from the `first` on have which work.
    pub fn work_of(&self, first: u32, count: u32) -> impl Iterator<Item = (Work, u32)> + '_ {
        let parts = if self.spread == 0 { 1 } else { PARTS };
        (0..parts).filter_map(move |part| {
            // Neighbours differ: each part has every eighth workgroup.
            let before = |index: u32| (index + parts - 1 - part) / parts;
            let count = before(first + count) - before(first);
            (count > 0).then(|| (self.work_of_part(part, parts), count))
        })
    }

    fn work_of_part(&self, part: u32, parts: u32) -> Work {
        let spread = u64::from(self.spread);
        let longer = 2 * spread * u64::from(part) / u64::from(parts - 1).max(1);
        self.time * 10 * (100 - spread + longer)
    }

    /// Rounds of resident workgroups from which on ends are aligned, and the
    /// parts of a workgroup's time they are aligned to: together an error of
    /// less than 1 % of the kernel's time.
    const ALIGNED_ROUNDS: u64 = 4;
    const ALIGNED_PARTS: u64 = 32;

    /// The alignment of a kernel on a node with `slots`.
    pub fn grain_for(workgroups: u32, slots_each: u64, time: Nanos, slots: u64) -> Work {
        if u64::from(workgroups) * slots_each < Self::ALIGNED_ROUNDS * slots {
            return 0;
        }
        Self::aligned(time)
    }

    /// The alignment itself, for a kernel whose workgroups end one by one.
    pub fn aligned(time: Nanos) -> Work {
        time * 1_000 / Self::ALIGNED_PARTS
    }
}

pub type Program = Arc<[Kernel]>;

/// The three classes that KFD folds the 16 priorities into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PipeClass {
    Low,
    Medium,
    High,
}

impl PipeClass {
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// `pipe_priority_map` of the driver.
    pub fn of_priority(priority: u8) -> Self {
        match priority {
            0..=6 => Self::Low,
            7..=10 => Self::Medium,
            _ => Self::High,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(spread: u8) -> Kernel {
        Kernel {
            workgroups: 100,
            slots: 1,
            demand: 1,
            time: 1_000,
            spread,
            waves: 1,
            state_bytes: 1,
            grain: 0,
        }
    }

    #[test]
    fn without_a_spread_all_workgroups_are_alike() {
        let all: Vec<_> = kernel(0).work_of(3, 40).collect();
        assert_eq!(all, [(1_000_000, 40)]);
        assert_eq!(kernel(0).work_of(3, 0).count(), 0);
    }

    #[test]
    fn with_a_spread_they_end_at_different_times_whoever_places_them() {
        let kernel = kernel(50);
        let mut sum = std::collections::BTreeMap::new();
        for (first, count) in [(0, 1), (1, 6), (7, 0), (7, 30), (37, 63)] {
            for (work, count) in kernel.work_of(first, count) {
                *sum.entry(work).or_insert(0) += count;
            }
        }
        let whole: std::collections::BTreeMap<_, _> = kernel.work_of(0, 100).collect();
        assert_eq!(sum, whole);
        assert_eq!(whole.len(), PARTS as usize);
        assert_eq!(whole.values().sum::<u32>(), 100);
        assert_eq!(whole.keys().min(), Some(&500_000));
        assert_eq!(whole.keys().max(), Some(&1_500_000));
    }
}
