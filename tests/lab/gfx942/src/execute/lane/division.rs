// SPDX-License-Identifier: GPL-2.0-only
//! The three steps by which compilers divide: both numbers are scaled so that nothing
//! in between overflows or loses bits, the quotient is scaled back, and what is special
//! is put in its place.

use super::modes::Modes;
use super::value::{Output, Value};
use crate::float::{Format, Number, SINGLE};

/// What the steps know of a format: how far exponents may be apart, how much is
/// scaled, below which exponent a numerator is small, and when a quotient is zero.
struct Limits {
    apart: i32,
    scale: i32,
    small: i32,
    vanishing: i32,
}

fn limits(format: Format) -> Limits {
    match format {
        SINGLE => Limits {
            apart: 96,
            scale: 64,
            small: 23,
            vanishing: -150,
        },
        _ => Limits {
            apart: 768,
            scale: 128,
            small: 53,
            vanishing: -1075,
        },
    }
}

/// The exponent of the highest bit of a number that has one.
fn magnitude(format: Format, bits: u64) -> i32 {
    match format.unpack(bits) {
        Number::Finite {
            exponent,
            significand,
            ..
        } => exponent + 127 - significand.leading_zeros() as i32,
        _ => format.bias() + 1,
    }
}

/// Whether one number divided by another is subnormal.
fn is_quotient_subnormal(format: Format, above: u64, below: u64) -> bool {
    let smaller = significand(format, above) < significand(format, below);
    let exponent = magnitude(format, above) - magnitude(format, below) - i32::from(smaller);
    exponent < 1 - format.bias()
}

fn significand(format: Format, bits: u64) -> u128 {
    match format.unpack(bits) {
        Number::Finite { significand, .. } if significand != 0 => {
            significand << significand.leading_zeros()
        }
        _ => 0,
    }
}

/// The first number, scaled for dividing the third by the second; the flag says that
/// the quotient has to be scaled back.
pub fn scale(format: Format, [first, below, above]: [u64; 3], modes: &Modes) -> Option<Output> {
    let limits = limits(format);
    let one = (format.bias() as u64) << format.fraction;
    let number = format.unpack(first);
    let special = |bits| format.is_nan(bits) || format.is_infinite(bits);
    let (is_below, is_above) = (first == below, first == above);
    let (flag, by) = if format.is_zero(below) || format.is_zero(above) {
        return Some(Output {
            value: Value::Float(format, modes.round(format, Number::INVALID)),
            flag: Some(false),
        });
    } else if special(below) || special(above) {
        (false, 0)
    } else {
        let difference = format.biased(above) - format.biased(below);
        let inverse = is_quotient_subnormal(format, one, below);
        let quotient = is_quotient_subnormal(format, above, below);
        let up = |is: bool| if is { limits.scale } else { 0 };
        if difference >= limits.apart {
            (true, up(is_below))
        } else if format.is_subnormal(below) {
            (false, limits.scale)
        } else if inverse && quotient {
            (true, -up(is_below))
        } else if inverse {
            (false, -limits.scale)
        } else if quotient {
            (true, up(is_above))
        } else if format.biased(above) <= limits.small {
            (false, limits.scale)
        } else {
            (false, 0)
        }
    };
    let value = match by {
        0 => first,
        by => modes.round(format, number.scaled(by)),
    };
    Some(Output {
        value: Value::Float(format, value),
        flag: Some(flag),
    })
}

/// First times second plus third, and back from what was scaled.
pub fn fused(format: Format, [x, y, z]: [Number; 3], flag: bool, downward: bool) -> Number {
    let sum = Number::fused(x, y, z, downward);
    if !flag {
        return sum;
    }
    let is_large = match z {
        Number::Finite {
            exponent,
            significand,
            ..
        } => significand != 0 && exponent + 127 - significand.leading_zeros() as i32 > 0,
        _ => true,
    };
    let by = limits(format).scale;
    sum.scaled(if is_large { by } else { -by })
}

/// The quotient of the third by the second, which is the first unless something is
/// special about them.
pub fn fixup(format: Format, [quotient, below, above]: [u64; 3]) -> u64 {
    let sign = (below ^ above) & format.sign();
    let difference = format.biased(above) - format.biased(below);
    let (zero_below, zero_above) = (format.is_zero(below), format.is_zero(above));
    let (endless_below, endless_above) = (format.is_infinite(below), format.is_infinite(above));
    if format.is_nan(above) {
        format.quiet(above)
    } else if format.is_nan(below) {
        format.quiet(below)
    } else if zero_below && zero_above || endless_below && endless_above {
        format.quiet(format.sign() | format.infinity())
    } else if zero_below || endless_above {
        sign | format.infinity()
    } else if endless_below || zero_above || difference < limits(format).vanishing {
        sign
    } else if format.is_nan(quotient) {
        // In between was what is too large for the format, and so is the quotient.
        sign | format.infinity()
    } else {
        sign | format.magnitude(quotient)
    }
}
