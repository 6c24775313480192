// SPDX-License-Identifier: GPL-2.0-only
//! What a workgroup executes. Work is countable: a workgroup runs for a given
//! time and then adds 1 to a counter of its own.
//!
//! Everything the engine knows about a program is here: how it is read, begun,
//! run, suspended, written to the save area, read back, and finished. An
//! interpreter of machine code would replace this file.

use crate::memory::{Memory, MemoryFault, Space};
use crate::terms::GpuNanos;

/// The time of a workgroup that never ends.
const ENDLESS: u64 = u64::MAX;

/// The work of one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Address of the first workgroup's counter.
    counters: u64,
    /// Nanoseconds that a workgroup takes, or [`ENDLESS`].
    cost: u64,
}

/// A workgroup that is not on a unit: yet to begin, or taken off one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspended {
    workgroup: u64,
    /// Nanoseconds it still needs, or [`ENDLESS`].
    remaining: u64,
}

/// A workgroup on a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    workgroup: u64,
    ends: GpuNanos,
}

impl Work {
    /// How many words of a dispatch's part of the control stack it takes.
    pub const WORDS: usize = 2;

    /// Reads the arguments of a kernel that is countable work.
    pub fn read(memory: &Memory, space: Space, kernarg: u64) -> Result<Work, MemoryFault> {
        Ok(Work {
            counters: memory.read_u64(space, kernarg)?,
            cost: memory.read_u64(space, kernarg.wrapping_add(8))?,
        })
    }

    pub fn check(&self) -> Result<(), String> {
        if self.counters % 4 != 0 {
            return Err(format!(
                "the counters at {:#x} are not aligned",
                self.counters
            ));
        }
        Ok(())
    }

    pub fn to_words(self) -> [u64; Work::WORDS] {
        [self.counters, self.cost]
    }

    pub fn from_words([counters, cost]: [u64; Work::WORDS]) -> Work {
        Work { counters, cost }
    }

    /// A workgroup that has not begun.
    pub fn begin(&self, workgroup: u64) -> Suspended {
        Suspended {
            workgroup,
            remaining: self.cost,
        }
    }

    /// Whether its workgroups end at all.
    pub fn ends(&self) -> bool {
        self.cost != ENDLESS
    }

    /// Takes a workgroup off its unit.
    pub fn suspend(&self, running: Running, now: GpuNanos) -> Suspended {
        Suspended {
            workgroup: running.workgroup,
            remaining: match running.ends {
                GpuNanos::NEVER if self.cost == ENDLESS => ENDLESS,
                // A fault kept it from ending when its time was over.
                GpuNanos::NEVER => 0,
                ends => ends.since(now),
            },
        }
    }

    /// A workgroup has run to its end.
    pub fn finish(
        &self,
        memory: &mut Memory,
        space: Space,
        running: Running,
    ) -> Result<(), MemoryFault> {
        let counter = self.counters.wrapping_add(running.workgroup * 4);
        memory.add_u32(space, counter, 1).map(|_| ())
    }
}

impl Suspended {
    /// How many words of a workgroup's record in the save area it takes.
    pub const WORDS: usize = 2;

    pub fn workgroup(&self) -> u64 {
        self.workgroup
    }

    pub fn to_words(self) -> [u64; Suspended::WORDS] {
        [self.workgroup, self.remaining]
    }

    pub fn from_words([workgroup, remaining]: [u64; Suspended::WORDS]) -> Suspended {
        Suspended {
            workgroup,
            remaining,
        }
    }

    /// Puts it on a unit.
    pub fn run(self, now: GpuNanos) -> Running {
        Running {
            workgroup: self.workgroup,
            ends: now.after(self.remaining),
        }
    }
}

impl Running {
    /// When it ends if left alone.
    pub fn ends(&self) -> GpuNanos {
        self.ends
    }

    /// A fault keeps it from ending.
    pub fn hold(&mut self) {
        self.ends = GpuNanos::NEVER;
    }

    /// It will not end by itself.
    pub fn is_held(&self) -> bool {
        self.ends == GpuNanos::NEVER
    }
}
