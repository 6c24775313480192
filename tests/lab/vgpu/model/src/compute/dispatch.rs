// SPDX-License-Identifier: GPL-2.0-only
//! A dispatch in flight, and each die's share of its workgroups.

use std::collections::VecDeque;

use super::kernel::Kernel;
use super::occupancy::Footprint;
use super::work::{Suspended, Work};
use crate::terms::GpuNanos;

/// What one die has of a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The die is loaded: its state is here, not in the save area.
    pub present: bool,
    /// Counts of its workgroups, in the order of dealing: launched so far, on
    /// units now, ended, and all.
    pub next: u64,
    pub resident: u64,
    pub done: u64,
    pub total: u64,
    pub waiting: VecDeque<Suspended>,
}

impl Share {
    /// Some workgroup waits for a unit.
    pub fn has_work(&self) -> bool {
        self.present && (self.next < self.total || !self.waiting.is_empty())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Number of its packet.
    pub packet: u64,
    pub workgroups: u64,
    /// Of one workgroup.
    pub waves: u32,
    pub vgprs: u32,
    pub lds: u32,
    pub work: Work,
    /// Completion signal, or 0.
    pub signal: u64,
    /// When its first workgroup was launched.
    pub(super) started: Option<GpuNanos>,
    pub(super) shares: Vec<Share>,
}

impl Dispatch {
    /// A dispatch whose workgroups have not been dealt to the dies, or why no
    /// unit can take them.
    pub fn new(
        packet: u64,
        workgroups: u64,
        waves: u32,
        kernel: Kernel,
        work: Work,
        signal: u64,
    ) -> Result<Dispatch, String> {
        let dispatch = Dispatch {
            packet,
            workgroups,
            waves,
            vgprs: kernel.vgprs,
            lds: kernel.lds,
            work,
            signal,
            started: None,
            shares: Vec::new(),
        };
        dispatch.check()?;
        Ok(dispatch)
    }

    pub fn footprint(&self) -> Footprint {
        Footprint {
            waves: self.waves,
            vgprs: self.vgprs,
            lds: self.lds,
        }
    }

    fn check(&self) -> Result<(), String> {
        if !self.footprint().fits_at_all() {
            return Err(format!(
                "a workgroup of {} waves with {} registers and {} bytes of local memory fits on \
                 no compute unit",
                self.waves, self.vgprs, self.lds
            ));
        }
        self.work.check(self.waves)
    }

    /// Every workgroup has been launched once. A die that is not loaded may still
    /// have some left, so all dies must be.
    pub fn is_launched(&self) -> bool {
        self.shares
            .iter()
            .all(|share| share.present && share.next == share.total)
    }

    pub fn is_done(&self) -> bool {
        self.shares
            .iter()
            .all(|share| share.present && share.done == share.total)
    }
}

/// Workgroups are dealt to the dies in chunks, in turn.
#[derive(Clone, Copy, Debug)]
pub struct Deal {
    pub dies: u64,
    /// This die's turn.
    pub position: u64,
    pub chunk: u64,
}

impl Deal {
    /// How many of all workgroups the die gets.
    pub fn total(&self, workgroups: u64) -> u64 {
        let round = self.dies * self.chunk;
        let rest = workgroups % round;
        let own = rest
            .saturating_sub(self.position * self.chunk)
            .min(self.chunk);
        workgroups / round * self.chunk + own
    }

    /// The workgroup that is the die's `index`-th.
    pub fn workgroup(&self, index: u64) -> u64 {
        let round = index / self.chunk;
        (round * self.dies + self.position) * self.chunk + index % self.chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn dealing_gives_every_workgroup_to_one_die(
            dies in 1u64..9,
            chunk in 1u64..5,
            workgroups in 0u64..300,
        ) {
            let mut seen = vec![0; workgroups as usize];
            for position in 0..dies {
                let deal = Deal { dies, position, chunk };
                for index in 0..deal.total(workgroups) {
                    seen[deal.workgroup(index) as usize] += 1;
                }
            }
            prop_assert!(seen.iter().all(|count| *count == 1), "{seen:?}");
        }
    }
}
