// SPDX-License-Identifier: GPL-2.0-only
//! The encodings of instructions on pairs, VOP3P, and on matrices, VOP3P-MAI.

use super::bits::{bit, bits, code, Words};
use super::instruction::{Encoding, Instruction, Matrix, Modifiers, Pairs};
use super::registers::{
    accumulation, either, scalar, scalar_register, scalar_source, source, vector, FIRST_VECTOR,
};
use super::table::{Class, Role};
use super::tables;

pub fn decode(words: Words) -> Option<Instruction> {
    let number = bits(words.first, 16, 7);
    if tables::MAI.find(number).is_some() {
        matrix(words, number)
    } else {
        pairs(words, number)
    }
}

fn pairs(words: Words, number: u32) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::VOP3P.find(number)?;
    let slots = entry.1.slots;
    let mut instruction = Instruction::new(entry, Encoding::Vop3p, 8);
    let source_code = |at: u8| code(second, u32::from(at) * 9, 9);
    let count = slots
        .iter()
        .filter(|slot| matches!(slot.role, Role::Source(_)))
        .count() as u8;
    if (count..3).any(|at| source_code(at) != 0) {
        return None;
    }
    let moves = slots.iter().any(|slot| slot.class == Class::Accumulation);
    let pairs = Pairs {
        select_low: bits(first, 11, 3) as u8,
        select_high: (bits(second, 27, 2) | (bits(first, 14, 1) << 2)) as u8,
        negative_low: bits(second, 29, 3) as u8,
        negative_high: bits(first, 8, 3) as u8,
        clamp: bit(first, 15),
    };
    let beyond = !((1u8 << count) - 1);
    let refused = if moves { 0xff } else { beyond };
    if (pairs.select_low | pairs.negative_low | pairs.negative_high) & refused != 0 {
        return None;
    }
    instruction.fill(|slot| {
        let dwords = slot.kind.dwords;
        match (slot.role, slot.class) {
            (Role::Destination, Class::Accumulation) => accumulation(code(first, 0, 8), dwords),
            (Role::Destination, _) => vector(code(first, 0, 8), dwords),
            (Role::Source(at), _) => source(source_code(at), slot, None),
            _ => None,
        }
    })?;
    if !moves {
        instruction.modifiers = Modifiers::Pairs(pairs);
    }
    Some(instruction)
}

fn matrix(words: Words, number: u32) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::MAI.find(number)?;
    let mut instruction = Instruction::new(entry, Encoding::Mai, 8);
    let accumulates = bit(first, 15);
    let sparse = entry
        .1
        .slots
        .iter()
        .any(|slot| slot.role == Role::Source(2) && slot.class == Class::Vector);
    instruction.fill(|slot| {
        let dwords = slot.kind.dwords;
        match slot.role {
            Role::Destination => either(accumulates, code(first, 0, 8), dwords),
            Role::Source(at) => {
                let number = code(second, u32::from(at) * 9, 9);
                match (slot.class, number.checked_sub(FIRST_VECTOR)) {
                    (Class::VectorOrAccumulation, Some(register)) => {
                        either(bit(second, 27 + u32::from(at)), register, dwords)
                    }
                    (Class::MatrixAddend, Some(register)) => either(accumulates, register, dwords),
                    (Class::MatrixAddend, None) if number >= 128 => {
                        scalar_source(number, slot.kind, None)
                    }
                    (Class::Vector, Some(register)) => vector(register, dwords),
                    (_, None) if number == 125 => scalar(number, dwords),
                    (_, None) if number > 127 => scalar_register(number, dwords),
                    _ => None,
                }
            }
            _ => None,
        }
    })?;
    let lane_pattern = bits(second, 29, 3) as u8;
    if sparse && lane_pattern != 0 {
        return None;
    }
    instruction.modifiers = Modifiers::Matrix(Matrix {
        broadcast_size: bits(first, 8, 3) as u8,
        broadcast_block: bits(first, 11, 4) as u8,
        lane_pattern,
    });
    Some(instruction)
}
