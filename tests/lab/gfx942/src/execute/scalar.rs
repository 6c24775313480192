// SPDX-License-Identifier: GPL-2.0-only
//! Scalar instructions that compute: SOP1, SOP2, SOPC and SOPK.

use super::operands::{immediate, literal_64, operand, read_32, read_64, register, width};
use super::scalar_arithmetic as arithmetic;
use super::scalar_bits as bits;
use super::{hardware, indexed, Done, Stop};
use crate::code::{Encoding, Instruction, Operand, Operation};
use crate::wave::{Outcome, Wave};

/// A source of either width, as 64 bits.
fn read(wave: &Wave, operation: Operation, operand: Operand) -> Result<u64, Stop> {
    match (width(operand), operand) {
        (2, Operand::Literal { value, .. }) => Ok(literal_64(operation, value)),
        (2, _) => read_64(wave, operand),
        _ => read_32(wave, operand).map(u64::from),
    }
}

fn write(wave: &mut Wave, operand: Operand, value: u64) -> Result<(), Stop> {
    let to = register(operand)?;
    match width(operand) {
        2 => wave.set_scalar_pair(to, value),
        _ => wave.set_scalar(to, value as u32),
    }
    Ok(())
}

/// Writes a result and then the condition code.
fn finish(wave: &mut Wave, to: Operand, result: arithmetic::Scalar<u64>) -> Done {
    write(wave, to, result.0)?;
    if let Some(scc) = result.1 {
        wave.scc = scc;
    }
    Ok(Outcome::Next)
}

fn bits_of(operand: Operand) -> u32 {
    u32::from(width(operand)) * 32
}

fn one(wave: &mut Wave, instruction: &Instruction) -> Done {
    let operation = instruction.operation;
    let first = operand(instruction, 0)?;
    match operation {
        Operation::s_getpc_b64 => {
            let pc = wave.pc;
            return finish(wave, first, (pc, None));
        }
        Operation::s_setpc_b64 => {
            wave.pc = read_64(wave, first)?;
            return Ok(Outcome::Next);
        }
        Operation::s_rfe_b64 if wave.is_privileged() => {
            let back = read_64(wave, first)?;
            wave.leave_handler(back);
            return Ok(Outcome::Next);
        }
        Operation::s_set_gpr_idx_idx => {
            indexed::set(wave, read_32(wave, first)?);
            return Ok(Outcome::Next);
        }
        _ => (),
    }
    let source = operand(instruction, 1)?;
    match operation {
        Operation::s_movrels_b32 | Operation::s_movrels_b64 => {
            let from = register(source)?;
            let lower = indexed::read_scalar(wave, from);
            let upper = indexed::read_scalar(wave, from.saturating_add(1));
            let value = u64::from(lower) | (u64::from(upper) << 32);
            return finish(wave, first, (value, None));
        }
        Operation::s_movreld_b32 | Operation::s_movreld_b64 => {
            let (to, value) = (register(first)?, read(wave, operation, source)?);
            indexed::write_scalar(wave, to, value as u32);
            if width(first) == 2 {
                indexed::write_scalar(wave, to.saturating_add(1), (value >> 32) as u32);
            }
            return Ok(Outcome::Next);
        }
        _ => (),
    }
    let value = read(wave, operation, source)?;
    let set = |bit: u64, to: Operand| 1_u64 << (bit & u64::from(bits_of(to) - 1));
    match operation {
        Operation::s_cmov_b32 | Operation::s_cmov_b64 if !wave.scc => Ok(Outcome::Next),
        Operation::s_cmov_b32 | Operation::s_cmov_b64 => finish(wave, first, (value, None)),
        Operation::s_swappc_b64 => {
            let back = wave.pc;
            write(wave, first, back)?;
            wave.pc = value;
            Ok(Outcome::Next)
        }
        Operation::s_bitset0_b32 | Operation::s_bitset0_b64 => {
            let old = read(wave, operation, first)?;
            finish(wave, first, (old & !set(value, first), None))
        }
        Operation::s_bitset1_b32 | Operation::s_bitset1_b64 => {
            let old = read(wave, operation, first)?;
            finish(wave, first, (old | set(value, first), None))
        }
        _ => match bits::with_exec(operation, value, wave.exec()) {
            Some(exec) => {
                let saves = !matches!(
                    operation,
                    Operation::s_andn1_wrexec_b64 | Operation::s_andn2_wrexec_b64
                );
                let kept = if saves { wave.exec() } else { exec };
                write(wave, first, kept)?;
                wave.set_exec(exec);
                wave.scc = exec != 0;
                Ok(Outcome::Next)
            }
            None => {
                let result = bits::one(operation, value, bits_of(source)).ok_or(Stop::Unknown)?;
                finish(wave, first, result)
            }
        },
    }
}

