// SPDX-License-Identifier: GPL-2.0-only
//! The encodings of scalar instructions: SOP2, SOPK, SOP1, SOPC, SOPP and SMEM.

use super::bits::{bit, bits, code, Words};
use super::instruction::{Access, Encoding, Instruction, Modifiers};
use super::operand::Operand;
use super::registers::{self, scalar, EXEC, EXEC_HIGH, LITERAL, M0};
use super::table::{Index, Role};
use super::tables;

const SOP1: u32 = 0b1_0111_1101;
const SOPC: u32 = 0b1_0111_1110;
const SOPP: u32 = 0b1_0111_1111;

pub fn decode(words: Words) -> Option<Instruction> {
    let first = words.first;
    let (table, number, encoding): (&Index, _, _) = match first >> 23 {
        SOP1 => (&tables::SOP1, bits(first, 8, 8), Encoding::Sop1),
        SOPC => (&tables::SOPC, bits(first, 16, 7), Encoding::Sopc),
        SOPP => (&tables::SOPP, bits(first, 16, 7), Encoding::Sopp),
        _ if first >> 28 == 0b1011 => (&tables::SOPK, bits(first, 23, 5), Encoding::Sopk),
        _ => (&tables::SOP2, bits(first, 23, 7), Encoding::Sop2),
    };
    let entry = table.find(number)?;
    let slots = entry.1.slots;
    let immediate = bits(first, 0, 16) as u16 as i16;
    if encoding == Encoding::Sopp && slots.is_empty() && immediate != 0 {
        return None;
    }
    let source = |at: u8| code(first, u32::from(at) * 8, 8);
    let has_literal = slots.iter().any(|slot| match slot.role {
        Role::Source(at) => source(at) == LITERAL,
        role => role == Role::Literal,
    });
    let literal = if has_literal {
        Some(words.second?)
    } else {
        None
    };
    let mut instruction = Instruction::new(entry, encoding, if has_literal { 8 } else { 4 });
    instruction.fill(|slot| match slot.role {
        Role::ScalarDestination => scalar(code(first, 16, 7), slot.kind.dwords),
        Role::Source(at) => registers::source(source(at), slot, literal),
        Role::Immediate if encoding == Encoding::Sopc => {
            Some(Operand::Immediate(bits(first, 8, 8) as i32))
        }
        Role::Immediate => Some(Operand::Immediate(immediate.into())),
        Role::Literal => Some(Operand::Literal {
            value: literal?,
            kind: slot.kind,
        }),
        _ => None,
    })?;
    Some(instruction)
}

/// SMEM, the scalar way to memory.
pub fn memory(words: Words) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::SMEM.find(bits(first, 18, 8))?;
    let mut instruction = Instruction::new(entry, Encoding::Smem, 8);
    let has_offset = entry.1.slots.iter().any(|slot| slot.role == Role::Offset);
    if !has_offset && bit(first, 17) {
        return None;
    }
    let (has_register, has_number) = (bit(first, 14), bit(first, 17));
    let number = (bits(second, 0, 21) << 11) as i32 >> 11;
    instruction.fill(|slot| match slot.role {
        Role::Data(_) => match scalar(code(first, 6, 7), slot.kind.dwords)? {
            Operand::Scalar {
                code: M0 | EXEC | EXEC_HIGH,
                ..
            } => None,
            register => Some(register),
        },
        Role::DataCode => Some(Operand::Immediate(bits(first, 6, 7) as i32)),
        Role::Address => scalar(code(first, 0, 6) << 1, slot.kind.dwords),
        Role::Offset if has_register => scalar(code(second, 25, 7), 1),
        Role::Offset if has_number => Some(Operand::Off),
        Role::Offset => scalar(code(second, 0, 7), 1),
        _ => None,
    })?;
    instruction.modifiers = Modifiers::Access(Access {
        offset: if has_number { number } else { 0 },
        with_register: has_register && has_number,
        glc: bit(first, 16),
        ..Access::default()
    });
    Some(instruction)
}
