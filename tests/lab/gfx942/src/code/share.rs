// SPDX-License-Identifier: GPL-2.0-only
//! DS, the encoding of instructions on the local data share.

use super::bits::{bit, bits, code, Words};
use super::instruction::{Access, Encoding, Instruction, Modifiers};
use super::operation::Operation;
use super::registers::{either, vector};
use super::table::Role;
use super::tables;

pub fn decode(words: Words) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::DS.find(bits(first, 17, 8))?;
    let shape = entry.1;
    let accumulates = bit(first, 25);
    let is_nothing = shape.slots.is_empty() && !shape.properties.has_global_share();
    if is_nothing && bits(first, 0, 17) | bits(first, 25, 1) != 0 {
        return None;
    }
    let crosses = matches!(
        entry.0,
        Operation::ds_permute_b32 | Operation::ds_bpermute_b32
    );
    if crosses && bit(first, 16) {
        return None;
    }
    if shape.properties.has_global_share() && !bit(first, 16) {
        return None;
    }
    let fields = [
        (Role::Address, 0),
        (Role::Data(0), 8),
        (Role::Data(1), 16),
        (Role::Destination, 24),
    ];
    let has = |role| shape.slots.iter().any(|slot| slot.role == role);
    if fields
        .iter()
        .any(|&(role, low)| !has(role) && bits(second, low, 8) != 0)
    {
        return None;
    }
    let mut instruction = Instruction::new(entry, Encoding::Ds, 8);
    instruction.fill(|slot| {
        let low = fields.iter().find(|field| field.0 == slot.role)?.1;
        let register = code(second, low, 8);
        match slot.role {
            Role::Address if !shape.properties.has_global_share() => {
                vector(register, slot.kind.dwords)
            }
            _ => either(accumulates, register, slot.kind.dwords),
        }
    })?;
    let two = shape.properties.has_two_offsets();
    instruction.modifiers = Modifiers::Access(Access {
        offset: bits(first, 0, if two { 8 } else { 16 }) as i32,
        second_offset: if two { bits(first, 8, 8) as u8 } else { 0 },
        ..Access::default()
    });
    Some(instruction)
}
