// SPDX-License-Identifier: GPL-2.0-only
//! Loads of scalar registers from memory.

use super::operands::{operand, read_32, register, width};
use super::{Done, Stop};
use crate::code::{Instruction, Modifiers, Operand, Operation};
use crate::wave::{Memory, Outcome, Wave};

/// The most that one instruction loads.
const MOST_BYTES: usize = 64;

fn is_load(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::s_load_dword
            | Operation::s_load_dwordx2
            | Operation::s_load_dwordx4
            | Operation::s_load_dwordx8
            | Operation::s_load_dwordx16
    )
}

pub fn execute(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    match instruction.operation {
        Operation::s_dcache_inv | Operation::s_dcache_wb => return Ok(Outcome::Next),
        operation if !is_load(operation) => return Err(Stop::Unknown),
        _ => (),
    }
    let Modifiers::Access(access) = instruction.modifiers else {
        return Err(Stop::Unknown);
    };
    let to = operand(instruction, 0)?;
    let first = register(to)?;
    let base = wave.scalar_pair(register(operand(instruction, 1)?)?);
    let offset = match operand(instruction, 2)? {
        Operand::Off => 0,
        of => read_32(wave, of)?,
    };
    // The two lowest bits of the sum are not used.
    let address = base
        .wrapping_add(u64::from(offset))
        .wrapping_add_signed(access.offset.into())
        & !3;
    let mut bytes = [0; MOST_BYTES];
    let loaded = bytes
        .get_mut(..usize::from(width(to)) * 4)
        .ok_or(Stop::Unknown)?;
    memory.read(address, loaded)?;
    for (at, dword) in (0_u8..).zip(loaded.chunks_exact(4)) {
        let value = dword
            .iter()
            .rev()
            .fold(0, |value, byte| (value << 8) | u32::from(*byte));
        wave.set_scalar(first.saturating_add(at), value);
    }
    Ok(Outcome::Next)
}
