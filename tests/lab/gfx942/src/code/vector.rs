// SPDX-License-Identifier: GPL-2.0-only
//! The short encodings of vector instructions: VOP1, VOP2 and VOPC.

use super::bits::{bits, code, Words};
use super::instruction::{Encoding, Instruction};
use super::operand::Operand;
use super::parts;
use super::registers::{accumulation, scalar, source, vector, FIRST_VECTOR, LITERAL, VCC};
use super::table::{Class, Index, Role};
use super::tables;

const VOP1: u32 = 0b011_1111;
const VOPC: u32 = 0b011_1110;
/// What the field of the first source says when another dword has the operands.
const SDWA: u16 = 249;
const DPP: u16 = 250;

pub fn decode(words: Words) -> Option<Instruction> {
    let first = words.first;
    let (table, number, encoding): (&Index, _, _) = match first >> 25 {
        VOP1 => (&tables::VOP1, bits(first, 9, 8), Encoding::Vop1),
        VOPC => (&tables::VOPC, bits(first, 17, 8), Encoding::Vopc),
        number => (&tables::VOP2, number, Encoding::Vop2),
    };
    let entry = table.find(number)?;
    let shape = entry.1;
    let first_source = code(first, 0, 9);
    match first_source {
        SDWA if shape.properties.has_sdwa() => return parts::sdwa(words, entry, encoding),
        DPP if shape.properties.has_dpp() => return parts::dpp(words, entry),
        // The assembler's idea of this one depends on the rest of the code.
        DPP if shape.slots.is_empty() => return None,
        _ => (),
    }
    if shape.slots.is_empty() && bits(first, 17, 8) != 0 {
        return None;
    }
    let has_literal = shape.slots.iter().any(|slot| match slot.role {
        Role::Source(0) => first_source == LITERAL,
        role => role == Role::Literal,
    });
    let literal = if has_literal {
        Some(words.second?)
    } else {
        None
    };
    let mut instruction = Instruction::new(entry, encoding, if has_literal { 8 } else { 4 });
    instruction.fill(|slot| {
        let dwords = slot.kind.dwords;
        match slot.role {
            Role::Destination if slot.class == Class::Accumulation => {
                accumulation(code(first, 17, 8), dwords)
            }
            Role::Destination => vector(code(first, 17, 8), dwords),
            Role::ScalarDestination => scalar(code(first, 17, 8), dwords),
            Role::Source(0) => source(first_source, slot, literal),
            Role::Source(_) => source(FIRST_VECTOR + code(first, 9, 8), slot, None),
            Role::Vcc => scalar(VCC.into(), dwords),
            Role::Literal => Some(Operand::Literal {
                value: literal?,
                kind: slot.kind,
            }),
            _ => None,
        }
    })?;
    Some(instruction)
}
