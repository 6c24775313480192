// SPDX-License-Identifier: GPL-2.0-only
//! Floating point operations that do the same in every format.

use std::cmp::Ordering;

use super::cube::Cube;
use super::division;
use super::modes::Modes;
use super::reduction;
use super::special::{self, Function};
use super::value::{Output, Value};
use super::Inputs;
use crate::code::Operation;
use crate::float::{round, whole, Format, Number, Rounding, DOUBLE, HALF, SINGLE};

/// What an operation does, whatever its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Add,
    Subtract,
    SubtractFrom,
    Multiply,
    /// Zero times anything is zero.
    MultiplyLegacy,
    Fused,
    /// The product is rounded before the third number is added.
    Separate,
    Minimum,
    Maximum,
    Minimum3,
    Maximum3,
    Median,
    Whole(Rounding),
    Fraction,
    Mantissa,
    Exponent,
    Scale,
    Function(Function),
    DivisionScale,
    DivisionFused,
    DivisionFixup,
    Cube(Cube),
    /// A part of two over pi.
    Reduction,
}

impl Rule {
    pub fn of(operation: Operation) -> Option<(Self, Format)> {
        let name = operation.name().strip_prefix("v_")?;
        let (stem, of) = name.rsplit_once('_')?;
        let format = match of {
            "f16" => HALF,
            "f32" => SINGLE,
            "f64" => DOUBLE,
            _ => return None,
        };
        let rule = match stem {
            "add" => Self::Add,
            "sub" => Self::Subtract,
            "subrev" => Self::SubtractFrom,
            "mul" => Self::Multiply,
            "mul_legacy" => Self::MultiplyLegacy,
            "fma" | "fmac" | "fmamk" | "fmaak" | "fma_legacy" => Self::Fused,
            "mad" | "mac" | "madmk" | "madak" | "mad_legacy" => Self::Separate,
            "min" => Self::Minimum,
            "max" => Self::Maximum,
            "min3" => Self::Minimum3,
            "max3" => Self::Maximum3,
            "med3" => Self::Median,
            "trunc" => Self::Whole(Rounding::Zero),
            "ceil" => Self::Whole(Rounding::Up),
            "floor" => Self::Whole(Rounding::Down),
            "rndne" => Self::Whole(Rounding::Even),
            "fract" => Self::Fraction,
            "frexp_mant" => Self::Mantissa,
            "frexp_exp_i32" | "frexp_exp_i16" => Self::Exponent,
            "ldexp" => Self::Scale,
            "div_scale" => Self::DivisionScale,
            "div_fmas" => Self::DivisionFused,
            "div_fixup" | "div_fixup_legacy" => Self::DivisionFixup,
            "trig_preop" => Self::Reduction,
            _ => match Cube::of(stem) {
                Some(cube) => Self::Cube(cube),
                None => Self::Function(Function::of(stem)?),
            },
        };
        Some((rule, format))
    }

    pub fn evaluate(self, format: Format, inputs: &Inputs, modes: &Modes) -> Option<Output> {
        let [a, b, c] =
            [inputs.first, inputs.second, inputs.third].map(|bits| modes.input(format, bits));
        let [x, y, z] = [a, b, c].map(|bits| format.unpack(bits));
        let downward = modes.rounding(format) == Rounding::Down;
        let rounded = |number: Number| Value::Float(format, modes.round(format, number));
        let bits = |bits: u64| Value::Float(format, modes.output(format, bits));
        let value = match self {
            Self::Add => rounded(x.plus(y, downward)),
            Self::Subtract => rounded(x.plus(y.negated_number(), downward)),
            Self::SubtractFrom => rounded(y.plus(x.negated_number(), downward)),
            Self::Multiply => rounded(x.times(y)),
            Self::MultiplyLegacy if x.is_zero() || y.is_zero() => rounded(Number::integer(0)),
            Self::MultiplyLegacy => rounded(x.times(y)),
            Self::Fused => rounded(Number::fused(x, y, z, downward)),
            Self::Separate => {
                let product = modes.round(format, x.times(y));
                rounded(format.unpack(product).plus(z, downward))
            }
            Self::Minimum => bits(extreme(format, a, b, false, modes)),
            Self::Maximum => bits(extreme(format, a, b, true, modes)),
            Self::Minimum3 | Self::Maximum3 => {
                let larger = self == Self::Maximum3;
                let two = extreme(format, a, b, larger, modes);
                bits(extreme(format, two, c, larger, modes))
            }
            Self::Median => bits(median(format, [a, b, c], modes)),
            Self::Whole(rounding) => rounded(whole(x, rounding)),
            Self::Fraction => rounded(fraction(format, x)),
            Self::Mantissa => rounded(mantissa(format, a)),
            Self::Exponent => exponent(format, a),
            Self::Scale => {
                let by = match format {
                    HALF => i32::from(inputs.second as u16 as i16),
                    _ => inputs.second as u32 as i32,
                };
                rounded(x.scaled(by))
            }
            Self::Function(function) => rounded(special::evaluate(function, format, x)),
            Self::DivisionScale => return division::scale(format, [a, b, c], modes),
            Self::DivisionFused => {
                rounded(division::fused(format, [x, y, z], inputs.flag, downward))
            }
            Self::DivisionFixup => bits(division::fixup(format, [a, b, c])),
            Self::Cube(cube) => rounded(cube.evaluate(format, [a, b, c])),
            Self::Reduction => bits(reduction::part(format, a, inputs.second)),
        };
        Some(value.into())
    }
}

