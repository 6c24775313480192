// SPDX-License-Identifier: GPL-2.0-only
//! Saving and restoring waves: each executes the trap handler that the driver has
//! installed. Hardware sends it there, says where its part of the save area is, and
//! counts barriers; whatever is stored and loaded is the handler's doing.

use gfx942::wave::{HardwareRegister, Wave, LANES};

use super::group::{release, Context, Course, Group, Member, State};
use super::program::Program;
use super::scratch::ScratchSlot;
use super::sight::Sight;
use crate::memory::{Memory, MemoryFault};
use crate::terms::Spoil;

/// TRAPSTS: the wave is to be saved.
const TRAP_SAVES: u32 = 1 << 10;
/// The handler's second instruction is where a wave begins that is restored.
const RESTORES: u64 = 4;
/// How many bytes spoiled local memory and program counters are off.
const SHIFT: usize = 4;
/// With the address of a wave's part of the save area, that it is the first of its
/// workgroup.
const FIRST_WAVE: u64 = 1 << 58;
const ADDRESS: u64 = (1 << 48) - 1;

/// What a wave's part of the save area has besides vector registers and local memory:
/// 112 scalar registers, 16 hardware registers, the handler's 16, and 64 bytes.
pub const WAVE_BYTES: u64 = 640;

/// Why waves could not be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    Memory(MemoryFault),
    Handler(String),
}

impl From<Course> for Trouble {
    fn from(course: Course) -> Trouble {
        match course {
            Course::Fault(fault) => Trouble::Memory(fault),
            Course::Unknown(what) => Trouble::Handler(what),
            _ => Trouble::Handler("it does not end".to_owned()),
        }
    }
}

/// Where the waves of a workgroup are saved.
fn areas(base: u64, vgprs: u32, lds: u32) -> impl Iterator<Item = u64> {
    let wave = u64::from(vgprs) * LANES as u64 * 4 + WAVE_BYTES;
    (0..).map(move |index| match index {
        0 => base & ADDRESS | FIRST_WAVE,
        // The first wave's part has the local memory.
        _ => base.wrapping_add(index * wave + u64::from(lds)) & ADDRESS,
    })
}

impl Group {
    /// Bytes of the save area that its waves take.
    pub fn saved_bytes(waves: u32, vgprs: u32, lds: u32) -> u64 {
        let wave = u64::from(vgprs) * LANES as u64 * 4 + WAVE_BYTES;
        u64::from(waves) * wave + u64::from(lds)
    }

    /// The waves go through the trap handler until it has ended them.
    pub fn save(
        &mut self,
        memory: &mut Memory,
        context: &Context,
        base: u64,
        vgprs: u32,
    ) -> Result<(), Trouble> {
        let handler = context.settings.handler;
        if handler == 0 {
            return Err(Trouble::Handler("there is none".to_owned()));
        }
        let lds = self.share.len() as u32;
        let left = self.members.iter_mut().filter(|m| m.state != State::Ended);
        for (member, area) in left.zip(areas(base, vgprs, lds)) {
            member.step_back();
            member.area = area;
            let traps = member.wave.hardware(HardwareRegister::TrapStatus);
            let traps = traps | TRAP_SAVES;
            member
                .wave
                .set_hardware(HardwareRegister::TrapStatus, traps);
        }
        self.handle(memory, context, |member| {
            // It goes to the handler from wherever it is, unless it is there.
            if !member.wave.is_privileged() {
                member.state = State::Runs;
                member.wave.enter_handler(handler, 0);
            }
            false
        })
    }

    /// A workgroup whose waves went through the trap handler, which has loaded what
    /// they were.
    pub fn restore(
        memory: &mut Memory,
        context: &Context,
        program: &Program,
        base: u64,
        slots: &[Option<ScratchSlot>],
        (vgprs, lds): (u32, u32),
    ) -> Result<Group, Trouble> {
        let handler = context.settings.handler;
        if handler == 0 {
            return Err(Trouble::Handler("there is none".to_owned()));
        }
        let waves = slots
            .iter()
            .map(|slot| (used(program.empty_wave(lds)), *slot));
        let mut group = Group::of(waves, lds);
        for (member, area) in group.members.iter_mut().zip(areas(base, vgprs, lds)) {
            member.wave.set_exec(area);
            member.wave.begin_handler(handler + RESTORES);
        }
        group.handle(memory, context, |member| !member.wave.is_privileged())?;
        if let Some(spoil) = context.spoil {
            group.spoil(spoil);
        }
        Ok(group)
    }

    fn spoil(&mut self, spoil: Spoil) {
        if spoil == Spoil::Share && self.share.len() > SHIFT {
            self.share.rotate_right(SHIFT);
        }
        for Member { wave, .. } in &mut self.members {
            match spoil {
                Spoil::Scalar(register) => wave.set_scalar(register, left(register)),
                Spoil::Vector(register) => {
                    for lane in 0..LANES {
                        wave.set_vector(register, lane, left_in(register, lane));
                    }
                }
                Spoil::Exec => wave.set_exec(wave.exec().rotate_left(32)),
                Spoil::Share => {}
                Spoil::ProgramCounter => wave.pc = wave.pc.wrapping_add(SHIFT as u64),
            }
        }
    }

    /// Lets the waves run, one instruction each in turn, until all have ended or are
    /// done, which `is_done` says before each instruction.
    fn handle(
        &mut self,
        memory: &mut Memory,
        context: &Context,
        is_done: impl Fn(&mut Member) -> bool,
    ) -> Result<(), Trouble> {
        self.settle(context);
        let Group {
            members,
            share,
            notices,
            ..
        } = self;
        // A handler takes from no counter.
        let mut sight = Sight::new(memory, context.space, share, &mut [], context.now);
        for _ in 0..context.handler_turns {
            let mut moved = false;
            for member in members.iter_mut().filter(|m| m.state != State::Ended) {
                if is_done(member) || member.state != State::Runs {
                    continue;
                }
                moved = true;
                member.step(&mut sight, context, notices)?;
            }
            if !moved {
                let waits = members.iter().any(|m| m.state == State::Waits);
                if !waits {
                    return Ok(());
                }
                release(members);
            }
        }
        Err(Course::Runs.into())
    }
}

/// What others have left in a scalar register, and in a lane of a vector register.
const LEFT: u32 = 0x5eed_0000;

fn left(register: u8) -> u32 {
    LEFT | u32::from(register)
}

fn left_in(register: u8, lane: usize) -> u32 {
    LEFT | (u32::from(register) << 8) | lane as u32
}

/// A wave finds in its registers what others have left there.
fn used(mut wave: Wave) -> Wave {
    for register in 0..124 {
        wave.set_scalar(register, left(register));
    }
    for lane in 0..LANES {
        for register in 0..=255 {
            let value = left_in(register, lane);
            wave.set_vector(register, lane, value);
            wave.set_accumulator(register, lane, !value);
        }
    }
    wave
}
