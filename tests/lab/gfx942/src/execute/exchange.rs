// SPDX-License-Identifier: GPL-2.0-only
//! From which lane a lane takes its first source.

use crate::code::{Exchange, Lanes};
use crate::wave::{Wave, LANES};

/// How many lanes a row has, and a bank.
const ROW: usize = 16;
const BANK: usize = 4;

/// The other lane, if there is one.
fn partner(exchange: Exchange, lane: usize) -> Option<usize> {
    let (row, within) = (lane / ROW * ROW, lane % ROW);
    let in_row = |at: Option<usize>| at.filter(|at| *at < ROW).map(|at| row + at);
    let in_wave = |at: Option<usize>| at.filter(|at| *at < LANES);
    match exchange {
        Exchange::QuadPermutation(lanes) => {
            let to = lanes.get(lane % 4).copied().unwrap_or(0);
            Some(lane / 4 * 4 + usize::from(to & 3))
        }
        Exchange::RowShiftLeft(by) => in_row(within.checked_add(by.into())),
        Exchange::RowShiftRight(by) => in_row(within.checked_sub(by.into())),
        Exchange::RowRotateRight(by) => Some(row + (within + ROW - usize::from(by) % ROW) % ROW),
        Exchange::WaveShiftLeft => in_wave(lane.checked_add(1)),
        Exchange::WaveRotateLeft => Some((lane + 1) % LANES),
        Exchange::WaveShiftRight => in_wave(lane.checked_sub(1)),
        Exchange::WaveRotateRight => Some((lane + LANES - 1) % LANES),
        Exchange::RowMirror => Some(row + ROW - 1 - within),
        Exchange::RowHalfMirror => Some(lane / 8 * 8 + 7 - lane % 8),
        // The last lane of the row before, and of the half before.
        Exchange::RowBroadcast15 => row.checked_sub(1),
        Exchange::RowBroadcast31 => (lane / 32 * 32).checked_sub(1),
        Exchange::RowBroadcast(from) => in_row(Some(from.into())),
    }
}

/// What a lane does.
pub enum Taken {
    /// It takes its first source from this lane.
    From(usize),
    /// It takes zero.
    Zero,
    /// It keeps what it has.
    Nothing,
}

pub fn taken(wave: &Wave, lanes: &Lanes, lane: usize) -> Taken {
    let has = |mask: u8, at: usize| (mask >> at) & 1 != 0;
    if !has(lanes.row_mask, lane / ROW) || !has(lanes.bank_mask, lane % ROW / BANK) {
        return Taken::Nothing;
    }
    let from = partner(lanes.exchange, lane).filter(|from| wave.is_active(*from));
    match from {
        Some(from) => Taken::From(from),
        None if lanes.zero_outside => Taken::Zero,
        None => Taken::Nothing,
    }
}
