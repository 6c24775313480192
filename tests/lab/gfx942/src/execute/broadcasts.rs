// SPDX-License-Identifier: GPL-2.0-only
//! Which blocks and lanes of its factors a matrix instruction takes, and with which signs.

use super::measures::{Element, Measures};
use crate::code::Matrix;
use crate::float::{Format, DOUBLE, SINGLE};
use crate::wave::LANES;

/// What an instruction says of its factors besides their registers.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// Each so many blocks have the first factor of one of them.
    broadcast: usize,
    block: usize,
    /// By which pattern the second factor's lanes are others.
    pattern: u8,
    /// The signs of both factors and of the addend change.
    negative: u8,
}

impl Taken {
    /// None if the instruction cannot have these modifiers.
    pub fn of(measures: &Measures, matrix: Matrix) -> Option<Self> {
        let Matrix {
            broadcast_size,
            broadcast_block,
            lane_pattern,
        } = matrix;
        let broadcast = 1 << broadcast_size;
        let block = usize::from(broadcast_block);
        let is_double = measures.element == Element::Float(DOUBLE);
        let broadcasts = broadcast == 1 || !is_double;
        if !broadcasts || broadcast > measures.blocks || block >= broadcast {
            return None;
        }
        let has_pattern = measures.blocks > 1 || measures.element == Element::Float(SINGLE);
        let (pattern, negative) = match lane_pattern {
            0 => (0, 0),
            signs if is_double => (0, signs),
            pattern if has_pattern => (pattern, 0),
            _ => return None,
        };
        Some(Self {
            broadcast,
            block,
            pattern,
            negative,
        })
    }

    /// The block whose first factor this one has.
    pub const fn first(&self, block: usize) -> usize {
        block / self.broadcast * self.broadcast + self.block
    }

    /// The lane whose part of the second factor this lane has.
    pub const fn second(&self, lane: usize) -> usize {
        match self.pattern {
            0 => lane,
            1 => lane % 32,
            2 => 32 + lane % 32,
            3 => (lane + 16) % LANES,
            row => 16 * (row as usize - 4) + lane % 16,
        }
    }

    /// The bits that change what has the sign at this one, of a factor or of the addend.
    pub fn sign(&self, format: Format, at: u8) -> u64 {
        match (self.negative >> at) & 1 {
            0 => 0,
            _ => format.sign(),
        }
    }
}
