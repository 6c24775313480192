// SPDX-License-Identifier: GPL-2.0-only
//! How large the matrices of an instruction are, which lane has which element, and how
//! elements are read, added up and written.

use super::operands::{constant_32, constant_64};
use super::registers::{read_dword, write_dword};
use super::{Done, Stop};
use crate::code::Operand;
use crate::float::{round, Eight, Format, Number, Rounding, BF8, BRAIN, DOUBLE, FP8, HALF, SINGLE};
use crate::wave::{Outcome, Wave, LANES};

/// What a matrix is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Float(Format),
    /// Of the first factor and of the second.
    Eight(Eight, Eight),
    Byte,
}

impl Element {
    pub(super) const fn bits(self) -> usize {
        match self {
            Self::Float(format) => (1 + format.exponent + format.fraction) as usize,
            Self::Eight(..) | Self::Byte => 8,
        }
    }
}

/// The measures of an instruction, which its name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measures {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) blocks: usize,
    pub(super) element: Element,
    /// Of factors that are singles only so many bits count as an exponent of eight bits and a
    /// fraction of ten have (xf32).
    pub(super) is_cut: bool,
    /// Lanes have half of the first factor.
    pub(super) is_sparse: bool,
}

fn eight(name: &str) -> Option<Eight> {
    match name {
        "fp8" => Some(FP8),
        "bf8" => Some(BF8),
        _ => None,
    }
}

impl Measures {
    /// The measures in names like `v_mfma_f32_32x32x4_2b_f16`.
    pub(super) fn of(name: &str) -> Option<Self> {
        let sparse = name.strip_prefix("v_smfmac_");
        let mut parts = sparse.or_else(|| name.strip_prefix("v_mfma_"))?.split('_');
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
            ("f32", "f32" | "xf32") => Element::Float(SINGLE),
            ("f32", "f16") => Element::Float(HALF),
            ("f32", "bf16") => Element::Float(BRAIN),
            ("f64", "f64") => Element::Float(DOUBLE),
            ("i32", "i8") => Element::Byte,
            ("f32", first) => Element::Eight(eight(first)?, eight(parts.next()?)?),
            _ => return None,
        };
        Some(Self {
            rows,
            columns,
            depth,
            blocks,
            element,
            is_cut: of == "xf32",
            is_sparse: sparse.is_some(),
        })
    }

    /// How many elements of a factor a lane has.
    pub(super) const fn of_lane(&self) -> usize {
        self.rows * self.depth * self.blocks / LANES
    }

    /// Whether blocks lie beside each other, before the sum's direction and the rows.
    pub(super) fn has_blocks_first(&self) -> bool {
        self.element == Element::Float(DOUBLE)
    }

    /// The lane that has this element of a factor, and which of its elements it is.
    pub(super) fn factor(&self, along: usize, depth: usize, block: usize) -> (usize, usize) {
        let own = self.of_lane();
        let parts = self.depth / own;
        let (part, within) = (depth / own, depth % own);
        let group = match self.has_blocks_first() {
            true => block + self.blocks * part,
            false => part + parts * block,
        };
        (along + self.rows * group, within)
    }

    pub(super) const fn results(&self) -> usize {
        self.rows * self.columns * self.blocks
    }

    /// The same of the elements of the result in their order.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let (column, rest) = (at % self.columns, at / self.columns);
        self.result(rest % self.rows, column, rest / self.rows)
    }

    /// The lane that has this element of the result, and which of its elements it is.
    pub(super) fn result(&self, row: usize, column: usize, block: usize) -> (usize, usize) {
        let height = match self.element {
            Element::Float(DOUBLE) => 1,
            _ => 4,
        };
        let groups = LANES / self.columns;
        let row = match self.has_blocks_first() {
            true => block + self.blocks * row,
            false => row + self.rows * block,
        };
        let (group, within) = (row / height, row % height);
        let lane = column + self.columns * (group % groups);
        (lane, within + height * (group / groups))
    }
}

/// One element of a lane's registers, or of a constant.
pub(super) fn element(
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
pub(super) fn sum(element: Element, start: u64, products: impl Iterator<Item = (u64, u64)>) -> u64 {
    match element {
        Element::Byte => {
            let start = start as u32;
            let product = |(first, second): (u64, u64)| {
                let (left, right) = (first as u8 as i8, second as u8 as i8);
                (i32::from(left) * i32::from(right)) as u32
            };
            products.map(product).fold(start, u32::wrapping_add).into()
        }
        Element::Eight(left, right) => products.fold(start, |sum, (first, second)| {
            let (first, second) = (left.unpack(first as u8), right.unpack(second as u8));
            let next = Number::fused(first, second, SINGLE.unpack(sum), false);
            round(next, SINGLE, Rounding::Even)
        }),
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

/// Puts all elements of a result into its registers.
pub(super) fn write(wave: &mut Wave, to: Operand, measures: Measures, results: &[u64]) -> Done {
    let dwords = measures.element.bits().div_ceil(32);
    for (at, value) in results.iter().take(measures.results()).enumerate() {
        let (lane, at) = measures.place(at);
        let from = (at * dwords) as u8;
        write_dword(wave, to, lane, from, *value as u32);
        if dwords == 2 {
            write_dword(wave, to, lane, from + 1, (*value >> 32) as u32);
        }
    }
    Ok(Outcome::Next)
}
