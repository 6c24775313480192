// SPDX-License-Identifier: GPL-2.0-only
//! A workgroup that executes machine code: its waves, and the local memory that they
//! share.

use gfx942::wave::{HardwareRegister, Outcome, Wave};

use super::program::{Program, Seats, GROUP_NUMBERS};
use super::scratch::ScratchSlot;
use super::sight::Sight;
use crate::memory::{Memory, MemoryFault, Space};
use crate::terms::{GpuNanos, Spoil, WaveSettings};

const STATUS_HALT: u32 = 1 << 13;

/// Messages that waves send: one for the driver, that they can be saved, and that they
/// want to know their queue's doorbell.
const MESSAGE_INTERRUPT: u16 = 1;
const MESSAGE_SAVE: u16 = 4;
const MESSAGE_DOORBELL: u16 = 10;
const MESSAGES: u16 = 0xf;

/// Bytes of `s_barrier` and of `s_trap`.
const SHORT: u64 = 4;

/// What the waves of a workgroup belong to.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub space: Space,
    pub settings: WaveSettings,
    pub die: u32,
    /// Which of its process's doorbells is the queue's.
    pub doorbell: u32,
    pub now: GpuNanos,
    /// As in the configuration.
    pub handler_turns: u64,
    /// What restored waves have wrong.
    pub spoil: Option<Spoil>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Runs,
    /// At a barrier, and behind the instruction.
    Waits,
    Halted,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub wave: Wave,
    pub state: State,
    /// What it finds in EXEC when it says that it can be saved.
    pub area: u64,
    /// Its part of the queue's scratch, if it has any.
    pub slot: Option<ScratchSlot>,
}

/// What a wave has told the driver, and whether its trap handler has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub data: u32,
    pub privileged: bool,
}

/// What became of a workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    Runs,
    /// Nothing happens until somebody interferes.
    Rests,
    Ended,
    Fault(MemoryFault),
    /// An instruction that is not known, with its address.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(super) members: Vec<Member>,
    pub(super) share: Vec<u8>,
    pub(super) notices: Vec<Notice>,
    executed: u64,
}

impl Group {
    /// A workgroup that has not begun.
    pub fn new(program: &Program, workgroup: u64, lds: u32, seats: &Seats) -> Group {
        let slots = seats.slots.iter().copied().map(Some);
        let waves = program.waves(workgroup, lds, seats).into_iter();
        Group::of(waves.zip(slots.chain(std::iter::repeat(None))), lds)
    }

    pub(super) fn of(waves: impl Iterator<Item = (Wave, Option<ScratchSlot>)>, lds: u32) -> Group {
        let member = |(wave, slot)| Member {
            wave,
            state: State::Runs,
            area: 0,
            slot,
        };
        Group {
            members: waves.map(member).collect(),
            share: vec![0; lds as usize],
            notices: Vec::new(),
            executed: 0,
        }
    }

    /// Of each wave that has not ended, the part of scratch that it has.
    pub fn slots(&self) -> Vec<Option<ScratchSlot>> {
        let left = self.members.iter().filter(|m| m.state != State::Ended);
        left.map(|member| member.slot).collect()
    }

    /// What its waves would execute next that have not ended: at a barrier, the barrier.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        let left = self.members.iter().filter(|m| m.state != State::Ended);
        left.map(|member| match member.state {
            State::Waits => member.wave.pc.wrapping_sub(SHORT),
            _ => member.wave.pc,
        })
    }

    /// Instructions that were executed since it was asked the last time.
    pub fn take_executed(&mut self) -> u64 {
        std::mem::take(&mut self.executed)
    }

    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The registers that come with the place where the workgroup runs.
    pub(super) fn settle(&mut self, context: &Context) {
        let settings = &context.settings;
        let (handler, memory) = (settings.handler >> 8, settings.handler_memory >> 8);
        for member in &mut self.members {
            for (register, value) in [
                (HardwareRegister::MemoryBases, settings.bases),
                (HardwareRegister::DieId, context.die),
                (HardwareRegister::HandlerLower, handler as u32),
                (HardwareRegister::HandlerUpper, (handler >> 32) as u32),
                (HardwareRegister::HandlerMemoryLower, memory as u32),
                (HardwareRegister::HandlerMemoryUpper, (memory >> 32) as u32),
            ] {
                member.wave.set_hardware(register, value);
            }
        }
    }

    /// Lets each wave execute up to so many instructions, or if dice are thrown some of
    /// the waves.
    pub fn run(
        &mut self,
        memory: &mut Memory,
        counters: &mut [u32],
        context: &Context,
        steps: u32,
        dice: Option<u64>,
    ) -> Course {
        self.settle(context);
        let Group {
            members,
            share,
            notices,
            executed,
        } = self;
        let mut sight = Sight::new(memory, context.space, share, counters, context.now);
        for (index, member) in (0..).zip(members.iter_mut()) {
            if dice.is_some_and(|dice| member.rests(dice, index)) {
                continue;
            }
            for _ in 0..steps {
                if member.state != State::Runs {
                    break;
                }
                *executed += 1;
                match member.step(&mut sight, context, notices) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(course) => return course,
                }
            }
        }
        release(members);
        let is = |state| members.iter().any(|member| member.state == state);
        match (is(State::Runs), is(State::Waits), is(State::Halted)) {
            (true, _, _) => Course::Runs,
            (_, true, _) | (_, _, true) => Course::Rests,
            _ => Course::Ended,
        }
    }
}

