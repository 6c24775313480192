// SPDX-License-Identifier: GPL-2.0-only
//! Reading, changing and writing at once, lane by lane. No other wave comes between, since
//! one instruction of one wave is done before the next begins; whoever else uses the memory
//! is kept out by it ([`Memory::change`]).

use super::super::registers::{lanes, read_dword, write_dwords};
use super::super::{Done, Stop};
use super::place::Place;
use crate::code::Operand;
use crate::float::{round, Format, Rounding, BRAIN, DOUBLE, HALF, SINGLE};
use crate::wave::{Memory, Wave, LANES};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Swap,
    CompareSwap,
    CompareSwapFloat,
    Add,
    Subtract,
    SubtractFrom,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
    MaskOr,
    AddFloat,
    MinFloat,
    MaxFloat,
    AddPair(Format),
}

fn single_or_double(bytes: u8) -> Format {
    match bytes {
        8 => DOUBLE,
        _ => SINGLE,
    }
}

fn extended(value: u64, bytes: u8) -> i64 {
    match bytes {
        8 => value as i64,
        _ => (value as u32 as i32).into(),
    }
}

fn sum(format: Format, first: u64, second: u64) -> u64 {
    let sum = format.unpack(first).plus(format.unpack(second), false);
    round(sum, format, Rounding::Even)
}

/// The smaller or the larger of two numbers; one that is none loses.
fn extreme(format: Format, first: u64, second: u64, larger: bool) -> u64 {
    let ordered = |bits: u64| {
        let magnitude = format.magnitude(bits) as i64;
        if format.is_negative(bits) {
            -1 - magnitude
        } else {
            magnitude
        }
    };
    if format.is_nan(first) || format.is_nan(second) {
        let chosen = if format.is_nan(first) { second } else { first };
        return if format.is_nan(chosen) {
            format.quiet(chosen)
        } else {
            chosen
        };
    }
    if (ordered(first) > ordered(second)) == larger {
        first
    } else {
        second
    }
}

impl Change {
    /// The change that a name says behind `atomic_`, and how many bytes it is about.
    pub fn of(name: &str) -> Option<(Self, u8)> {
        let (name, bytes) = match name.strip_suffix("_x2") {
            Some(name) => (name, 8),
            None => (name, 4),
        };
        let change = match name {
            "swap" => Self::Swap,
            "cmpswap" => Self::CompareSwap,
            "add" => Self::Add,
            "sub" => Self::Subtract,
            "smin" => Self::MinSigned,
            "umin" => Self::MinUnsigned,
            "smax" => Self::MaxSigned,
            "umax" => Self::MaxUnsigned,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "inc" => Self::Increment,
            "dec" => Self::Decrement,
            "add_f32" => Self::AddFloat,
            "pk_add_f16" => Self::AddPair(HALF),
            "pk_add_bf16" => Self::AddPair(BRAIN),
            "add_f64" => return Some((Self::AddFloat, 8)),
            "min_f64" => return Some((Self::MinFloat, 8)),
            "max_f64" => return Some((Self::MaxFloat, 8)),
            _ => return None,
        };
        Some((change, bytes))
    }

    /// The same for the local share, behind `ds_` and without what says that the old
    /// value is wanted.
    pub fn of_share(name: &str) -> Option<(Self, u8)> {
        let (rest, of) = name.rsplit_once('_')?;
        let bytes = match of {
            "u32" | "i32" | "b32" | "f32" | "f16" | "bf16" => 4,
            "u64" | "i64" | "b64" | "f64" => 8,
            _ => return None,
        };
        let change = match (rest, of) {
            ("wrxchg", _) => Self::Swap,
            ("cmpst", "f32" | "f64") => Self::CompareSwapFloat,
            ("cmpst", _) => Self::CompareSwap,
            ("mskor", _) => Self::MaskOr,
            ("rsub", _) => Self::SubtractFrom,
            ("pk_add", "f16") => Self::AddPair(HALF),
            ("pk_add", "bf16") => Self::AddPair(BRAIN),
            ("add", "f32" | "f64") => Self::AddFloat,
            ("min", "f32" | "f64") => Self::MinFloat,
            ("max", "f32" | "f64") => Self::MaxFloat,
            ("min", "i32" | "i64") => Self::MinSigned,
            ("max", "i32" | "i64") => Self::MaxSigned,
            ("min", _) => Self::MinUnsigned,
            ("max", _) => Self::MaxUnsigned,
            ("add" | "sub" | "inc" | "dec" | "and" | "or" | "xor", _) => Self::of(rest)?.0,
            _ => return None,
        };
        Some((change, bytes))
    }

