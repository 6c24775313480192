// SPDX-License-Identifier: GPL-2.0-only
//! Matrix instructions: the product of two small matrices is added to a third, for one
//! or more blocks at once. All lanes take part, whatever EXEC has.
//!
//! A lane has elements of one row of the first factor, or of one column of the second,
//! that are neighbours in the direction of the sum; the lanes go through the rows, then
//! through the parts of the sum, then through the blocks. Of the result a lane has a
//! column's elements in groups of four rows. Of doubles a lane has one element, and blocks
//! come before the parts of the sum and before the rows.

use std::sync::LazyLock;

use super::broadcasts::Taken;
use super::by_operation::ByOperation;
use super::lane::Modes;
use super::measures::{element, sum, write, Element, Measures};
use super::operands::operand;
use super::{sparse, Done, Stop};
use crate::code::{Instruction, Modifiers, Operand};
use crate::float::{round, Rounding, BRAIN, DOUBLE, HALF, SINGLE};
use crate::wave::{Wave, LANES};

/// What matrix instructions on xf32 do not see of a single.
const CUT_OFF: u64 = 0x1fff;

/// The most elements of a factor, of eight in each lane, and of a result.
const FACTORS: usize = 8 * LANES;
const RESULTS: usize = 32 * LANES;

static ALL: LazyLock<ByOperation<Measures>> =
    LazyLock::new(|| ByOperation::new(|operation| Measures::of(operation.name())));

/// The numbers of an instruction. Factors go through the rows or columns, then through the
/// sum's direction; the addend and the result through the columns, then the rows. Blocks
/// follow each other.
struct Numbers {
    measures: Measures,
    first: [u64; FACTORS],
    second: [u64; FACTORS],
    results: [u64; RESULTS],
}

impl Numbers {
    fn of(
        wave: &Wave,
        measures: Measures,
        taken: &Taken,
        [first, second, addend]: [Operand; 3],
    ) -> Result<Self, Stop> {
        let bits = measures.element.bits();
        let modes = Modes::of(wave);
        // Of singles MODE says whether they may be subnormal as factors.
        let factor = |value: u64, at| match measures.element {
            Element::Float(SINGLE) if measures.is_cut => modes.input(SINGLE, value & !CUT_OFF),
            Element::Float(SINGLE) => modes.input(SINGLE, value),
            Element::Float(DOUBLE) => value ^ taken.sign(DOUBLE, at),
            _ => value,
        };
        let mut numbers = Self {
            measures,
            first: [0; FACTORS],
            second: [0; FACTORS],
            results: [0; RESULTS],
        };
        let Measures { rows, depth, .. } = measures;
        let factors = numbers.first.iter_mut().zip(&mut numbers.second);
        for (at, (left, right)) in factors.take(rows * depth * measures.blocks).enumerate() {
            let (along, deep, block) = (at % rows, at / rows % depth, at / (rows * depth));
            let place = measures.factor(along, deep, taken.first(block));
            *left = factor(element(wave, first, place, bits)?, 0);
            let (lane, at) = measures.factor(along, deep, block);
            let place = (taken.second(lane), at);
            *right = factor(element(wave, second, place, bits)?, 1);
        }
        for (at, result) in numbers
            .results
            .iter_mut()
            .take(measures.results())
            .enumerate()
        {
            let value = element(wave, addend, measures.place(at), bits.max(32))?;
            *result = value ^ taken.sign(DOUBLE, 2);
        }
        Ok(numbers)
    }

    /// The factors of one block, a row or a column of them for each step of the sum.
    fn block(&self, block: usize) -> impl Iterator<Item = (&[u64], &[u64])> {
        let Measures { rows, depth, .. } = self.measures;
        let from = block * rows * depth;
        let parts = |all| {
            <[u64]>::chunks_exact(all, rows)
                .skip(from / rows)
                .take(depth)
        };
        parts(&self.first).zip(parts(&self.second))
    }

    /// Element by element.
    fn multiply(&mut self) {
        let Measures { columns, .. } = self.measures;
        let mut results = self.results;
        let of_block = self.measures.rows * columns;
        for (at, result) in results.iter_mut().take(self.measures.results()).enumerate() {
            let (row, column) = (at % of_block / columns, at % columns);
            let products = self.block(at / of_block).map(|(left, right)| {
                let of = |factors: &[u64], at| factors.get(at).copied().unwrap_or(0);
                (of(left, row), of(right, column))
            });
            *result = sum(self.measures.element, *result, products);
        }
        self.results = results;
    }

