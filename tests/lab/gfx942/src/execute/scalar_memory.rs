// SPDX-License-Identifier: GPL-2.0-only
//! Loads of scalar registers from memory, and stores.

use super::memory::bounds;
use super::operands::{operand, read_32, register, width};
use super::{Done, Stop};
use crate::code::{Instruction, Modifiers, Operand, Operation};
use crate::wave::{Fault, Memory, Outcome, Wave};

/// The most that one instruction loads.
const MOST_BYTES: usize = 64;

/// Goes through a buffer's descriptor.
fn is_bounded(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::s_buffer_load_dword
            | Operation::s_buffer_load_dwordx2
            | Operation::s_buffer_load_dwordx4
            | Operation::s_buffer_load_dwordx8
            | Operation::s_buffer_load_dwordx16
            | Operation::s_buffer_store_dword
            | Operation::s_buffer_store_dwordx2
            | Operation::s_buffer_store_dwordx4
    )
}

fn is_store(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::s_store_dword
            | Operation::s_store_dwordx2
            | Operation::s_store_dwordx4
            | Operation::s_buffer_store_dword
            | Operation::s_buffer_store_dwordx2
            | Operation::s_buffer_store_dwordx4
    )
}

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

/// Dwords beyond the end of a buffer are zero.
fn read_bounded(
    memory: &mut impl Memory,
    address: u64,
    end: u64,
    into: &mut [u8],
) -> Result<(), Fault> {
    for (at, dword) in (0_u64..).step_by(4).zip(into.chunks_mut(4)) {
        let address = address.wrapping_add(at);
        match address.wrapping_add(4) <= end {
            true => memory.read(address, dword)?,
            false => dword.fill(0),
        }
    }
    Ok(())
}

/// Dwords beyond the end of a buffer are lost.
fn store(
    wave: &Wave,
    memory: &mut impl Memory,
    first: u8,
    dwords: u8,
    address: u64,
    end: u64,
) -> Done {
    for at in 0..dwords {
        let to = address.wrapping_add(u64::from(at) * 4);
        if to.wrapping_add(4) <= end {
            let value = wave.scalar(first.saturating_add(at));
            memory.write(to, &value.to_le_bytes())?;
        }
    }
    Ok(Outcome::Next)
}

pub fn execute(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    match instruction.operation {
        Operation::s_dcache_inv
        | Operation::s_dcache_inv_vol
        | Operation::s_dcache_wb
        | Operation::s_dcache_wb_vol => return Ok(Outcome::Next),
        Operation::s_memtime | Operation::s_memrealtime => {
            let to = register(operand(instruction, 0)?)?;
            wave.set_scalar_pair(to, memory.clock());
            return Ok(Outcome::Next);
        }
        operation if !is_load(operation) && !is_bounded(operation) && !is_store(operation) => {
            return Err(Stop::Unknown);
        }
        _ => (),
    }
    let Modifiers::Access(access) = instruction.modifiers else {
        return Err(Stop::Unknown);
    };
    let to = operand(instruction, 0)?;
    let first = register(to)?;
    let (base, end) = match is_bounded(instruction.operation) {
        true => bounds(wave, instruction)?,
        false => (
            wave.scalar_pair(register(operand(instruction, 1)?)?),
            u64::MAX,
        ),
    };
    let offset = match operand(instruction, 2)? {
        Operand::Off => 0,
        of => read_32(wave, of)?,
    };
    // The two lowest bits of the sum are not used.
    let within = u64::from(offset).wrapping_add_signed(access.offset.into());
    let address = base.wrapping_add(within) & !3;
    let limit = match is_bounded(instruction.operation) {
        true => base.wrapping_add(end),
        false => u64::MAX,
    };
    if is_store(instruction.operation) {
        return store(wave, memory, first, width(to), address, limit);
    }
    let mut bytes = [0; MOST_BYTES];
    let loaded = bytes
        .get_mut(..usize::from(width(to)) * 4)
        .ok_or(Stop::Unknown)?;
    if is_bounded(instruction.operation) {
        read_bounded(memory, address, limit, loaded)?;
    } else {
        memory.read(address, loaded)?;
    }
    for (at, dword) in (0_u8..).zip(loaded.chunks_exact(4)) {
        let value = dword
            .iter()
            .rev()
            .fold(0, |value, byte| (value << 8) | u32::from(*byte));
        wave.set_scalar(first.saturating_add(at), value);
    }
    Ok(Outcome::Next)
}
