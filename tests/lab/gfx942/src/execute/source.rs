// SPDX-License-Identifier: GPL-2.0-only
//! The sources of vector instructions: registers and constants, by the width that
//! they are meant to have, with parts, signs and halves.

use super::operands::{constant_16, constant_32, constant_64, literal_64, read_32, read_64};
use super::Stop;
use crate::code::{
    Arithmetic, Class, Instruction, Kind, Modifiers, Number, Operand, Operation, Part, Role, Signs,
};
use crate::wave::{Wave, LANES};

#[derive(Clone, Copy)]
pub struct Source {
    operand: Operand,
    kind: Kind,
    absolute: bool,
    negative: bool,
    extend: bool,
    /// The upper half is meant.
    upper: bool,
    part: Part,
    /// The operation, which says what a literal of 64 bits is.
    operation: Option<Operation>,
}

/// What all forms of vector instructions can say about signs, halves and limits.
pub fn arithmetic(instruction: &Instruction) -> Result<Arithmetic, Stop> {
    match instruction.modifiers {
        Modifiers::None => Ok(Arithmetic::default()),
        Modifiers::Arithmetic(arithmetic) => Ok(arithmetic),
        Modifiers::Parts(parts) => Ok(parts.arithmetic),
        Modifiers::Lanes(lanes) => Ok(lanes.arithmetic),
        _ => Err(Stop::Unknown),
    }
}

fn is_half(kind: Kind) -> bool {
    kind.number != Number::Wide
}

const fn bits(kind: Kind) -> u32 {
    match (kind.number, kind.dwords) {
        (Number::Integer16 | Number::Float16, _) => 16,
        (_, 1) => 32,
        _ => 64,
    }
}

/// What a source is to all lanes that is no vector register, before modifiers.
fn same(wave: &Wave, source: &Source) -> Result<u64, Stop> {
    let (operand, kind) = (source.operand, source.kind);
    let is_float = kind.signs == Signs::Float;
    match operand {
        Operand::Inline { code, .. } if is_half(kind) => constant_16(code).ok_or(Stop::Unknown),
        Operand::Inline { code, .. } if kind.dwords == 2 => constant_64(code).ok_or(Stop::Unknown),
        Operand::Inline { code, .. } => constant_32(code).map(u64::from).ok_or(Stop::Unknown),
        // The literal is the upper half of a double.
        Operand::Literal { value, .. } if kind.dwords == 2 && is_float => {
            Ok(u64::from(value) << 32)
        }
        Operand::Literal { value, .. } if kind.dwords == 2 => Ok(source
            .operation
            .map_or(value.into(), |of| literal_64(of, value))),
        _ if kind.dwords == 2 => read_64(wave, operand),
        _ if kind.dwords == 1 => read_32(wave, operand).map(u64::from),
        _ => Err(Stop::Unknown),
    }
}

impl Source {
    /// A source without modifiers.
    pub fn plain(operand: Operand, kind: Kind) -> Self {
        Self {
            operand,
            kind,
            absolute: false,
            negative: false,
            extend: false,
            upper: false,
            part: Part::Whole,
            operation: None,
        }
    }

    /// The source of this number; none if there is none, or if it is a mask of lanes.
    pub fn of(instruction: &Instruction, at: u8, arithmetic: &Arithmetic) -> Option<Self> {
        let slot = instruction.slot(Role::Source(at))?;
        if slot.class == Class::ScalarRegister {
            return None;
        }
        let has = |mask: u8| (mask >> at) & 1 != 0;
        let part = match instruction.modifiers {
            Modifiers::Parts(parts) => parts.sources.get(usize::from(at)).copied(),
            _ => None,
        };
        Some(Self {
            absolute: has(arithmetic.absolute),
            negative: has(arithmetic.negative),
            extend: has(arithmetic.extend),
            upper: has(arithmetic.select) && is_half(slot.kind),
            part: part.unwrap_or(Part::Whole),
            operation: Some(instruction.operation),
            ..Self::plain(instruction.operand_of(Role::Source(at))?, slot.kind)
        })
    }

    /// What the source is to all lanes, if it is a whole register of 32 bits.
    pub fn lanes(&self, wave: &Wave) -> Option<[u32; LANES]> {
        if self.part != Part::Whole || self.upper || bits(self.kind) != 32 {
            return None;
        }
        let mut lanes = match self.operand {
            Operand::Vector { first, dwords: 1 } => wave.lanes(first),
            Operand::Vector { .. } => return None,
            _ => [same(wave, self).ok()? as u32; LANES],
        };
        let sign = 1 << 31;
        if self.absolute {
            lanes.iter_mut().for_each(|lane| *lane &= !sign);
        }
        if self.negative {
            lanes.iter_mut().for_each(|lane| *lane ^= sign);
        }
        Some(lanes)
    }

    /// The same of 64 bits, or of 32 bits that are extended by zeros.
    pub fn wide_lanes(&self, wave: &Wave) -> Option<[u64; LANES]> {
        let is_whole = self.part == Part::Whole && bits(self.kind) >= 32;
        is_whole.then(|| self.all(wave).ok())?
    }

    /// What the source is to each lane.
    pub fn all(&self, wave: &Wave) -> Result<[u64; LANES], Stop> {
        let mut values = [0; LANES];
        match self.operand {
            Operand::Vector { first, dwords } => {
                let lower = wave.lanes(first);
                let upper = match dwords {
                    1 => [0; LANES],
                    2 => wave.lanes(first.saturating_add(1)),
                    _ => return Err(Stop::Unknown),
                };
                for (value, (lower, upper)) in values.iter_mut().zip(lower.iter().zip(&upper)) {
                    *value = u64::from(*lower) | (u64::from(*upper) << 32);
                }
            }
            _ => values = [same(wave, self)?; LANES],
        }
        if self.is_plain() {
            let ones = u64::MAX >> (64 - bits(self.kind));
            values.iter_mut().for_each(|value| *value &= ones);
        } else {
            values
                .iter_mut()
                .for_each(|value| *value = self.modified(*value));
        }
        Ok(values)
    }

    /// Whether its bits are taken as they are.
    fn is_plain(&self) -> bool {
        let is_other = self.absolute || self.negative || self.upper || self.extend;
        !is_other && self.part == Part::Whole
    }

    /// A number of these bits as the source's modifiers make it.
    pub fn modified(&self, value: u64) -> u64 {
        let value = if self.upper { value >> 16 } else { value };
        let (value, width) = match self.part {
            Part::Whole => (value, bits(self.kind)),
            Part::Byte(at) => ((value >> (8 * u32::from(at & 3))) & 0xff, 8),
            Part::Word(at) => ((value >> (16 * u32::from(at & 1))) & 0xffff, 16),
        };
        let value = if self.extend && self.part != Part::Whole {
            let by = 64 - width;
            (((value << by) as i64) >> by) as u64
        } else {
            value
        };
        let bits = bits(self.kind);
        let value = value & (u64::MAX >> (64 - bits));
        let sign = 1 << (bits - 1);
        let value = if self.absolute { value & !sign } else { value };
        if self.negative {
            value ^ sign
        } else {
            value
        }
    }
}
