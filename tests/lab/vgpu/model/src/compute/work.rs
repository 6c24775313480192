// SPDX-License-Identifier: GPL-2.0-only
//! What a workgroup executes: countable work or machine code. A workgroup of countable
//! work runs for a given time and then adds 1 to a counter of its own.
//!
//! Everything the engine knows about a program is here and in `machine`: how it is read,
//! begun, run, suspended, written to the save area, read back, and finished.

use super::machine::{Context, Course, Group, Program, Scratch, ScratchSlot, Seats};
use super::pace::{Pace, Progress, UNIT};
use crate::memory::{Memory, MemoryFault, Space};
use crate::terms::{Config, GpuNanos};

/// The time of a workgroup that never ends.
const ENDLESS: u64 = u64::MAX;

/// Where waves rest at times, how many turns at a time.
const TURNS_OF_A_PHASE: u64 = 16;

/// The work of one dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Countable(Countable),
    Machine(Box<Program>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Countable {
    /// Address of the first workgroup's counter.
    counters: u64,
    /// Nanoseconds that a workgroup takes, or [`ENDLESS`].
    cost: u64,
    /// What it asks for of a unit's throughput, in parts of [`UNIT`].
    demand: u64,
}

/// A workgroup that is not on a unit: yet to begin, or taken off one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    workgroup: u64,
    /// Nanoseconds it still needs, or [`ENDLESS`].
    remaining: u64,
    /// Its waves, if it executes machine code.
    group: Option<Box<Group>>,
}

/// A workgroup on a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    workgroup: u64,
    ends: End,
    group: Option<Box<Group>>,
}

/// When a workgroup on a unit ends if left alone; machine code may go on then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Never,
    At(GpuNanos),
    /// When its die has done so much work.
    After(Progress),
}

/// The time in which each wave executes its share of instructions.
fn quantum(config: &Config) -> u64 {
    config.timing.instruction * u64::from(config.wave_quantum)
}

fn slots(group: Option<&Group>) -> Vec<ScratchSlot> {
    let all = group.map(Group::slots).unwrap_or_default();
    all.into_iter().flatten().collect()
}

impl Countable {
    /// How many words of a dispatch's part of the control stack it takes.
    pub const WORDS: usize = 3;

    pub fn to_words(self) -> [u64; Countable::WORDS] {
        [self.counters, self.cost, self.demand]
    }

    pub fn from_words([counters, cost, demand]: [u64; Countable::WORDS]) -> Countable {
        Countable {
            counters,
            cost,
            demand,
        }
    }
}

impl Work {
    /// Reads the arguments of a kernel that is countable work.
    pub fn read(memory: &Memory, space: Space, kernarg: u64) -> Result<Work, MemoryFault> {
        Ok(Work::Countable(Countable {
            counters: memory.read_u64(space, kernarg)?,
            cost: memory.read_u64(space, kernarg.wrapping_add(8))?,
            demand: memory.read_u64(space, kernarg.wrapping_add(16))?,
        }))
    }

    pub fn check(&self, waves: u32) -> Result<(), String> {
        match self {
            Work::Countable(work) if work.counters % 4 != 0 => Err(format!(
                "the counters at {:#x} are not aligned",
                work.counters
            )),
            Work::Countable(work) if work.demand > UNIT => Err(format!(
                "a workgroup asks for {} thousandths of a compute unit's throughput, and the most is {UNIT}",
                work.demand
            )),
            Work::Countable(_) => Ok(()),
            Work::Machine(program) => program.check(waves),
        }
    }

    /// The scratch that each of its waves has a part of, if any.
    pub fn scratch(&self) -> Option<&Scratch> {
        match self {
            Work::Machine(program) => program.scratch(),
            Work::Countable(_) => None,
        }
    }

    /// A workgroup that has not begun, and has so much local memory.
    pub fn begin(&self, workgroup: u64, lds: u32, seats: &Seats) -> Suspended {
        let (remaining, group) = match self {
            Work::Countable(work) => (work.cost, None),
            Work::Machine(program) => {
                let group = Group::new(program, workgroup, lds, seats);
                (0, Some(Box::new(group)))
            }
        };
        Suspended {
            workgroup,
            remaining,
            group,
        }
    }

    /// Whether its workgroups end at all, as far as that is known.
    pub fn ends(&self) -> bool {
        !matches!(self, Work::Countable(work) if work.cost == ENDLESS)
    }