    /// The same by the host's arithmetic, all columns at once; false, and nothing is done,
    /// if that is not the same. Hosts round to the nearest and keep subnormal numbers, but
    /// do not agree about what is no number.
    fn multiply_as_the_host(&mut self) -> bool {
        let Element::Float(format) = self.measures.element else {
            return false;
        };
        if format == DOUBLE {
            return false;
        }
        // A half or the upper half of a single is a single without any rounding.
        let single = |bits: u64| match format {
            SINGLE => f32::from_bits(bits as u32),
            BRAIN => f32::from_bits((bits as u32) << 16),
            _ => f32::from_bits(round(format.unpack(bits), SINGLE, Rounding::Even) as u32),
        };
        let Measures { rows, columns, .. } = self.measures;
        let mut sums = [0.0_f32; RESULTS];
        for (sum, bits) in sums.iter_mut().zip(&self.results) {
            *sum = f32::from_bits(*bits as u32);
        }
        for (block, sums) in (0..self.measures.blocks).zip(sums.chunks_mut(rows * columns)) {
            for (left, right) in self.block(block) {
                let mut row = [0.0; 32];
                for (to, from) in row.iter_mut().zip(right) {
                    *to = single(*from);
                }
                for (sums, left) in sums.chunks_exact_mut(columns).zip(left) {
                    let left = single(*left);
                    for (sum, right) in sums.iter_mut().zip(&row) {
                        *sum = match format {
                            // The product has few enough bits to be exact by itself.
                            HALF => left * right + *sum,
                            _ => left.mul_add(*right, *sum),
                        };
                    }
                }
            }
        }
        let sums = sums.iter().take(self.measures.results());
        if sums.clone().any(|sum| sum.is_nan()) {
            return false;
        }
        for (result, sum) in self.results.iter_mut().zip(sums) {
            *result = sum.to_bits().into();
        }
        true
    }
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    let measures = ALL.get(instruction.operation).ok_or(Stop::Unknown)?;
    if measures.is_sparse {
        return sparse::execute(wave, instruction, measures);
    }
    let Modifiers::Matrix(matrix) = instruction.modifiers else {
        return Err(Stop::Unknown);
    };
    let taken = Taken::of(&measures, matrix).ok_or(Stop::Unknown)?;
    let to = operand(instruction, 0)?;
    let sources = [
        operand(instruction, 1)?,
        operand(instruction, 2)?,
        operand(instruction, 3)?,
    ];
    let mut numbers = Numbers::of(wave, measures, &taken, sources)?;
    if !numbers.multiply_as_the_host() {
        numbers.multiply();
    }
    write(wave, to, measures, &numbers.results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Operation;
    use crate::float::Format;

    /// Numbers of all sizes; with `rare` set also those that are none, or infinite.
    fn number(state: &mut u64, format: Format, rare: bool) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let all = format.sign() | (format.sign() - 1);
        let bits = state.rotate_right(9) & all;
        let near_one = bits & !format.infinity() | ((format.bias() as u64) << format.fraction);
        match *state % 8 {
            0 => bits & format.sign(),
            // Subnormal.
            1 => bits & !format.infinity(),
            2 | 3 if rare || format.magnitude(bits) < format.infinity() => bits,
            _ => near_one,
        }
    }

    #[test]
    fn the_host_multiplies_as_it_is_done_element_by_element() {
        let mut state = 99;
        let mut by_the_host = 0;
        for operation in Operation::ALL {
            let Some(measures) = ALL.get(*operation) else {
                continue;
            };
            for rare in [false, false, true] {
                let Element::Float(format) = measures.element else {
                    continue;
                };
                if measures.is_sparse {
                    continue;
                }
                let to = if format == DOUBLE { DOUBLE } else { SINGLE };
                let mut numbers = Numbers {
                    measures,
                    first: [0; FACTORS].map(|_| number(&mut state, format, rare)),
                    second: [0; FACTORS].map(|_| number(&mut state, format, rare)),
                    results: [0; RESULTS].map(|_| number(&mut state, to, rare)),
                };
                let count = measures.results();
                let before = numbers.results;
                let done = numbers.multiply_as_the_host();
                let found = numbers.results;
                if !done {
                    assert_eq!(found, before, "{}", operation.name());
                    continue;
                }
                numbers.results = before;
                numbers.multiply();
                assert_eq!(
                    found[..count],
                    numbers.results[..count],
                    "{}",
                    operation.name()
                );
                by_the_host += 1;
            }
        }
        assert!(by_the_host >= 20, "{by_the_host}");
    }
}
