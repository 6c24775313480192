// SPDX-License-Identifier: GPL-2.0-only
//! Moving between lanes with the wires of the local share, without its memory.

use super::super::registers::{lanes, read_dword, write_dwords};
use super::super::{Done, Stop};
use super::access;
use crate::code::{Instruction, Operation, Role};
use crate::wave::{Wave, LANES};

/// From where a lane takes its number, or where it brings it.
pub enum Source {
    Pull,
    Push,
    Swizzle,
}

/// The lane from which a lane takes its number, as a swizzle's 16 bits say.
fn swizzled(pattern: u32, lane: usize) -> usize {
    let half = lane & 32;
    let within = (lane & 31) as u32;
    let (mask, by) = (pattern & 31, (pattern >> 5) & 31);
    let from = match pattern >> 13 {
        // As fast Fourier transforms need it: the bits of the number turned round.
        0b111 => (within.reverse_bits() >> 27 >> mask.count_ones()) | within & mask,
        // So many lanes further, upwards or downwards.
        0b110 => {
            let sum = match pattern & (1 << 10) {
                0 => within.wrapping_add(by),
                _ => within.wrapping_sub(by),
            };
            within & mask | sum & 31 & !mask
        }
        4.. => within & !3 | (pattern >> (2 * (within & 3))) & 3,
        _ => (within & mask | by) ^ ((pattern >> 10) & 31),
    };
    half | from as usize
}

impl Source {
    pub fn of(instruction: &Instruction) -> Option<Self> {
        match instruction.operation {
            Operation::ds_bpermute_b32 => Some(Self::Pull),
            Operation::ds_permute_b32 => Some(Self::Push),
            Operation::ds_swizzle_b32 => Some(Self::Swizzle),
            _ => None,
        }
    }

    pub fn execute(&self, wave: &mut Wave, instruction: &Instruction) -> Done {
        let operand = |role| instruction.operand_of(role).ok_or(Stop::Unknown);
        let (to, address) = (operand(Role::Destination)?, operand(Role::Address)?);
        let offset = access(instruction)?.offset as u32;
        let chosen = |wave: &Wave, lane: usize| {
            let sum = read_dword(wave, address, lane, 0)?.wrapping_add(offset);
            Ok::<usize, Stop>(sum as usize / 4 % LANES)
        };
        let data = match self {
            Self::Swizzle => address,
            _ => operand(Role::Data(0))?,
        };
        // A lane that is not active has nothing to give.
        let mut gathered = [0; LANES];
        for lane in lanes(wave) {
            let (from, into) = match self {
                Self::Pull => (chosen(wave, lane)?, lane),
                Self::Push => (lane, chosen(wave, lane)?),
                Self::Swizzle => (swizzled(offset, lane), lane),
            };
            if let Some(value) = gathered.get_mut(into) {
                *value = match wave.is_active(from) {
                    true => read_dword(wave, data, from, 0)?,
                    false => 0,
                };
            }
        }
        let mut results = [None; LANES];
        for lane in lanes(wave) {
            let value = gathered.get(lane).copied().unwrap_or(0);
            if let Some(result) = results.get_mut(lane) {
                *result = Some([value, 0, 0, 0]);
            }
        }
        write_dwords(wave, to, &results)
    }
}
