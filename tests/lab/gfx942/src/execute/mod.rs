// SPDX-License-Identifier: GPL-2.0-only
//! What instructions do to a wave. An instruction without a meaning here is
//! [`Outcome::Illegal`], as one that the hardware does not know.

mod broadcasts;
mod by_operation;
mod control;
mod decoded;
mod differences;
mod exchange;
mod hardware;
mod indexed;
mod lane;
mod matrix;
mod measures;
mod memory;
mod operands;
mod packed;
mod registers;
mod scalar;
mod scalar_arithmetic;
mod scalar_bits;
mod scalar_memory;
mod source;
mod sparse;
mod vector;
mod whole;

use crate::code::{Encoding, Instruction};
use crate::wave::{HardwareRegister, Memory, Outcome, Wave};

/// An instruction that stops short: it has no meaning here, or wants memory that is
/// not there. It has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Unknown,
    Fault(crate::wave::Fault),
}

impl From<crate::wave::Fault> for Stop {
    fn from(fault: crate::wave::Fault) -> Self {
        Self::Fault(fault)
    }
}

type Done = Result<Outcome, Stop>;

fn dispatch(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    match instruction.encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk => {
            scalar::execute(wave, instruction)
        }
        Encoding::Sopp => control::execute(wave, instruction, memory),
        Encoding::Smem => scalar_memory::execute(wave, instruction, memory),
        Encoding::Vop1
        | Encoding::Vop2
        | Encoding::Vopc
        | Encoding::Vop3
        | Encoding::Sdwa
        | Encoding::Dpp => vector::execute(wave, instruction),
        Encoding::Flat | Encoding::Global | Encoding::Scratch | Encoding::Mubuf => {
            memory::execute(wave, instruction, memory)
        }
        Encoding::Vop3p => packed::execute(wave, instruction),
        Encoding::Mai => matrix::execute(wave, instruction),
        Encoding::Ds => memory::share(wave, instruction, memory),
        _ => Err(Stop::Unknown),
    }
}

/// While this bit of MODE is set vector instructions do nothing.
const MODE_SKIPS: u32 = 1 << 28;

fn is_skipped(wave: &Wave, encoding: Encoding) -> bool {
    let is_scalar = matches!(
        encoding,
        Encoding::Sop1
            | Encoding::Sop2
            | Encoding::Sopc
            | Encoding::Sopk
            | Encoding::Sopp
            | Encoding::Smem
    );
    !is_scalar && wave.hardware(HardwareRegister::Mode) & MODE_SKIPS != 0
}

/// The bytes at the program counter. The last instruction of readable memory may
/// have four.
fn fetch(pc: u64, memory: &mut impl Memory) -> Result<([u8; 8], usize), crate::wave::Fault> {
    let mut bytes = [0; 8];
    if memory.fetch(pc, &mut bytes).is_ok() {
        return Ok((bytes, 8));
    }
    let mut bytes = [0; 8];
    let (first, _) = bytes.split_at_mut(4);
    memory.fetch(pc, first)?;
    Ok((bytes, 4))
}

impl Wave {
    /// Executes the instruction at the program counter.
    pub fn step(&mut self, memory: &mut impl Memory) -> Outcome {
        let at = self.pc;
        let (bytes, size) = match fetch(at, memory) {
            Ok(fetched) => fetched,
            Err(fault) => return Outcome::Fault(fault),
        };
        let illegal = Outcome::Illegal { address: at, bytes };
        let Some(instruction) = decoded::instruction(bytes, size) else {
            return illegal;
        };
        self.pc = at.wrapping_add(instruction.size.into());
        if is_skipped(self, instruction.encoding) {
            return Outcome::Next;
        }
        let instruction = indexed::moved(self, instruction);
        match dispatch(self, &instruction, memory) {
            Ok(outcome) => {
                if outcome == Outcome::Counter {
                    self.pc = at;
                }
                outcome
            }
            Err(stop) => {
                self.pc = at;
                match stop {
                    Stop::Unknown => illegal,
                    Stop::Fault(fault) => Outcome::Fault(fault),
                }
            }
        }
    }
}
