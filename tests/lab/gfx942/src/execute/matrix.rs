// SPDX-License-Identifier: GPL-2.0-only
//! Matrix instructions: the product of two small matrices is added to a third, for one
//! or more blocks at once. All lanes take part, whatever EXEC has.
//!
//! A lane has elements of one row of the first factor, or of one column of the second,
//! that are neighbours in the direction of the sum; the lanes go through the rows, then
//! through the parts of the sum, then through the blocks. Of the result a lane has a
//! column's elements in groups of four rows.

use super::operands::{constant_32, constant_64, operand};
use super::registers::{read_dword, write_dword};
use super::{Done, Stop};
use crate::code::{Instruction, Matrix, Modifiers, Operand};
use crate::float::{round, Format, Number, Rounding, BRAIN, DOUBLE, HALF, SINGLE};
use crate::wave::{Outcome, Wave, LANES};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Float(Format),
    Byte,
}

impl Element {
    const fn bits(self) -> usize {
        match self {
            Self::Float(format) => (1 + format.exponent + format.fraction) as usize,
            Self::Byte => 8,
        }
    }
}

/// The measures of an instruction, which its name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Measures {
    rows: usize,
    columns: usize,
    depth: usize,
    blocks: usize,
    element: Element,
}

impl Measures {
    /// The measures in names like `v_mfma_f32_32x32x4_2b_f16`.
    fn of(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("v_mfma_")?.split('_');
        let to = parts.next()?;
        let mut sizes = parts.next()?.split('x').map(str::parse::<usize>);
        let mut size = || sizes.next()?.ok();
        let (rows, columns, depth) = (size()?, size()?, size()?);
        let next = parts.next()?;
        let (blocks, of) = match next.strip_suffix('b') {
            Some(count) => (count.parse().ok()?, parts.next()?),
            None => (1, next),
        };
        let element = match (to, of) {
            ("f32", "f32") => Element::Float(SINGLE),
            ("f32", "f16") => Element::Float(HALF),
            ("f32", "bf16") => Element::Float(BRAIN),
            ("f64", "f64") if blocks == 1 => Element::Float(DOUBLE),
            ("i32", "i8") => Element::Byte,
            _ => return None,
        };
        Some(Self {
            rows,
            columns,
            depth,
            blocks,
            element,
        })
    }

    /// How many elements of a factor a lane has.
    const fn of_lane(&self) -> usize {
        self.rows * self.depth * self.blocks / LANES
    }

    /// The lane that has this element of a factor, and which of its elements it is.
    const fn factor(&self, along: usize, depth: usize, block: usize) -> (usize, usize) {
        let own = self.of_lane();
        let parts = self.depth / own;
        let lane = along + self.rows * (depth / own + parts * block);
        (lane, depth % own)
    }

    /// The lane that has this element of the result, and which of its elements it is.
    fn result(&self, row: usize, column: usize, block: usize) -> (usize, usize) {
        let height = match self.element {
            Element::Float(DOUBLE) => 1,
            _ => 4,
        };
        let groups = LANES / self.columns;
        let row = row + self.rows * block;
        let (group, within) = (row / height, row % height);
        let lane = column + self.columns * (group % groups);
        (lane, within + height * (group / groups))
    }
}

/// One element of a lane's registers, or of a constant.
fn element(
    wave: &Wave,
    source: Operand,
    (lane, at): (usize, usize),
    bits: usize,
) -> Result<u64, Stop> {
    if let Operand::Inline { code, .. } = source {
        let constant = match bits {
            64 => constant_64(code),
            _ => constant_32(code).map(u64::from),
        };
        return constant.ok_or(Stop::Unknown);
    }
    let from = at * bits;
    let dword = |index: usize| {
        let index = u8::try_from(index).map_err(|_| Stop::Unknown)?;
        read_dword(wave, source, lane, index).map(u64::from)
    };
    let lower = dword(from / 32)?;
    Ok(match bits {
        64 => lower | (dword(from / 32 + 1)? << 32),
        32 => lower,
        _ => (lower >> (from % 32)) & ((1 << bits) - 1),
    })
}

/// One element of the result: products are exact, and each sum is rounded to the
/// nearest, in the order of the elements.
fn sum(element: Element, start: u64, products: impl Iterator<Item = (u64, u64)>) -> u64 {
    match element {
        Element::Byte => {
            let start = start as u32;
            let product = |(first, second): (u64, u64)| {
                let (left, right) = (first as u8 as i8, second as u8 as i8);
                (i32::from(left) * i32::from(right)) as u32
            };
            products.map(product).fold(start, u32::wrapping_add).into()
        }
        Element::Float(format) => {
            let to = if format == DOUBLE { DOUBLE } else { SINGLE };
            products.fold(start, |sum, (first, second)| {
                let (first, second) = (format.unpack(first), format.unpack(second));
                let next = Number::fused(first, second, to.unpack(sum), false);
                round(next, to, Rounding::Even)
            })
        }
    }
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    let measures = Measures::of(instruction.operation.name()).ok_or(Stop::Unknown)?;
    if instruction.modifiers != Modifiers::Matrix(Matrix::default()) {
        return Err(Stop::Unknown);
    }
    let to = operand(instruction, 0)?;
    let (first, second) = (operand(instruction, 1)?, operand(instruction, 2)?);
    let addend = operand(instruction, 3)?;
    let bits = measures.element.bits();
    let result_bits = bits.max(32);
    let mut results = Vec::new();
    for block in 0..measures.blocks {
        for row in 0..measures.rows {
            for column in 0..measures.columns {
                let place = measures.result(row, column, block);
                let start = element(wave, addend, place, result_bits)?;
                let mut products = Vec::with_capacity(measures.depth);
                for depth in 0..measures.depth {
                    let left = measures.factor(row, depth, block);
                    let right = measures.factor(column, depth, block);
                    products.push((
                        element(wave, first, left, bits)?,
                        element(wave, second, right, bits)?,
                    ));
                }
                let value = sum(measures.element, start, products.into_iter());
                results.push((place, value));
            }
        }
    }
    for ((lane, at), value) in results {
        let from = (at * result_bits / 32) as u8;
        write_dword(wave, to, lane, from, value as u32);
        if result_bits == 64 {
            write_dword(wave, to, lane, from + 1, (value >> 32) as u32);
        }
    }
    Ok(Outcome::Next)
}
