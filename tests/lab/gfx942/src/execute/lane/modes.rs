// SPDX-License-Identifier: GPL-2.0-only
//! How floating point is calculated: what MODE says of it.

use crate::float::{round, Format, Number, Rounding, HALF, SINGLE};
use crate::wave::{HardwareRegister, Wave};

const DX10_CLAMP: u32 = 1 << 8;
const IEEE: u32 = 1 << 9;
const LIMITS_OVERFLOW: u32 = 1 << 23;
/// From where the two bits of rounding and of subnormal numbers are, for singles and
/// for all other formats.
const ROUNDING: [u32; 2] = [0, 2];
const SUBNORMALS: [u32; 2] = [4, 6];

#[derive(Clone, Copy, Debug, Default)]
pub struct Modes(u32);

impl Modes {
    pub fn of(wave: &Wave) -> Self {
        Self(wave.hardware(HardwareRegister::Mode))
    }

    fn bits(self, fields: [u32; 2], format: Format) -> u32 {
        let [single, other] = fields;
        let from = if format == SINGLE { single } else { other };
        (self.0 >> from) & 3
    }

    pub fn rounding(self, format: Format) -> Rounding {
        Rounding::of(self.bits(ROUNDING, format))
    }

    /// Sources and results may be subnormal.
    pub fn keeps_subnormals(self, format: Format) -> bool {
        self.bits(SUBNORMALS, format) == 3
    }

    pub fn keeps_subnormal_results(self, format: Format) -> bool {
        self.bits(SUBNORMALS, format) & 2 != 0
    }

    /// Whether a limit makes zero of what is no number.
    pub const fn clamps_nan(self) -> bool {
        self.0 & DX10_CLAMP != 0
    }

    pub const fn is_ieee(self) -> bool {
        self.0 & IEEE != 0
    }

    /// Whether what is too large for 16 or 8 bits becomes the largest number that is not.
    pub const fn limits_overflow(self) -> bool {
        self.0 & LIMITS_OVERFLOW != 0
    }

    /// A source; without subnormal numbers it is zero if it is one.
    pub fn input(self, format: Format, bits: u64) -> u64 {
        let keeps = self.bits(SUBNORMALS, format) & 1 != 0;
        if !keeps && format.is_subnormal(bits) {
            bits & format.sign()
        } else {
            bits
        }
    }

    pub fn unpack(self, format: Format, bits: u64) -> Number {
        format.unpack(self.input(format, bits))
    }

    /// A result that has the format already.
    pub fn output(self, format: Format, bits: u64) -> u64 {
        if !self.keeps_subnormal_results(format) && format.is_subnormal(bits) {
            bits & format.sign()
        } else {
            bits
        }
    }

    pub fn round(self, format: Format, number: Number) -> u64 {
        let bits = round(number, format, self.rounding(format));
        let is_limited = format == HALF && self.limits_overflow() && number.is_finite();
        if is_limited && format.is_infinite(bits) {
            return bits - 1;
        }
        self.output(format, bits)
    }
}