/// Lets the waves go on that are at the barrier, if all are that have not ended.
pub(super) fn release(members: &mut [Member]) {
    let may_pass = |member: &Member| matches!(member.state, State::Waits | State::Ended);
    if members.iter().all(may_pass) {
        for member in members.iter_mut().filter(|m| m.state == State::Waits) {
            member.state = State::Runs;
        }
    }
}

impl Member {
    /// Whether the dice have it rest, of which there is an even chance.
    fn rests(&self, dice: u64, index: u64) -> bool {
        let group = u64::from(self.wave.temporary(GROUP_NUMBERS));
        // The finalizer of SplitMix64, once for each part.
        let mixed = [index, group].iter().fold(dice, |sum, part| {
            let sum = (sum ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let sum = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let sum = (sum ^ (sum >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            sum ^ (sum >> 31)
        });
        mixed & 1 != 0
    }

    /// Executes an instruction, and returns whether the wave goes on in this turn. What a
    /// wave cannot do by itself becomes of the workgroup.
    pub(super) fn step(
        &mut self,
        sight: &mut Sight<'_>,
        context: &Context,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, Course> {
        let handler = context.settings.handler;
        let wave = &mut self.wave;
        match wave.step(sight) {
            Outcome::Next | Outcome::Sleep(_) => {}
            Outcome::Counter => return Ok(false),
            Outcome::Ended => self.state = State::Ended,
            Outcome::Barrier => self.state = State::Waits,
            Outcome::Halted => {
                let status = wave.hardware(HardwareRegister::Status);
                wave.set_hardware(HardwareRegister::Status, status | STATUS_HALT);
            }
            Outcome::Message(number) => match number & MESSAGES {
                MESSAGE_INTERRUPT => notices.push(Notice {
                    data: wave.m0(),
                    privileged: wave.is_privileged(),
                }),
                MESSAGE_SAVE if wave.is_privileged() => wave.set_exec(self.area),
                MESSAGE_DOORBELL => {
                    let upper = wave.exec() >> 32 << 32;
                    wave.set_exec(upper | u64::from(context.doorbell));
                }
                _ => {}
            },
            // Without a handler a trap does nothing.
            Outcome::Trap(_) if handler == 0 => {}
            Outcome::Trap(number) => {
                wave.pc = wave.pc.wrapping_sub(SHORT);
                wave.enter_handler(handler, number);
            }
            Outcome::Illegal { address, bytes } => {
                return Err(Course::Unknown(format!(
                    "unknown instruction {bytes:02x?} at {address:#x}"
                )));
            }
            Outcome::Fault(fault) => {
                let fault = sight.take_fault().unwrap_or(MemoryFault {
                    address: fault.address,
                    write: fault.write,
                    cause: crate::memory::FaultCause::NotMapped,
                });
                return Err(Course::Fault(fault));
            }
        }
        let halts = self.wave.hardware(HardwareRegister::Status) & STATUS_HALT != 0;
        if halts && !self.wave.is_privileged() && self.state == State::Runs {
            self.state = State::Halted;
        }
        Ok(true)
    }

    /// A wave that waits at a barrier has not passed it: it comes there again.
    pub(super) fn step_back(&mut self) {
        if self.state == State::Waits {
            self.wave.pc = self.wave.pc.wrapping_sub(SHORT);
        }
        if self.state != State::Ended {
            self.state = State::Runs;
        }
    }
}
