// SPDX-License-Identifier: GPL-2.0-only
//! Instructions on pairs of numbers: each half of the result by the rule of a single
//! instruction, sums of products, and mixtures of halves and singles.

use super::modes::Modes;
use super::value::{Output, Value};
use super::{Inputs, Task};
use crate::code::{Operation, Pairs};
use crate::float::{Number, Rounding, HALF, SINGLE};

/// What an instruction does with its pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// The same for both halves, of 16 or of 32 bits.
    Each {
        single: Operation,
        bits: u32,
    },
    /// The sum of the products of so many parts, and the third source.
    Products {
        count: u32,
        signed: bool,
    },
    FloatProducts,
    /// Sources are halves or singles, and the result is one of them.
    Mixed {
        half: Option<bool>,
    },
    /// A part of either source.
    Move,
}

impl Pair {
    pub fn of(operation: Operation) -> Option<Self> {
        use Operation as Of;
        let each = |single, bits| Self::Each { single, bits };
        let products = |count, signed| Self::Products { count, signed };
        Some(match operation {
            Of::v_pk_mad_i16 => each(Of::v_mad_i16, 16),
            Of::v_pk_mad_u16 => each(Of::v_mad_u16, 16),
            Of::v_pk_mul_lo_u16 => each(Of::v_mul_lo_u16, 16),
            Of::v_pk_add_i16 => each(Of::v_add_i16, 16),
            Of::v_pk_sub_i16 => each(Of::v_sub_i16, 16),
            Of::v_pk_add_u16 => each(Of::v_add_u16, 16),
            Of::v_pk_sub_u16 => each(Of::v_sub_u16, 16),
            Of::v_pk_lshlrev_b16 => each(Of::v_lshlrev_b16, 16),
            Of::v_pk_lshrrev_b16 => each(Of::v_lshrrev_b16, 16),
            Of::v_pk_ashrrev_i16 => each(Of::v_ashrrev_i16, 16),
            Of::v_pk_max_i16 => each(Of::v_max_i16, 16),
            Of::v_pk_min_i16 => each(Of::v_min_i16, 16),
            Of::v_pk_max_u16 => each(Of::v_max_u16, 16),
            Of::v_pk_min_u16 => each(Of::v_min_u16, 16),
            Of::v_pk_fma_f16 => each(Of::v_fma_f16, 16),
            Of::v_pk_add_f16 => each(Of::v_add_f16, 16),
            Of::v_pk_mul_f16 => each(Of::v_mul_f16, 16),
            Of::v_pk_min_f16 => each(Of::v_min_f16, 16),
            Of::v_pk_max_f16 => each(Of::v_max_f16, 16),
            Of::v_pk_fma_f32 => each(Of::v_fma_f32, 32),
            Of::v_pk_mul_f32 => each(Of::v_mul_f32, 32),
            Of::v_pk_add_f32 => each(Of::v_add_f32, 32),
            Of::v_dot2_i32_i16 => products(2, true),
            Of::v_dot2_u32_u16 => products(2, false),
            Of::v_dot4_i32_i8 => products(4, true),
            Of::v_dot4_u32_u8 => products(4, false),
            Of::v_dot8_i32_i4 => products(8, true),
            Of::v_dot8_u32_u4 => products(8, false),
            Of::v_dot2_f32_f16 => Self::FloatProducts,
            Of::v_fma_mix_f32 => Self::Mixed { half: None },
            Of::v_fma_mixlo_f16 => Self::Mixed { half: Some(false) },
            Of::v_fma_mixhi_f16 => Self::Mixed { half: Some(true) },
            Of::v_pk_mov_b32 => Self::Move,
            _ => return None,
        })
    }

    /// What an instruction of the short encodings does that adds to its destination.
    pub fn of_accumulating(operation: Operation) -> Option<Self> {
        Self::of(match operation {
            Operation::v_dot2c_f32_f16 => Operation::v_dot2_f32_f16,
            Operation::v_dot2c_i32_i16 => Operation::v_dot2_i32_i16,
            Operation::v_dot4c_i32_i8 => Operation::v_dot4_i32_i8,
            Operation::v_dot8c_i32_i4 => Operation::v_dot8_i32_i4,
            Operation::v_pk_fmac_f16 => Operation::v_pk_fma_f16,
            _ => return None,
        })
    }

    /// Whether constants are meant as numbers of 16 bits.
    pub const fn has_halves(self) -> bool {
        matches!(
            self,
            Self::Each { bits: 16, .. } | Self::FloatProducts | Self::Products { count: 2, .. }
        )
    }

    /// The bits of the result; `old` is what the destination has.
    pub fn evaluate(
        self,
        sources: [u64; 3],
        old: u64,
        pairs: &Pairs,
        modes: &Modes,
    ) -> Option<u64> {
        match self {
            Self::Each { single, bits } => each(single, bits, sources, pairs, modes),
            Self::Products { count, signed } => products(count, signed, sources, pairs),
            Self::FloatProducts => float_products(sources, pairs, modes),
            Self::Mixed { half } => mixed(half, sources, old as u32, pairs, modes),
            Self::Move => {
                let part = |at: usize| {
                    let value = sources.get(at).copied().unwrap_or(0);
                    let upper = has(pairs.select_low, at);
                    if upper {
                        value >> 32
                    } else {
                        value & 0xffff_ffff
                    }
                };
                Some(part(0) | (part(1) << 32))
            }
        }
    }
}

