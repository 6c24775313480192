// SPDX-License-Identifier: GPL-2.0-only
//! The long encoding of vector instructions: VOP3, with two results also.

use super::bits::{bit, bits, code, Words};
use super::instruction::{Arithmetic, Encoding, Instruction, Modifiers};
use super::operation::Operation;
use super::registers::{scalar, scalar_register, source, vector};
use super::table::{Role, Shape, Signs};
use super::tables;

/// Whether a scalar result stands where magnitudes and halves are chosen otherwise.
fn has_two_results(shape: &Shape) -> bool {
    shape.slots.first().map(|slot| slot.role) == Some(Role::Destination)
        && shape.slots.get(1).map(|slot| slot.role) == Some(Role::ScalarDestination)
}

/// The sign bits of all sources; those that a source refuses are no instruction.
fn signs(shape: &Shape, absolute: u8, negative: u8, ignored: u8) -> Option<Arithmetic> {
    let mut arithmetic = Arithmetic::default();
    let mut accepted = ignored;
    for slot in shape.slots {
        let Role::Source(at) = slot.role else {
            continue;
        };
        let of = 1 << at;
        match slot.kind.signs {
            Signs::Refused => continue,
            Signs::Float => {
                arithmetic.absolute |= absolute & of;
                arithmetic.negative |= negative & of;
            }
            Signs::Extend => arithmetic.extend |= negative & of,
            Signs::Ignored => (),
        }
        accepted |= of;
    }
    ((absolute | negative) & !accepted == 0).then_some(arithmetic)
}

pub fn decode(words: Words) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::VOP3.find(bits(first, 16, 10))?;
    let shape = entry.1;
    let properties = shape.properties;
    let two_results = has_two_results(shape);
    let absolute = if two_results {
        0
    } else {
        bits(first, 8, 3) as u8
    };
    // Two operations have the bits of a third source that they do not have.
    let rounds = matches!(
        entry.0,
        Operation::v_cvt_sr_fp8_f32 | Operation::v_cvt_sr_bf8_f32
    );
    let ignored = if rounds { 0b100 } else { 0 };
    let mut arithmetic = signs(shape, absolute, bits(second, 29, 3) as u8, ignored)?;
    arithmetic.clamp = bit(first, 15);
    arithmetic.multiplier = bits(second, 27, 2) as u8;
    if arithmetic.clamp && !properties.has_clamp()
        || arithmetic.multiplier != 0 && !properties.has_multiplier()
    {
        return None;
    }
    let source_code = |at: u8| code(second, u32::from(at) * 9, 9);
    let has_source = |at: u8| shape.slots.iter().any(|slot| slot.role == Role::Source(at));
    if (0..3).any(|at| !has_source(at) && source_code(at) != 0) {
        return None;
    }
    if properties.has_selects() {
        arithmetic.select = bits(first, 11, 4) as u8;
        if !has_source(2) && !rounds && arithmetic.select & 0b100 != 0 {
            return None;
        }
    }
    if shape.slots.is_empty() && bits(first, 0, 8) != 0 {
        return None;
    }
    let mut instruction = Instruction::new(entry, Encoding::Vop3, 8);
    instruction.fill(|slot| match slot.role {
        Role::Destination => vector(code(first, 0, 8), slot.kind.dwords),
        Role::ScalarDestination if two_results => scalar(code(first, 8, 7), slot.kind.dwords),
        Role::ScalarDestination => scalar_register(code(first, 0, 8), slot.kind.dwords),
        Role::Source(at) => source(source_code(at), slot, None),
        _ => None,
    })?;
    instruction.modifiers = Modifiers::Arithmetic(arithmetic);
    Some(instruction)
}
