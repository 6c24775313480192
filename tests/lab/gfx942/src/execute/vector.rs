// SPDX-License-Identifier: GPL-2.0-only
//! Vector instructions on integers: for each lane that EXEC has, the same.

use super::lane_compare::Comparison;
use super::lane_integer as integer;
use super::operands::{self, constant_32, constant_64, operand, read_32, register, width};
use super::{Done, Stop};
use crate::code::{Arithmetic, Instruction, Modifiers, Operand, Operation};
use crate::wave::{Outcome, Wave, LANES};

/// What a source is to one lane, as many bits as it has.
fn read(wave: &Wave, source: Operand, lane: usize) -> Result<u64, Stop> {
    match source {
        Operand::Vector { first, dwords } => {
            let upper = match dwords {
                1 => 0,
                2 => wave.vector(first.saturating_add(1), lane),
                _ => return Err(Stop::Unknown),
            };
            Ok(u64::from(wave.vector(first, lane)) | (u64::from(upper) << 32))
        }
        Operand::Inline { code, kind } if kind.dwords == 2 => {
            constant_64(code).ok_or(Stop::Unknown)
        }
        Operand::Inline { code, .. } => constant_32(code).map(u64::from).ok_or(Stop::Unknown),
        _ if width(source) == 2 => operands::read_64(wave, source),
        _ => read_32(wave, source).map(u64::from),
    }
}

fn read_half(wave: &Wave, source: Operand, lane: usize) -> Result<u32, Stop> {
    match width(source) {
        1 => read(wave, source, lane).map(|value| value as u32),
        _ => Err(Stop::Unknown),
    }
}

fn vector_register(operand: Operand) -> Result<u8, Stop> {
    match operand {
        Operand::Vector { first, dwords: 1 } => Ok(first),
        _ => Err(Stop::Unknown),
    }
}

/// What each active lane makes of its sources.
fn each(wave: &mut Wave, to: Operand, of: impl Fn(&Wave, usize) -> Result<u32, Stop>) -> Done {
    let to = vector_register(to)?;
    let mut results = [None; LANES];
    for (lane, result) in results.iter_mut().enumerate() {
        if wave.is_active(lane) {
            *result = Some(of(wave, lane)?);
        }
    }
    for (lane, result) in results.into_iter().enumerate() {
        if let Some(value) = result {
            wave.set_vector(to, lane, value);
        }
    }
    Ok(Outcome::Next)
}

fn compare(wave: &mut Wave, instruction: &Instruction, comparison: Comparison) -> Done {
    let to = register(operand(instruction, 0)?)?;
    let (first, second) = (operand(instruction, 1)?, operand(instruction, 2)?);
    let mut holds = 0;
    for lane in (0..LANES).filter(|lane| wave.is_active(*lane)) {
        let (left, right) = (read(wave, first, lane)?, read(wave, second, lane)?);
        holds |= u64::from(comparison.holds(left, right)) << lane;
    }
    wave.set_scalar_pair(to, holds);
    if comparison.sets_exec {
        wave.set_exec(holds);
    }
    Ok(Outcome::Next)
}

/// Sums and differences that take or give a carry for each lane.
fn carry(wave: &mut Wave, instruction: &Instruction) -> Done {
    let (to, carries) = (
        operand(instruction, 0)?,
        register(operand(instruction, 1)?)?,
    );
    let (first, second) = (operand(instruction, 2)?, operand(instruction, 3)?);
    let before = match instruction.operands().get(4) {
        Some(from) => operands::read_64(wave, *from)?,
        None => 0,
    };
    let result = |wave: &Wave, lane: usize| {
        let (left, right) = (
            read_half(wave, first, lane)?,
            read_half(wave, second, lane)?,
        );
        integer::carried(
            instruction.operation,
            left,
            right,
            (before >> lane) & 1 != 0,
        )
        .ok_or(Stop::Unknown)
    };
    let mut after = 0;
    for lane in (0..LANES).filter(|lane| wave.is_active(*lane)) {
        after |= u64::from(result(wave, lane)?.1) << lane;
    }
    each(wave, to, |wave, lane| {
        result(wave, lane).map(|(value, _)| value)
    })?;
    wave.set_scalar_pair(carries, after);
    Ok(Outcome::Next)
}

