// SPDX-License-Identifier: GPL-2.0-only
//! Floating point of eight bits, as the MI300 has it: without infinities and without minus
//! zero, whose bits are what is no number.

use super::round::{last_bit, magnitude};
use super::{Number, Rounding};

/// How many bits of eight are the fraction; the exponent has the others but one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eight {
    fraction: u32,
}

/// What instructions call `fp8`, and `bf8`.
pub const FP8: Eight = Eight { fraction: 3 };
pub const BF8: Eight = Eight { fraction: 2 };

const NONE: u8 = 0x80;
const LARGEST: u8 = 0x7f;

const fn sign(negative: bool) -> u8 {
    if negative {
        NONE
    } else {
        0
    }
}

impl Eight {
    /// The exponent of the last bit of the smallest numbers.
    const fn least(self) -> i32 {
        let bias = 1 << (6 - self.fraction);
        1 - bias - self.fraction as i32
    }

    pub fn unpack(self, bits: u8) -> Number {
        if bits == NONE {
            return Number::INVALID;
        }
        let magnitude = u32::from(bits & LARGEST);
        let (biased, fraction) = (magnitude >> self.fraction, magnitude % (1 << self.fraction));
        let implicit = u32::from(biased != 0) << self.fraction;
        Number::Finite {
            negative: bits & NONE != 0,
            exponent: self.least() + biased.max(1) as i32 - 1,
            significand: (fraction | implicit).into(),
        }
    }

    /// The nearest number, the even one of two. Beyond the largest there is none, or it is
    /// the largest if that is wanted.
    pub fn round(self, number: Number, limits: bool) -> u8 {
        self.rounded(number, limits, Rounding::Even)
    }

    /// One of the two numbers between which a number lies: the one that is nearer to zero,
    /// unless the number's distance from it and the random bits, both as parts of the gap, add
    /// up to the whole gap.
    pub fn round_at_random(self, number: Number, random: u32, limits: bool) -> u8 {
        let more = match number {
            Number::Finite {
                negative,
                exponent,
                significand: significand @ 1..,
            } => Number::Finite {
                negative,
                exponent: last_bit((self.fraction, self.least()), (exponent, significand)) as i32
                    - 32,
                significand: random.into(),
            },
            _ => return self.round(number, limits),
        };
        self.rounded(number.plus(more, false), limits, Rounding::Zero)
    }

    fn rounded(self, number: Number, limits: bool, rounding: Rounding) -> u8 {
        let Number::Finite {
            negative,
            exponent,
            significand,
        } = number
        else {
            return match number.is_nan() || !limits {
                true => NONE,
                false => LARGEST | sign(number.is_negative()),
            };
        };
        let fields = (self.fraction, self.least());
        let number = (exponent, significand);
        match u8::try_from(magnitude(fields, number, negative, rounding)) {
            _ if significand == 0 => 0,
            Ok(0) => 0,
            Ok(magnitude) if magnitude <= LARGEST => magnitude | sign(negative),
            _ if limits => LARGEST | sign(negative),
            _ => NONE,
        }
    }
}
