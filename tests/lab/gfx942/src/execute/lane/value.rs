// SPDX-License-Identifier: GPL-2.0-only
//! One lane's result, before it is limited and written.

use super::modes::Modes;
use crate::float::Format;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Bits8(u8),
    Bits16(u16),
    Bits32(u32),
    Bits64(u64),
    Float(Format, u64),
    /// An integer before it is cut to its bits, or limited to what they can have.
    Exact {
        value: i128,
        bits: u32,
        signed: bool,
    },
}

/// A result, and what the lane gets in the mask that some instructions write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    pub value: Value,
    pub flag: Option<bool>,
}

impl From<Value> for Output {
    fn from(value: Value) -> Self {
        Self { value, flag: None }
    }
}

/// The number times two to the power of `by`, as the result of an instruction.
fn multiplied(format: Format, bits: u64, by: i32, modes: &Modes) -> u64 {
    let scaled = modes.round(format, format.unpack(bits).scaled(by));
    // A multiplied zero has no sign.
    if format.is_zero(scaled) {
        0
    } else {
        scaled
    }
}

fn limited(format: Format, bits: u64, modes: &Modes) -> u64 {
    let one = (format.bias() as u64) << format.fraction;
    if format.is_nan(bits) {
        return if modes.clamps_nan() { 0 } else { bits };
    }
    if format.is_negative(bits) {
        0
    } else {
        bits.min(one)
    }
}

impl Value {
    /// How many bits the result has.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits8(_) => 8,
            Self::Bits16(_) => 16,
            Self::Bits32(_) => 32,
            Self::Bits64(_) => 64,
            Self::Float(format, _) => 1 + format.exponent + format.fraction,
            Self::Exact { bits, .. } => bits,
        }
    }

    /// The bits to write; none if this kind of result cannot be so modified.
    pub fn finished(self, clamp: bool, multiplier: u8, modes: &Modes) -> Option<u64> {
        match self {
            Self::Float(format, bits) => {
                // Multiplying is for those who do without subnormal numbers.
                let by = match multiplier {
                    _ if modes.keeps_subnormal_results(format) || modes.is_ieee() => 0,
                    1 => 1,
                    2 => 2,
                    3 => -1,
                    _ => 0,
                };
                let bits = if by == 0 {
                    bits
                } else {
                    multiplied(format, bits, by, modes)
                };
                Some(if clamp {
                    limited(format, bits, modes)
                } else {
                    bits
                })
            }
            _ if multiplier != 0 => None,
            Self::Exact {
                value,
                bits,
                signed,
            } => {
                let (least, most) = if signed {
                    (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
                } else {
                    (0, (1_i128 << bits) - 1)
                };
                let kept = if clamp {
                    value.clamp(least, most)
                } else {
                    value
                };
                Some((kept & ((1_i128 << bits) - 1)) as u64)
            }
            _ if clamp => None,
            Self::Bits8(bits) => Some(bits.into()),
            Self::Bits16(bits) => Some(bits.into()),
            Self::Bits32(bits) => Some(bits.into()),
            Self::Bits64(bits) => Some(bits),
        }
    }
}
