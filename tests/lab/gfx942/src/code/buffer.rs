// SPDX-License-Identifier: GPL-2.0-only
//! MUBUF and MTBUF: memory through a descriptor in scalar registers.

use super::bits::{bit, bits, code, Words};
use super::instruction::{Access, Encoding, Instruction, Modifiers};
use super::operand::Operand;
use super::operation::Operation;
use super::registers::{either, scalar, scalar_source, vector};
use super::table::{Role, Shape, B32};
use super::tables;

/// Adds the address: offset and index of each lane, descriptor, scalar offset.
fn push_address(instruction: &mut Instruction, second: u32, access: &Access) -> Option<()> {
    let lanes = code(second, 0, 8);
    let address = match u8::from(access.offen) + u8::from(access.idxen) {
        0 => Operand::Off,
        dwords => vector(lanes, dwords)?,
    };
    if !instruction.shape.properties.has_lds_only() {
        instruction.push(Role::Address, address);
    }
    instruction.push(Role::Address, scalar(code(second, 16, 5) << 2, 4)?);
    let offset = scalar_source(code(second, 24, 8), B32, None)?;
    instruction.push(Role::Offset, offset);
    Some(())
}

fn build(
    entry: (Operation, &'static Shape),
    encoding: Encoding,
    second: u32,
    access: Access,
) -> Option<Instruction> {
    let mut instruction = Instruction::new(entry, encoding, 8);
    let accumulates = bit(second, 23);
    if !access.lds {
        for slot in entry.1.slots {
            let data = either(accumulates, code(second, 8, 8), slot.kind.dwords)?;
            instruction.push(slot.role, data);
        }
    }
    push_address(&mut instruction, second, &access)?;
    instruction.modifiers = Modifiers::Access(access);
    Some(instruction)
}

pub fn untyped(words: Words) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::MUBUF.find(bits(first, 18, 7))?;
    let properties = entry.1.properties;
    let access = Access {
        offset: bits(first, 0, 12) as i32,
        offen: bit(first, 12),
        idxen: bit(first, 13),
        sc0: bit(first, 14),
        sc1: bit(first, 15),
        lds: bit(first, 16),
        nt: bit(first, 17),
        ..Access::default()
    };
    let modes = access.offen || access.idxen || bit(second, 23);
    if properties.has_no_address() {
        let write_back = matches!(entry.0, Operation::buffer_wbl2 | Operation::buffer_inv);
        if modes || access.lds || !write_back && (access.sc0 || access.sc1) {
            return None;
        }
    }
    if properties.has_lds_only() && modes || access.lds && bit(second, 23) {
        return None;
    }
    if access.lds && !properties.has_lds() && !properties.has_lds_only()
        || !access.lds && properties.has_lds_only()
    {
        return None;
    }
    if properties.has_no_address() {
        let mut instruction = Instruction::new(entry, Encoding::Mubuf, 8);
        instruction.modifiers = Modifiers::Access(access);
        return Some(instruction);
    }
    build(entry, Encoding::Mubuf, second, access)
}

pub fn typed(words: Words) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::MTBUF.find(bits(first, 15, 4))?;
    let access = Access {
        offset: bits(first, 0, 12) as i32,
        offen: bit(first, 12),
        idxen: bit(first, 13),
        sc0: bit(first, 14),
        data_format: bits(first, 19, 4) as u8,
        number_format: bits(first, 23, 3) as u8,
        sc1: bit(second, 21),
        nt: bit(second, 22),
        ..Access::default()
    };
    build(entry, Encoding::Mtbuf, second, access)
}
