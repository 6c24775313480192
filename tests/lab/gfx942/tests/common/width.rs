// SPDX-License-Identifier: GPL-2.0-only
//! The widths of floating point, and numbers to try them with.

use rustc_apfloat::Round;

use super::lanes::{random, IEEE};

/// The modes in the order of their two bits.
pub const ROUNDS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardPositive,
    Round::TowardNegative,
    Round::TowardZero,
];

/// MODE with this rounding for all widths, and all subnormal numbers.
pub fn rounding(number: u32) -> u32 {
    IEEE | number | (number << 2)
}

/// A width: its bits, those of its fraction, and how instructions call it.
#[derive(Clone, Copy)]
pub struct Width {
    pub bits: u32,
    pub fraction: u32,
    pub name: &'static str,
}

pub const HALF: Width = Width {
    bits: 16,
    fraction: 10,
    name: "f16",
};
pub const SINGLE: Width = Width {
    bits: 32,
    fraction: 23,
    name: "f32",
};
pub const DOUBLE: Width = Width {
    bits: 64,
    fraction: 52,
    name: "f64",
};

impl Width {
    pub const fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    pub const fn infinity(self) -> u64 {
        self.sign() - (1 << self.fraction)
    }

    pub const fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// Without subnormal numbers.
    pub const fn flushed(self, bits: u64) -> u64 {
        if bits & (self.sign() - 1) < 1 << self.fraction {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// Numbers at which operations change their behaviour, with both signs.
    pub fn boundaries(self) -> Vec<u64> {
        let one = (self.infinity() >> 1) & !((1 << self.fraction) - 1);
        let unit = 1_u64 << self.fraction;
        let some = [
            0,
            1,
            2,
            unit - 1,
            unit,
            unit + 1,
            one - unit,
            one - 1,
            one,
            one + 1,
            one + unit / 2,
            one + unit,
            one + 3 * unit + 5,
            one + u64::from(self.fraction) * unit + 1,
            self.infinity() - 1,
            self.infinity(),
            self.infinity() + unit / 2 + 1,
        ];
        some.into_iter()
            .flat_map(|bits| [bits, bits | self.sign()])
            .collect()
    }

    /// Boundaries with each other, with numbers near them, and random bits.
    pub fn triples(self) -> Vec<[u64; 3]> {
        let some = self.boundaries();
        let mut others = random(17).map(|bits| bits & self.ones());
        let mut triples = Vec::new();
        for first in &some {
            for second in &some {
                let third = some[triples.len() * 7 % some.len()];
                triples.push([*first, *second, third]);
            }
        }
        for at in 0..800 {
            let mut other = || others.next().unwrap();
            let [first, second, third] = [other(), other(), other()];
            // Every other one has exponents near each other, so that digits cancel.
            triples.push(match at % 2 {
                0 => [first, second, third],
                _ => [
                    first,
                    first ^ (second & 0xff) ^ self.sign(),
                    first ^ (third & 0xf),
                ],
            });
        }
        triples
    }

    #[track_caller]
    pub fn check(self, what: &str, sources: &[[u64; 3]], found: &[u64], expected: &[u64]) {
        for ((sources, found), expected) in sources.iter().zip(found).zip(expected) {
            let found = found & self.ones();
            assert!(
                found == *expected || self.is_nan(found) && self.is_nan(*expected),
                "{what}_{} of {sources:x?}: {found:#x}, not {expected:#x}",
                self.name
            );
        }
    }
}