fn has(mask: u8, at: usize) -> bool {
    (mask >> at) & 1 != 0
}

/// One half of each source, with its sign as the instruction wants it. Integers have
/// no sign bit to change.
fn halves(sources: [u64; 3], bits: u32, is_float: bool, (select, negative): (u8, u8)) -> [u64; 3] {
    let mut parts = sources;
    for (at, part) in parts.iter_mut().enumerate() {
        let value = if has(select, at) {
            *part >> bits
        } else {
            *part
        };
        let changes = is_float && has(negative, at);
        let sign = u64::from(changes) << (bits - 1);
        *part = (value & ((1 << bits) - 1)) ^ sign;
    }
    parts
}

fn each(
    single: Operation,
    bits: u32,
    sources: [u64; 3],
    pairs: &Pairs,
    modes: &Modes,
) -> Option<u64> {
    let name = single.name();
    let is_float = name.ends_with("_f16") || name.ends_with("_f32");
    let task = Task::new(single, 3);
    let result = |chosen: (u8, u8)| {
        let [first, second, third] = halves(sources, bits, is_float, chosen);
        let inputs = Inputs {
            first,
            second,
            third,
            ..Inputs::default()
        };
        let output: Output = task.evaluate(&inputs, modes)?;
        output.value.finished(pairs.clamp, 0, modes)
    };
    let lower = result((pairs.select_low, pairs.negative_low))?;
    let upper = result((pairs.select_high, pairs.negative_high))?;
    Some(lower | (upper << bits))
}

fn products(count: u32, signed: bool, sources: [u64; 3], pairs: &Pairs) -> Option<u64> {
    let bits = 32 / count;
    let part = |source: usize, at: u32| {
        let value = sources.get(source).copied().unwrap_or(0) as u32;
        // Only the halves of a pair can be chosen.
        let at = match (count, at) {
            (2, 0) => u32::from(has(pairs.select_low, source)),
            (2, _) => u32::from(has(pairs.select_high, source)),
            _ => at,
        };
        let moved = value << (32 - bits * (at + 1));
        if signed {
            i128::from(moved as i32 >> (32 - bits))
        } else {
            i128::from(moved >> (32 - bits))
        }
    };
    let third = sources[2] as u32;
    let start = if signed {
        i128::from(third as i32)
    } else {
        i128::from(third)
    };
    let value = (0..count).fold(start, |sum, at| sum + part(0, at) * part(1, at));
    let result = Value::Exact {
        value,
        bits: 32,
        signed,
    };
    result.finished(pairs.clamp, 0, &Modes::default())
}

fn float_products(sources: [u64; 3], pairs: &Pairs, modes: &Modes) -> Option<u64> {
    let lower = halves(sources, 16, true, (pairs.select_low, pairs.negative_low));
    let upper = halves(sources, 16, true, (pairs.select_high, pairs.negative_high));
    let half = |bits| modes.unpack(HALF, bits);
    let sign = u64::from(has(pairs.negative_low, 2)) << 31;
    let third = modes.unpack(SINGLE, (sources[2] & 0xffff_ffff) ^ sign);
    let downward = modes.rounding(SINGLE) == Rounding::Down;
    let add = |first: Number, second: Number, third: Number| {
        let sum = Number::fused(first, second, third, downward);
        modes.round(SINGLE, sum)
    };
    let first = add(half(lower[0]), half(lower[1]), third);
    let both = add(half(upper[0]), half(upper[1]), SINGLE.unpack(first));
    Value::Float(SINGLE, both).finished(pairs.clamp, 0, modes)
}

fn mixed(
    half: Option<bool>,
    sources: [u64; 3],
    old: u32,
    pairs: &Pairs,
    modes: &Modes,
) -> Option<u64> {
    let number = |at: usize| {
        let value = sources.get(at).copied().unwrap_or(0);
        let (format, bits) = match (has(pairs.select_high, at), has(pairs.select_low, at)) {
            (true, false) => (HALF, value & 0xffff),
            (true, true) => (HALF, (value >> 16) & 0xffff),
            (false, _) => (SINGLE, value & 0xffff_ffff),
        };
        // What is the upper sign elsewhere is the magnitude here.
        let bits = match has(pairs.negative_high, at) {
            true => format.magnitude(bits),
            false => bits,
        };
        let bits = match has(pairs.negative_low, at) {
            true => bits ^ format.sign(),
            false => bits,
        };
        modes.unpack(format, bits)
    };
    let downward = modes.rounding(SINGLE) == Rounding::Down;
    let sum = Number::fused(number(0), number(1), number(2), downward);
    // The result is a single, which becomes a half after that.
    let single = modes.round(SINGLE, sum);
    let result = match half {
        None => Value::Float(SINGLE, single),
        Some(_) => Value::Float(HALF, modes.round(HALF, modes.unpack(SINGLE, single))),
    };
    let value = result.finished(pairs.clamp, 0, modes)? as u32;
    Some(u64::from(match half {
        None => value,
        Some(false) => old & 0xffff_0000 | value,
        Some(true) => old & 0xffff | (value << 16),
    }))
}
