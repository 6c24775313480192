// SPDX-License-Identifier: GPL-2.0-only
//! Reading and changing parts of hardware registers.

use super::operands::{immediate, operand, read_32, register};
use super::{Done, Stop};
use crate::code::{Instruction, Operation};
use crate::wave::{HardwareRegister, Outcome, Wave};

/// Where STATUS has the condition code.
const STATUS_SCC: u32 = 1;

/// Which bits of which register an instruction means.
struct Part {
    register: HardwareRegister,
    from: u32,
    mask: u32,
}

fn part(number: i32) -> Result<Part, Stop> {
    let number = number as u32;
    let width = ((number >> 11) & 0x1f) + 1;
    let from = (number >> 6) & 0x1f;
    let ones = u32::MAX >> (32 - width);
    Ok(Part {
        register: HardwareRegister::of(number as u8 & 0x3f).ok_or(Stop::Unknown)?,
        from,
        // What would be beyond the register is not there.
        mask: ones << from >> from,
    })
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    if instruction.operation == Operation::s_getreg_b32 {
        let part = part(immediate(instruction, 1)?)?;
        let to = register(operand(instruction, 0)?)?;
        let whole = match part.register.is_private() && !wave.is_privileged() {
            true => 0,
            false => wave.hardware(part.register),
        };
        let value = (whole >> part.from) & part.mask;
        wave.set_scalar(to, value);
        return Ok(Outcome::Next);
    }
    let part = part(immediate(instruction, 0)?)?;
    let value = read_32(wave, operand(instruction, 1)?)?;
    let bits = (part.mask << part.from) & part.register.writable(wave.is_privileged());
    let kept = wave.hardware(part.register) & !bits;
    let value = kept | (value << part.from) & bits;
    wave.set_hardware(part.register, value);
    if part.register == HardwareRegister::Status {
        wave.scc = value & STATUS_SCC != 0;
    }
    Ok(Outcome::Next)
}