/// Which of two numbers is larger; zeros are ordered by their signs.
fn order(format: Format, first: u64, second: u64) -> Ordering {
    let key = |bits: u64| {
        let magnitude = format.magnitude(bits) as i64;
        if format.is_negative(bits) {
            -1 - magnitude
        } else {
            magnitude
        }
    };
    key(first).cmp(&key(second))
}

/// The smaller or the larger of two numbers. One that is none loses; with IEEE's rules
/// one that asks for attention does not, and is quiet after that.
pub fn extreme(format: Format, first: u64, second: u64, larger: bool, modes: &Modes) -> u64 {
    for bits in [first, second] {
        if modes.is_ieee() && format.is_signaling(bits) {
            return format.quiet(bits);
        }
    }
    if format.is_nan(first) {
        return second;
    }
    if format.is_nan(second) {
        return first;
    }
    let is_larger = order(format, first, second) == Ordering::Greater;
    if is_larger == larger {
        first
    } else {
        second
    }
}

/// The middle one of three: the larger one of the two that are left without the first that
/// is as large as the largest. With one that is no number, the smallest.
fn median(format: Format, [a, b, c]: [u64; 3], modes: &Modes) -> u64 {
    let least = |x, y| extreme(format, x, y, false, modes);
    let most = |x, y| extreme(format, x, y, true, modes);
    if [a, b, c].into_iter().any(|bits| format.is_nan(bits)) {
        return least(least(a, b), c);
    }
    let largest = most(most(a, b), c);
    let is_largest = |of| of == largest || format.is_zero(of) && format.is_zero(largest);
    if is_largest(a) {
        most(b, c)
    } else if is_largest(b) {
        most(a, c)
    } else {
        most(a, b)
    }
}

/// What is behind the point, less than one even where it rounds to one.
fn fraction(format: Format, number: Number) -> Number {
    if matches!(number, Number::Infinite { .. }) {
        return Number::INVALID;
    }
    let below = whole(number, Rounding::Down);
    let rest = number.plus(below.negated_number(), false);
    let one = (format.bias() as u64) << format.fraction;
    match round(rest, format, Rounding::Even) {
        bits if bits == one => format.unpack(one - 1),
        _ => rest,
    }
}

/// The exponent that makes a number's magnitude one half or more, but less than one.
fn binary_exponent(format: Format, bits: u64) -> i32 {
    match format.unpack(bits) {
        Number::Finite {
            exponent,
            significand,
            ..
        } if significand != 0 => exponent + 128 - significand.leading_zeros() as i32,
        _ => 0,
    }
}

fn mantissa(format: Format, bits: u64) -> Number {
    format.unpack(bits).scaled(-binary_exponent(format, bits))
}

fn exponent(format: Format, bits: u64) -> Value {
    let exponent = if format.is_nan(bits) || format.is_infinite(bits) {
        0
    } else {
        binary_exponent(format, bits)
    };
    match format {
        HALF => Value::Bits16(exponent as u16),
        _ => Value::Bits32(exponent as u32),
    }
}