/// How many lanes below this one a mask has, half by half.
fn lanes_below(operation: Operation, mask: u32, lane: usize) -> Option<u32> {
    let below = (1_u64 << lane) - 1;
    let half = match operation {
        Operation::v_mbcnt_lo_u32_b32 => below as u32,
        Operation::v_mbcnt_hi_u32_b32 => (below >> 32) as u32,
        _ => return None,
    };
    Some((mask & half).count_ones())
}

/// Instructions that move between scalar registers and one lane.
fn one_lane(wave: &mut Wave, instruction: &Instruction) -> Done {
    let (to, first) = (operand(instruction, 0)?, operand(instruction, 1)?);
    match instruction.operation {
        Operation::v_readfirstlane_b32 => {
            // Without an active lane it is the first.
            let lane = wave.exec().trailing_zeros() as usize % LANES;
            let value = wave.vector(vector_register(first)?, lane);
            wave.set_scalar(register(to)?, value);
        }
        Operation::v_readlane_b32 => {
            let lane = read_32(wave, operand(instruction, 2)?)? as usize % LANES;
            let value = wave.vector(vector_register(first)?, lane);
            wave.set_scalar(register(to)?, value);
        }
        _ => {
            let lane = read_32(wave, operand(instruction, 2)?)? as usize % LANES;
            let value = read_32(wave, first)?;
            wave.set_vector(vector_register(to)?, lane, value);
        }
    }
    Ok(Outcome::Next)
}

/// Whether something else than the operands decides about the result.
fn is_modified(instruction: &Instruction) -> bool {
    match instruction.modifiers {
        Modifiers::None => false,
        Modifiers::Arithmetic(arithmetic) => arithmetic != Arithmetic::default(),
        _ => true,
    }
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    let operation = instruction.operation;
    if is_modified(instruction) {
        return Err(Stop::Unknown);
    }
    if let Some(comparison) = Comparison::of(operation) {
        return compare(wave, instruction, comparison);
    }
    match operation {
        Operation::v_nop => return Ok(Outcome::Next),
        Operation::v_readfirstlane_b32 | Operation::v_readlane_b32 | Operation::v_writelane_b32 => {
            return one_lane(wave, instruction);
        }
        Operation::v_add_co_u32
        | Operation::v_addc_co_u32
        | Operation::v_sub_co_u32
        | Operation::v_subb_co_u32
        | Operation::v_subrev_co_u32
        | Operation::v_subbrev_co_u32 => return carry(wave, instruction),
        _ => (),
    }
    let (to, sources) = instruction.operands().split_first().ok_or(Stop::Unknown)?;
    // Also without an active lane an operation is known or not.
    let known = match sources.len() {
        1 => integer::one(operation, 0).is_some(),
        2 => integer::two(operation, 0, 0)
            .or(lanes_below(operation, 0, 0))
            .is_some(),
        _ => integer::three(operation, 0, 0, 0).is_some() || operation == Operation::v_cndmask_b32,
    };
    if !known {
        return Err(Stop::Unknown);
    }
    match *sources {
        [first] => each(wave, *to, |wave, lane| {
            integer::one(operation, read_half(wave, first, lane)?).ok_or(Stop::Unknown)
        }),
        [first, second] => each(wave, *to, |wave, lane| {
            let (left, right) = (
                read_half(wave, first, lane)?,
                read_half(wave, second, lane)?,
            );
            lanes_below(operation, left, lane)
                .map(|count| count.wrapping_add(right))
                .or_else(|| integer::two(operation, left, right))
                .ok_or(Stop::Unknown)
        }),
        [first, second, third] if operation == Operation::v_cndmask_b32 => {
            let chosen = operands::read_64(wave, third)?;
            each(wave, *to, |wave, lane| {
                let takes_second = (chosen >> lane) & 1 != 0;
                read_half(wave, if takes_second { second } else { first }, lane)
            })
        }
        [first, second, third] => each(wave, *to, |wave, lane| {
            let (left, right) = (
                read_half(wave, first, lane)?,
                read_half(wave, second, lane)?,
            );
            let last = read_half(wave, third, lane)?;
            integer::three(operation, left, right, last).ok_or(Stop::Unknown)
        }),
        _ => Err(Stop::Unknown),
    }
}