    /// What becomes of `old` by `data`, and by `other` where two numbers are needed.
    fn apply(self, bytes: u8, old: u64, data: u64, other: u64) -> u64 {
        let format = single_or_double(bytes);
        let (left, right) = (extended(old, bytes), extended(data, bytes));
        match self {
            Self::Swap => data,
            Self::CompareSwap if old == other => data,
            Self::CompareSwapFloat
                if !format.is_nan(old)
                    && (old == other || format.is_zero(old) && format.is_zero(other)) =>
            {
                data
            }
            Self::CompareSwap | Self::CompareSwapFloat => old,
            Self::Add => old.wrapping_add(data),
            Self::Subtract => old.wrapping_sub(data),
            Self::SubtractFrom => data.wrapping_sub(old),
            Self::MinSigned => left.min(right) as u64,
            Self::MaxSigned => left.max(right) as u64,
            Self::MinUnsigned => old.min(data),
            Self::MaxUnsigned => old.max(data),
            Self::And => old & data,
            Self::Or => old | data,
            Self::Xor => old ^ data,
            Self::Increment if old >= data => 0,
            Self::Increment => old.wrapping_add(1),
            Self::Decrement if old == 0 || old > data => data,
            Self::Decrement => old.wrapping_sub(1),
            Self::MaskOr => old & !data | other,
            Self::AddFloat => sum(format, old, data),
            Self::MinFloat => extreme(format, old, data, false),
            Self::MaxFloat => extreme(format, old, data, true),
            Self::AddPair(half) => {
                let lower = sum(half, old & 0xffff, data & 0xffff);
                let upper = sum(half, (old >> 16) & 0xffff, (data >> 16) & 0xffff);
                (upper << 16) | lower
            }
        }
    }
}

/// The registers of an atomic instruction.
#[derive(Clone, Copy)]
pub struct Words {
    pub to: Option<Operand>,
    pub data: Operand,
    /// The operand with the second number, and where in it that begins.
    pub other: Option<(Operand, u8)>,
}

fn number(wave: &Wave, of: Operand, lane: usize, from: u8, bytes: u8) -> Result<u64, Stop> {
    let lower = read_dword(wave, of, lane, from)?;
    let upper = match bytes {
        8 => read_dword(wave, of, lane, from + 1)?,
        _ => 0,
    };
    Ok(u64::from(lower) | (u64::from(upper) << 32))
}

pub fn execute(
    wave: &mut Wave,
    memory: &mut impl Memory,
    (change, bytes): (Change, u8),
    words: Words,
    place: impl Fn(&Wave, usize) -> Result<Place, Stop>,
) -> Done {
    let two = matches!(
        change,
        Change::CompareSwap | Change::CompareSwapFloat | Change::MaskOr
    );
    // All or none: what faults may be executed again.
    for lane in lanes(wave) {
        place(wave, lane)?.probe(memory, bytes.into())?;
    }
    let mut results = [None; LANES];
    for lane in lanes(wave) {
        let data = number(wave, words.data, lane, 0, bytes)?;
        let other = match words.other {
            Some((of, from)) if two => number(wave, of, lane, from, bytes)?,
            _ => 0,
        };
        let mut apply = |old| change.apply(bytes, old, data, other);
        let value = place(wave, lane)?.change(memory, bytes, &mut apply)?;
        if let Some(result) = results.get_mut(lane) {
            *result = Some([value as u32, (value >> 32) as u32, 0, 0]);
        }
    }
    match words.to {
        Some(to) => write_dwords(wave, to, &results),
        None => Ok(crate::wave::Outcome::Next),
    }
}
