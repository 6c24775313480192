// SPDX-License-Identifier: GPL-2.0-only
//! Sums of differences of bytes, four at once: between four bytes and each four that
//! follow each other among eight. Results are of 16 or of 32 bits each.

use super::lane::differences;
use super::operands::{operand, read_32, read_64};
use super::registers::{lanes, read_dword, write_dwords, Dwords};
use super::source::arithmetic;
use super::{Done, Stop};
use crate::code::{Arithmetic, Instruction, Operand, Operation};
use crate::wave::{Wave, LANES};

/// How many sums there are.
const SUMS: u32 = 4;

/// Whether the operation is one of these, and if so whether bytes do not count whose
/// reference is zero, and how many bits a sum has.
fn kind(operation: Operation) -> Option<(bool, u32)> {
    Some(match operation {
        Operation::v_qsad_pk_u16_u8 => (false, 16),
        Operation::v_mqsad_pk_u16_u8 => (true, 16),
        Operation::v_mqsad_u32_u8 => (true, 32),
        _ => return None,
    })
}

/// What a source of so many dwords is to one lane, the lowest first.
fn read(wave: &Wave, source: Operand, lane: usize, dwords: u8) -> Result<u128, Stop> {
    match (source, dwords) {
        (Operand::Vector { .. }, _) => (0..dwords).rev().try_fold(0, |value, at| {
            let dword = read_dword(wave, source, lane, at)?;
            Ok((value << 32) | u128::from(dword))
        }),
        (_, 1) => read_32(wave, source).map(u128::from),
        (_, 2) => read_64(wave, source).map(u128::from),
        _ => Err(Stop::Unknown),
    }
}

/// Executes the instruction if it is one of these.
pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Option<Done> {
    let (masked, bits) = kind(instruction.operation)?;
    Some(all(wave, instruction, masked, bits))
}

fn all(wave: &mut Wave, instruction: &Instruction, masked: bool, bits: u32) -> Done {
    // Sums are cut to their bits; no limit of them is described.
    if arithmetic(instruction)? != Arithmetic::default() {
        return Err(Stop::Unknown);
    }
    let to = operand(instruction, 0)?;
    let [bytes, references, addends] = [
        operand(instruction, 1)?,
        operand(instruction, 2)?,
        operand(instruction, 3)?,
    ];
    let mut results = [None; LANES];
    for lane in lanes(wave) {
        let bytes = read(wave, bytes, lane, 2)?;
        let references = read(wave, references, lane, 1)?;
        let addends = read(wave, addends, lane, (SUMS * bits / 32) as u8)?;
        let mut sums: u128 = 0;
        for at in 0..SUMS {
            let addend = (addends >> (bits * at)) as u64 & (u64::MAX >> (64 - bits));
            let sum = differences((bytes >> (8 * at)) as u64, references as u64, masked);
            let sum = (u64::from(sum) + addend) & (u64::MAX >> (64 - bits));
            sums |= u128::from(sum) << (bits * at);
        }
        let dwords: Dwords = [0, 32, 64, 96].map(|from| (sums >> from) as u32);
        if let Some(result) = results.get_mut(lane) {
            *result = Some(dwords);
        }
    }
    write_dwords(wave, to, &results)
}