fn two(wave: &mut Wave, instruction: &Instruction) -> Done {
    let operation = instruction.operation;
    if operation == Operation::s_rfe_restore_b64 && wave.is_privileged() {
        let back = read_64(wave, operand(instruction, 0)?)?;
        wave.leave_handler(back);
        return Ok(Outcome::Next);
    }
    let to = operand(instruction, 0)?;
    let first = read(wave, operation, operand(instruction, 1)?)?;
    let second = read(wave, operation, operand(instruction, 2)?)?;
    if matches!(
        operation,
        Operation::s_cselect_b32 | Operation::s_cselect_b64
    ) {
        let chosen = if wave.scc { first } else { second };
        return finish(wave, to, (chosen, None));
    }
    let result = arithmetic::two(operation, first as u32, second as u32, wave.scc)
        .map(|(value, scc)| (u64::from(value), scc))
        .or_else(|| bits::two(operation, first, second, bits_of(to)))
        .ok_or(Stop::Unknown)?;
    finish(wave, to, result)
}

fn compare(wave: &mut Wave, instruction: &Instruction) -> Done {
    let operation = instruction.operation;
    let (first, second) = (operand(instruction, 0)?, operand(instruction, 1)?);
    if operation == Operation::s_set_gpr_idx_on {
        let chosen = immediate(instruction, 1)?;
        indexed::start(wave, read_32(wave, first)?, chosen as u32);
        return Ok(Outcome::Next);
    }
    let (left, right) = (
        read(wave, operation, first)?,
        read(wave, operation, second)?,
    );
    if operation == Operation::s_setvskip {
        indexed::skip(wave, (left >> (right & 31)) & 1 != 0);
        return Ok(Outcome::Next);
    }
    wave.scc = arithmetic::compare(operation, left as u32, right as u32)
        .or_else(|| arithmetic::compare_64(operation, left, right))
        .ok_or(Stop::Unknown)?;
    Ok(Outcome::Next)
}

/// Instructions with 16 bits in them.
fn short(wave: &mut Wave, instruction: &Instruction) -> Done {
    let operation = instruction.operation;
    match operation {
        Operation::s_getreg_b32 | Operation::s_setreg_b32 | Operation::s_setreg_imm32_b32 => {
            return hardware::execute(wave, instruction);
        }
        _ => (),
    }
    let to = operand(instruction, 0)?;
    let number = immediate(instruction, 1)?;
    let value = number as u32;
    match operation {
        Operation::s_movk_i32 => finish(wave, to, (value.into(), None)),
        Operation::s_cmovk_i32 if !wave.scc => Ok(Outcome::Next),
        Operation::s_cmovk_i32 => finish(wave, to, (value.into(), None)),
        Operation::s_addk_i32 => {
            let old = read_32(wave, to)? as i32;
            let (sum, overflow) = old.overflowing_add(number);
            finish(wave, to, (u64::from(sum as u32), Some(overflow)))
        }
        Operation::s_mulk_i32 => {
            let old = read_32(wave, to)?;
            finish(wave, to, (old.wrapping_mul(value).into(), None))
        }
        Operation::s_call_b64 => {
            let back = wave.pc;
            write(wave, to, back)?;
            wave.pc = back.wrapping_add_signed(i64::from(number) * 4);
            Ok(Outcome::Next)
        }
        _ => {
            let against = if arithmetic::compares_unsigned(operation) {
                value & 0xffff
            } else {
                value
            };
            let left = read_32(wave, to)?;
            wave.scc = arithmetic::compare(operation, left, against).ok_or(Stop::Unknown)?;
            Ok(Outcome::Next)
        }
    }
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    match instruction.encoding {
        Encoding::Sop1 => one(wave, instruction),
        Encoding::Sop2 => two(wave, instruction),
        Encoding::Sopc => compare(wave, instruction),
        _ => short(wave, instruction),
    }
}
