// SPDX-License-Identifier: GPL-2.0-only
//! GWS: counters that the waves of all workgroups share, used as semaphores.

use super::super::registers::{lanes, read_dword};
use super::super::{Done, Stop};
use super::access;
use crate::code::{Instruction, Operation, Role};
use crate::wave::{Memory, Outcome, Wave};

/// M0 has a counter's number from this bit on; to it comes the offset, and both count
/// modulo the number of counters.
const NUMBER_FROM: u32 = 16;
const NUMBERS: usize = 64;

fn number(wave: &Wave, offset: i32) -> usize {
    let from_m0 = (wave.m0() >> NUMBER_FROM) as usize;
    from_m0.wrapping_add(offset.unsigned_abs() as usize) % NUMBERS
}

/// The operand as the first active lane has it, if there is one.
fn value(wave: &Wave, instruction: &Instruction) -> Result<Option<u32>, Stop> {
    let operand = instruction.operand_of(Role::Address);
    let operand = operand.ok_or(Stop::Unknown)?;
    let first = lanes(wave).next();
    first
        .map(|lane| read_dword(wave, operand, lane, 0))
        .transpose()
}

pub fn execute(wave: &Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    let number = number(wave, access(instruction)?.offset);
    let counters = memory.counters();
    let counter = counters.get_mut(number).ok_or(Stop::Unknown)?;
    match instruction.operation {
        Operation::ds_gws_init => {
            if let Some(value) = value(wave, instruction)? {
                *counter = value;
            }
        }
        Operation::ds_gws_sema_v => *counter = counter.wrapping_add(1),
        Operation::ds_gws_sema_br => {
            let more = value(wave, instruction)?.unwrap_or(0);
            *counter = counter.wrapping_add(more);
        }
        Operation::ds_gws_sema_p => match counter.checked_sub(1) {
            Some(left) => *counter = left,
            None => return Ok(Outcome::Counter),
        },
        _ => return Err(Stop::Unknown),
    }
    Ok(Outcome::Next)
}
