// SPDX-License-Identifier: GPL-2.0-only
//! The formats of floating point numbers, and what their bits say.

use super::number::{Number, QUIET};

/// A binary format: how many bits its exponent and its fraction have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub exponent: u32,
    pub fraction: u32,
}

pub const HALF: Format = Format {
    exponent: 5,
    fraction: 10,
};
/// The upper half of a single.
pub const BRAIN: Format = Format {
    exponent: 8,
    fraction: 7,
};
pub const SINGLE: Format = Format {
    exponent: 8,
    fraction: 23,
};
pub const DOUBLE: Format = Format {
    exponent: 11,
    fraction: 52,
};

impl Format {
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The exponent of the last bit of the smallest numbers.
    pub const fn least(self) -> i32 {
        1 - self.bias() - self.fraction as i32
    }

    pub const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    pub const fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    pub const fn is_signaling(self, bits: u64) -> bool {
        self.is_nan(bits) && bits & (1 << (self.fraction - 1)) == 0
    }

    pub const fn is_infinite(self, bits: u64) -> bool {
        self.magnitude(bits) == self.infinity()
    }

    pub const fn is_zero(self, bits: u64) -> bool {
        self.magnitude(bits) == 0
    }

    pub const fn is_subnormal(self, bits: u64) -> bool {
        !self.is_zero(bits) && self.magnitude(bits) < 1 << self.fraction
    }

    /// The field of the exponent, with its bias.
    pub const fn biased(self, bits: u64) -> i32 {
        (self.magnitude(bits) >> self.fraction) as i32
    }

    /// Without a quiet bit a number that is none asks for attention; this one does not.
    pub const fn quiet(self, bits: u64) -> u64 {
        bits | (1 << (self.fraction - 1))
    }

    /// The number that these bits are.
    pub fn unpack(self, bits: u64) -> Number {
        let negative = self.is_negative(bits);
        let fraction = bits & ((1 << self.fraction) - 1);
        if self.is_nan(bits) {
            let payload = fraction << (QUIET.trailing_zeros() + 1 - self.fraction);
            return Number::Nan { negative, payload };
        }
        if self.is_infinite(bits) {
            return Number::Infinite { negative };
        }
        let biased = self.biased(bits);
        let implicit = u64::from(biased != 0) << self.fraction;
        Number::Finite {
            negative,
            exponent: biased.max(1) - 1 + self.least(),
            significand: (fraction | implicit).into(),
        }
    }
}
