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
    /// Time of one workgroup that does not have to share.
    pub time: Nanos,
    pub waves: u32,
    /// Wave state of one workgroup.
    pub state_bytes: u64,
    /// Ends of workgroups fall on multiples of this, 0 for any time.  Without
    /// it a kernel of many rounds that was disturbed once has as many events
    /// as workgroups.
    pub grain: Work,
}

impl Kernel {
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
