// SPDX-License-Identifier: GPL-2.0-only
//! VOP3P: pairs of numbers in registers, and moves to and from accumulation registers.

use super::lane::{Modes, Pair};
use super::operands::{constant_16, constant_32, operand, read_32, read_64, width};
use super::registers::{lanes, read_dword, write_dword};
use super::{Done, Stop};
use crate::code::{Instruction, Modifiers, Operand, Operation};
use crate::wave::{Outcome, Wave, LANES};

/// What a source is to one lane.
fn read(wave: &Wave, source: Operand, lane: usize, has_halves: bool) -> Result<u64, Stop> {
    match source {
        Operand::Vector { dwords: 1, .. } => read_dword(wave, source, lane, 0).map(u64::from),
        Operand::Vector { .. } => {
            let lower = read_dword(wave, source, lane, 0)?;
            let upper = read_dword(wave, source, lane, 1)?;
            Ok(u64::from(lower) | (u64::from(upper) << 32))
        }
        Operand::Inline { code, .. } if has_halves => {
            let value = constant_16(code).ok_or(Stop::Unknown)?;
            Ok(value & 0xffff_ffff)
        }
        Operand::Inline { code, .. } if width(source) == 2 => {
            let value = u64::from(constant_32(code).ok_or(Stop::Unknown)?);
            Ok(value | (value << 32))
        }
        source if width(source) == 2 => read_64(wave, source),
        source => read_32(wave, source).map(u64::from),
    }
}

/// Moves between accumulation and other registers.
fn moves(wave: &mut Wave, instruction: &Instruction) -> Done {
    let (to, from) = (operand(instruction, 0)?, operand(instruction, 1)?);
    for lane in lanes(wave) {
        let value = match from {
            Operand::Accumulation { .. } => read_dword(wave, from, lane, 0)?,
            from => read(wave, from, lane, false)? as u32,
        };
        write_dword(wave, to, lane, 0, value);
    }
    Ok(Outcome::Next)
}

fn sources(
    wave: &Wave,
    instruction: &Instruction,
    lane: usize,
    pair: Pair,
) -> Result<[u64; 3], Stop> {
    let mut values = [0; 3];
    let operands = instruction.operands().iter().skip(1);
    for ((at, value), operand) in values.iter_mut().enumerate().zip(operands) {
        // What is added to products is one number.
        let has_halves = match pair {
            Pair::Products { .. } | Pair::FloatProducts => at < 2 && pair.has_halves(),
            Pair::Mixed { .. } => match instruction.modifiers {
                Modifiers::Pairs(pairs) => (pairs.select_high >> at) & 1 != 0,
                _ => false,
            },
            pair => pair.has_halves(),
        };
        *value = read(wave, *operand, lane, has_halves)?;
    }
    Ok(values)
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    if matches!(
        instruction.operation,
        Operation::v_accvgpr_read_b32 | Operation::v_accvgpr_write_b32
    ) {
        return moves(wave, instruction);
    }
    let pair = Pair::of(instruction.operation).ok_or(Stop::Unknown)?;
    let Modifiers::Pairs(pairs) = instruction.modifiers else {
        return Err(Stop::Unknown);
    };
    let modes = Modes::of(wave);
    // Also without an active lane an operation is known or not.
    pair.evaluate([0; 3], 0, &pairs, &modes)
        .ok_or(Stop::Unknown)?;
    let to = operand(instruction, 0)?;
    let mut results = [None; LANES];
    for lane in lanes(wave) {
        let values = sources(wave, instruction, lane, pair)?;
        let old = read_dword(wave, to, lane, 0)?;
        if let Some(result) = results.get_mut(lane) {
            *result = pair.evaluate(values, old.into(), &pairs, &modes);
        }
    }
    write(wave, to, &results)
}

fn write(wave: &mut Wave, to: Operand, results: &[Option<u64>; LANES]) -> Done {
    for (lane, result) in results.iter().enumerate() {
        if let Some(value) = *result {
            write_dword(wave, to, lane, 0, value as u32);
            if width(to) == 2 {
                write_dword(wave, to, lane, 1, (value >> 32) as u32);
            }
        }
    }
    Ok(Outcome::Next)
}