    /// What one of its workgroups asks for of a unit's throughput.
    pub fn demand(&self) -> u64 {
        match self {
            Work::Countable(work) => work.demand,
            Work::Machine(_) => 0,
        }
    }

    /// Takes a workgroup off its unit.
    pub fn suspend(&self, running: Running, now: GpuNanos, pace: &mut Pace) -> Suspended {
        let remaining = match (self, running.ends) {
            (Work::Machine(_), _) => 0,
            (Work::Countable(work), End::Never) if work.cost == ENDLESS => ENDLESS,
            // A fault kept it from ending when its time was over.
            (Work::Countable(_), End::Never) => 0,
            (Work::Countable(_), End::At(ends)) => ends.since(now),
            (Work::Countable(_), End::After(ends)) => pace.missing(now, ends),
        };
        Suspended {
            workgroup: running.workgroup,
            remaining,
            group: running.group,
        }
    }

    /// A workgroup has run to its end.
    pub fn finish(
        &self,
        memory: &mut Memory,
        space: Space,
        running: &Running,
    ) -> Result<(), MemoryFault> {
        let Work::Countable(work) = self else {
            return Ok(());
        };
        let counter = work.counters.wrapping_add(running.workgroup * 4);
        memory.add_u32(space, counter, 1).map(|_| ())
    }
}

impl Suspended {
    /// How many words of a countable workgroup's record in the save area it takes.
    pub const WORDS: usize = 2;

    pub fn workgroup(&self) -> u64 {
        self.workgroup
    }

    pub fn to_words(&self) -> [u64; Suspended::WORDS] {
        [self.workgroup, self.remaining]
    }

    pub fn from_words([workgroup, remaining]: [u64; Suspended::WORDS]) -> Suspended {
        Suspended {
            workgroup,
            remaining,
            group: None,
        }
    }

    /// A workgroup whose waves were restored. Which one it is nobody needs to know any
    /// more.
    pub fn restored(group: Group) -> Suspended {
        Suspended {
            workgroup: 0,
            remaining: 0,
            group: Some(Box::new(group)),
        }
    }

    pub fn group(&self) -> Option<&Group> {
        self.group.as_deref()
    }

    pub fn group_mut(&mut self) -> Option<&mut Group> {
        self.group.as_deref_mut()
    }

    /// The parts of scratch that its waves have.
    pub fn slots(&self) -> Vec<ScratchSlot> {
        slots(self.group())
    }

    /// Puts it on a unit.
    pub fn run(self, now: GpuNanos, config: &Config, pace: &mut Pace) -> Running {
        let ends = match (&self.group, self.remaining) {
            (Some(_), _) => End::At(now.after(quantum(config))),
            (None, ENDLESS) => End::Never,
            (None, remaining) => End::After(pace.end_of(now, remaining)),
        };
        Running {
            workgroup: self.workgroup,
            ends,
            group: self.group,
        }
    }
}

impl Running {
    pub fn ends(&self) -> End {
        self.ends
    }

    /// Lets its waves execute their share of instructions, if it has any.
    pub fn advance(
        &mut self,
        memory: &mut Memory,
        counters: &mut [u32],
        context: &Context,
        config: &Config,
    ) -> Course {
        let Some(group) = &mut self.group else {
            return Course::Ended;
        };
        let phase = context.now.0 / (TURNS_OF_A_PHASE * quantum(config));
        let dice = Some(config.wave_seed).filter(|seed| *seed != 0);
        let dice = dice.map(|seed| seed.wrapping_add(phase));
        let course = group.run(memory, counters, context, config.wave_quantum, dice);
        self.ends = match course {
            Course::Runs => End::At(context.now.after(quantum(config))),
            Course::Ended => End::At(context.now),
            _ => End::Never,
        };
        course
    }

    pub fn group_mut(&mut self) -> Option<&mut Group> {
        self.group.as_deref_mut()
    }

    /// The parts of scratch that its waves have.
    pub fn slots(&self) -> Vec<ScratchSlot> {
        slots(self.group.as_deref())
    }

    /// It goes on at that time.
    pub fn try_again(&mut self, at: GpuNanos) {
        self.ends = End::At(at);
    }

    /// A fault keeps it from ending.
    pub fn hold(&mut self) {
        self.ends = End::Never;
    }

    /// It will not end by itself.
    pub fn is_held(&self) -> bool {
        self.ends == End::Never
    }
}
