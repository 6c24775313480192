// SPDX-License-Identifier: GPL-2.0-only
//! FLAT, GLOBAL and SCRATCH: one address for each lane.

use super::bits::{bit, bits, code, Words};
use super::instruction::{Access, Encoding, Instruction, Modifiers};
use super::operand::Operand;
use super::registers::{either, scalar, vector};
use super::table::Role;
use super::tables;

/// What the field of the scalar address says when there is none.
const NO_SCALAR: u16 = 0x7f;

/// The vector and the scalar part of the address.
fn addresses(words: Words, encoding: Encoding) -> Option<(Operand, Option<Operand>)> {
    let second = words.second?;
    let address = code(second, 0, 8);
    let scalar_code = code(second, 16, 7);
    let has_scalar = scalar_code != NO_SCALAR;
    Some(match encoding {
        Encoding::Flat | Encoding::Global if bit(words.first, 13) => return None,
        Encoding::Flat if scalar_code != 0 => return None,
        Encoding::Flat => (vector(address, 2)?, None),
        Encoding::Global if has_scalar => (vector(address, 1)?, Some(scalar(scalar_code, 2)?)),
        Encoding::Global => (vector(address, 2)?, Some(Operand::Off)),
        _ => {
            let has_vector = bit(words.first, 13);
            let vector = if has_vector {
                vector(address, 1)?
            } else {
                Operand::Off
            };
            let scalar = if has_scalar {
                scalar(scalar_code, 1)?
            } else {
                Operand::Off
            };
            (vector, Some(scalar))
        }
    })
}

pub fn decode(words: Words) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let entry = tables::FLAT.find(bits(first, 18, 7))?;
    let properties = entry.1.properties;
    let encoding = match bits(first, 14, 2) {
        0 if !properties.has_lds() => Encoding::Flat,
        1 if !properties.has_atomic() => Encoding::Scratch,
        2 => Encoding::Global,
        _ => return None,
    };
    let has = |role| entry.1.slots.iter().any(|slot| slot.role == role);
    let returns = bit(first, 16);
    let has_result = has(Role::Destination) && (returns || !properties.has_atomic());
    let accumulates = bit(second, 23);
    if properties.has_lds() && accumulates {
        return None;
    }
    let (address, scalar_address) = addresses(words, encoding)?;
    let mut instruction = Instruction::new(entry, encoding, 8);
    for slot in entry.1.slots {
        let dwords = slot.kind.dwords;
        match slot.role {
            Role::Destination if has_result => {
                instruction.push(slot.role, either(accumulates, code(second, 24, 8), dwords)?);
            }
            Role::Destination => (),
            _ => {
                instruction.push(Role::Address, address);
                instruction.push(slot.role, either(accumulates, code(second, 8, 8), dwords)?);
            }
        }
    }
    if !has(Role::Data(0)) {
        instruction.push(Role::Address, address);
    }
    if let Some(operand) = scalar_address {
        instruction.push(Role::Offset, operand);
    }
    let signed = (bits(first, 0, 13) << 19) as i32 >> 19;
    instruction.modifiers = Modifiers::Access(Access {
        offset: if encoding == Encoding::Flat {
            bits(first, 0, 13) as i32
        } else {
            signed
        },
        sc0: returns,
        nt: bit(first, 17),
        sc1: bit(first, 25),
        lds: properties.has_lds(),
        ..Access::default()
    });
    Some(instruction)
}
