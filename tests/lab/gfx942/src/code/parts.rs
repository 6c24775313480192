// SPDX-License-Identifier: GPL-2.0-only
//! The forms of short vector instructions whose operands are in a second dword:
//! SDWA, with parts of registers, and DPP, with another lane's registers.

use super::bits::{bit, bits, code, Words};
use super::instruction::{
    Arithmetic, Encoding, Exchange, Instruction, Lanes, Modifiers, Part, Parts, Unused,
};
use super::operand::Operand;
use super::operation::Operation;
use super::registers::{lds_direct, scalar, scalar_source, vector, VCC};
use super::table::{Role, Shape, Signs, Slot};

type Entry = (Operation, &'static Shape);

fn source_slots(shape: &'static Shape) -> impl Iterator<Item = (u8, &'static Slot)> {
    shape.slots.iter().filter_map(|slot| match slot.role {
        Role::Source(at) => Some((at, slot)),
        _ => None,
    })
}

fn part(selector: u32) -> Option<Part> {
    match selector {
        0..=3 => Some(Part::Byte(selector as u8)),
        4 | 5 => Some(Part::Word(selector as u8 - 4)),
        6 => Some(Part::Whole),
        _ => None,
    }
}

/// The signs of a source in an SDWA form: `low` is the first of three bits for sign
/// extension, negation and magnitude.
fn sdwa_signs(second: u32, low: u32, at: u8, slot: &Slot, to: &mut Arithmetic) -> Option<()> {
    let (extend, negative, absolute) =
        (bit(second, low), bit(second, low + 1), bit(second, low + 2));
    let refused = match slot.kind.signs {
        Signs::Float => extend,
        _ => negative || absolute,
    };
    if refused {
        return None;
    }
    to.extend |= u8::from(extend) << at;
    to.negative |= u8::from(negative) << at;
    to.absolute |= u8::from(absolute) << at;
    Some(())
}

pub fn sdwa(words: Words, entry: Entry, short: Encoding) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let properties = entry.1.properties;
    let compares = short == Encoding::Vopc;
    let mut arithmetic = Arithmetic::default();
    let mut sources = [Part::Whole; 2];
    for at in 0..2u8 {
        let low = 16 + 8 * u32::from(at);
        match source_slots(entry.1).find(|(of, _)| *of == at) {
            Some((_, slot)) => {
                sdwa_signs(second, low + 3, at, slot, &mut arithmetic)?;
                sources[usize::from(at)] = part(bits(second, low, 3))?;
            }
            None if bits(second, low, 6) != 0 => return None,
            None => (),
        }
    }
    let mut destination = Part::Whole;
    let mut unused = Unused::Zero;
    if !compares {
        arithmetic.clamp = bit(second, 13);
        arithmetic.multiplier = bits(second, 14, 2) as u8;
        if arithmetic.multiplier != 0 && !properties.has_multiplier() {
            return None;
        }
        if properties.has_whole_destination() {
            // What becomes of the rest of a whole register is not asked.
            if part(bits(second, 8, 3))? != Part::Whole {
                return None;
            }
        } else {
            destination = part(bits(second, 8, 3))?;
            unused = match bits(second, 11, 2) {
                0 => Unused::Zero,
                1 => Unused::Sign,
                2 => Unused::Keep,
                _ => return None,
            };
        }
    }
    let mut instruction = Instruction::new(entry, Encoding::Sdwa, 8);
    instruction.fill(|slot| {
        let source = |code: u16, is_scalar: bool| {
            if is_scalar {
                lds_direct(code).or_else(|| scalar_source(code, slot.kind, None))
            } else {
                vector(code, slot.kind.dwords)
            }
        };
        match slot.role {
            Role::Destination => vector(code(first, 17, 8), slot.kind.dwords),
            Role::Source(0) => source(code(second, 0, 8), bit(second, 23)),
            Role::Source(_) => source(code(first, 9, 8), bit(second, 31)),
            Role::Vcc if compares && bit(second, 15) => scalar(code(second, 8, 7), 2),
            Role::Vcc => Some(Operand::Scalar {
                code: VCC,
                dwords: 2,
            }),
            _ => None,
        }
    })?;
    instruction.modifiers = Modifiers::Parts(Parts {
        arithmetic,
        destination,
        unused,
        sources,
    });
    Some(instruction)
}

fn exchange(control: u32) -> Option<Exchange> {
    let low = bits(control, 0, 4) as u8;
    Some(match control {
        0..=0xff => {
            let lane = |at| bits(control, at, 2) as u8;
            Exchange::QuadPermutation([lane(0), lane(2), lane(4), lane(6)])
        }
        0x101..=0x10f => Exchange::RowShiftLeft(low),
        0x111..=0x11f => Exchange::RowShiftRight(low),
        0x121..=0x12f => Exchange::RowRotateRight(low),
        0x130 => Exchange::WaveShiftLeft,
        0x134 => Exchange::WaveRotateLeft,
        0x138 => Exchange::WaveShiftRight,
        0x13c => Exchange::WaveRotateRight,
        0x140 => Exchange::RowMirror,
        0x141 => Exchange::RowHalfMirror,
        0x142 => Exchange::RowBroadcast15,
        0x143 => Exchange::RowBroadcast31,
        0x150..=0x15f => Exchange::RowBroadcast(low),
        _ => return None,
    })
}

pub fn dpp(words: Words, entry: Entry) -> Option<Instruction> {
    let (first, second) = (words.first, words.second?);
    let exchange = exchange(bits(second, 8, 9))?;
    let long = entry
        .1
        .slots
        .iter()
        .any(|slot| slot.kind.dwords == 2 && slot.role != Role::Vcc);
    if long && !matches!(exchange, Exchange::RowBroadcast(_)) {
        return None;
    }
    let mut arithmetic = Arithmetic::default();
    let mut sign_bits = 0;
    for (at, slot) in source_slots(entry.1) {
        let low = 20 + 2 * u32::from(at);
        let (negative, absolute) = (u8::from(bit(second, low)), u8::from(bit(second, low + 1)));
        match slot.kind.signs {
            Signs::Refused => continue,
            Signs::Float => {
                arithmetic.negative |= negative << at;
                arithmetic.absolute |= absolute << at;
            }
            Signs::Extend => arithmetic.extend |= negative << at,
            Signs::Ignored => (),
        }
        sign_bits |= 0b11 << low;
    }
    if second & 0x00f0_0000 & !sign_bits != 0 {
        return None;
    }
    let mut instruction = Instruction::new(entry, Encoding::Dpp, 8);
    instruction.fill(|slot| match slot.role {
        Role::Destination => vector(code(first, 17, 8), slot.kind.dwords),
        Role::Source(0) => vector(code(second, 0, 8), slot.kind.dwords),
        Role::Source(_) => vector(code(first, 9, 8), slot.kind.dwords),
        Role::Vcc => scalar(VCC.into(), 2),
        _ => None,
    })?;
    instruction.modifiers = Modifiers::Lanes(Lanes {
        arithmetic,
        exchange,
        row_mask: bits(second, 28, 4) as u8,
        bank_mask: bits(second, 24, 4) as u8,
        zero_outside: bit(second, 19),
    });
    Some(instruction)
}
