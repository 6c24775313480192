// SPDX-License-Identifier: GPL-2.0-only
//! The vector and accumulation registers of one lane, dword by dword.

use super::{Done, Stop};
use crate::code::Operand;
use crate::wave::{Outcome, Wave, LANES};

/// What one lane of a memory access moves.
pub type Dwords = [u32; 4];

/// The lanes that EXEC has, in their order.
pub fn lanes(wave: &Wave) -> impl Iterator<Item = usize> {
    let exec = wave.exec();
    (0..LANES).filter(move |lane| (exec >> lane) & 1 != 0)
}

/// One dword of a vector or accumulation operand.
pub fn read_dword(wave: &Wave, operand: Operand, lane: usize, at: u8) -> Result<u32, Stop> {
    match operand {
        Operand::Vector { first, dwords } if at < dwords => {
            Ok(wave.vector(first.saturating_add(at), lane))
        }
        Operand::Accumulation { first, dwords } if at < dwords => {
            Ok(wave.accumulator(first.saturating_add(at), lane))
        }
        _ => Err(Stop::Unknown),
    }
}

pub fn write_dword(wave: &mut Wave, operand: Operand, lane: usize, at: u8, value: u32) {
    match operand {
        Operand::Vector { first, .. } => wave.set_vector(first.saturating_add(at), lane, value),
        Operand::Accumulation { first, .. } => {
            wave.set_accumulator(first.saturating_add(at), lane, value);
        }
        _ => (),
    }
}

/// Puts results into all dwords of an operand, for the lanes that have one.
pub fn write_dwords(wave: &mut Wave, to: Operand, results: &[Option<Dwords>; LANES]) -> Done {
    let dwords = match to {
        Operand::Vector { dwords, .. } | Operand::Accumulation { dwords, .. } => dwords,
        _ => return Err(Stop::Unknown),
    };
    for (lane, result) in results.iter().enumerate() {
        let values = result.iter().flatten();
        for (at, value) in (0..dwords).zip(values) {
            write_dword(wave, to, lane, at, *value);
        }
    }
    Ok(Outcome::Next)
}
