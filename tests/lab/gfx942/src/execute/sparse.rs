// SPDX-License-Identifier: GPL-2.0-only
//! Matrix instructions of which the first factor is sparse: of each four of its elements
//! in the direction of the sum a lane has two, and the third operand says which. The
//! product is added to what the destination has.

use super::measures::{element, sum, write, Measures};
use super::operands::operand;
use super::registers::read_dword;
use super::{Done, Stop};
use crate::code::{Instruction, Matrix, Modifiers, Operand};
use crate::wave::{Wave, LANES};

/// The most elements that a lane has of the second factor; of the first half as many.
const MOST: usize = 16;
/// Two bits for each element that a lane has of the first factor.
const INDEX_BITS: usize = 2;

/// An element of the first factor: its bits, and where it stands in the sum's direction
/// among those of its lane.
type Placed = (u64, usize);

/// Which of the sets of indices in a register is meant.
fn set(matrix: Matrix, bits: usize) -> Result<usize, Stop> {
    if matrix.lane_pattern != 0 {
        return Err(Stop::Unknown);
    }
    let sets = 32 / bits;
    Ok(match matrix.broadcast_size & 3 {
        0 => usize::from(matrix.broadcast_block) % sets,
        _ => 0,
    })
}

/// What each lane has of the first factor.
fn sparse(
    wave: &Wave,
    measures: Measures,
    matrix: Matrix,
    [first, indices]: [Operand; 2],
) -> Result<[[Placed; MOST / 2]; LANES], Stop> {
    let own = measures.of_lane() / 2;
    let index_bits = INDEX_BITS * own;
    let from = index_bits * set(matrix, index_bits)?;
    let mut all = [[(0, 0); MOST / 2]; LANES];
    for (lane, elements) in all.iter_mut().enumerate() {
        let indices = read_dword(wave, indices, lane, 0)? >> from;
        for (at, placed) in elements.iter_mut().take(own).enumerate() {
            let index = (indices >> (INDEX_BITS * at)) as usize & 3;
            let bits = element(wave, first, (lane, at), measures.element.bits())?;
            *placed = (bits, at / 2 * 4 + index);
        }
    }
    Ok(all)
}

/// What each lane has of the second factor.
fn dense(wave: &Wave, measures: Measures, from: Operand) -> Result<[[u64; MOST]; LANES], Stop> {
    let mut all = [[0; MOST]; LANES];
    for (lane, elements) in all.iter_mut().enumerate() {
        for (at, bits) in elements.iter_mut().take(measures.of_lane()).enumerate() {
            *bits = element(wave, from, (lane, at), measures.element.bits())?;
        }
    }
    Ok(all)
}

pub fn execute(wave: &mut Wave, instruction: &Instruction, measures: Measures) -> Done {
    let Modifiers::Matrix(matrix) = instruction.modifiers else {
        return Err(Stop::Unknown);
    };
    let [to, first, second, indices] = [
        operand(instruction, 0)?,
        operand(instruction, 1)?,
        operand(instruction, 2)?,
        operand(instruction, 3)?,
    ];
    let sparse = sparse(wave, measures, matrix, [first, indices])?;
    let dense = dense(wave, measures, second)?;
    let rows = measures.rows;
    let own = measures.of_lane() / 2;
    let mut results = Vec::with_capacity(measures.results());
    for at in 0..measures.results() {
        let (column, row) = (at % measures.columns, at / measures.columns);
        let start = element(wave, to, measures.place(at), 32)?;
        // The lanes that share a row, or a column, follow each other in the sum's direction.
        let parts = sparse.chunks_exact(rows).zip(dense.chunks_exact(rows));
        let products = parts.flat_map(|(left, right)| {
            let (left, right) = (left.get(row), right.get(column));
            let pairs = left.zip(right).into_iter();
            pairs.flat_map(move |(left, right)| {
                let product = |(bits, at): &Placed| Some((*bits, *right.get(*at)?));
                left.iter().take(own).filter_map(product)
            })
        });
        results.push(sum(measures.element, start, products));
    }
    write(wave, to, measures, &results)
}
