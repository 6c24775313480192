// SPDX-License-Identifier: GPL-2.0-only
//! Rounding numbers to formats and to integers.

use super::format::Format;
use super::number::{shift_right, Number, QUIET};

/// Where a number goes that lies between two of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearer, and to the even one of two that are equally near.
    Even,
    Up,
    Down,
    Zero,
}

impl Rounding {
    /// As two bits of MODE say it.
    pub const fn of(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Even,
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::Zero,
        }
    }

    /// Whether the larger magnitude is taken; `rest` is twice what is cut off, and
    /// `half` what would be exactly in the middle.
    fn away(self, negative: bool, odd: bool, rest: u128, half: u128) -> bool {
        match self {
            Self::Even => rest > half || rest == half && odd,
            Self::Up => !negative && rest != 0,
            Self::Down => negative && rest != 0,
            Self::Zero => false,
        }
    }
}

/// `significand` without its last `by` bits, rounded.
fn cut(significand: u128, by: u32, negative: bool, rounding: Rounding) -> u128 {
    if by == 0 {
        return significand;
    }
    // Two bits more than needed: the first that is cut off, and whether others are set.
    let kept = shift_right(significand, by.saturating_sub(2));
    let kept = if by == 1 { kept << 1 } else { kept };
    let whole = kept >> 2;
    whole + u128::from(rounding.away(negative, whole & 1 != 0, kept & 3, 2))
}

/// The bits of a number in a format.
pub fn round(number: Number, format: Format, rounding: Rounding) -> u64 {
    let sign = |negative: bool| if negative { format.sign() } else { 0 };
    let (negative, exponent, significand) = match number {
        Number::Nan { negative, payload } => {
            let fraction = (payload | QUIET) >> (QUIET.trailing_zeros() + 1 - format.fraction);
            return sign(negative) | format.infinity() | fraction;
        }
        Number::Infinite { negative } => return sign(negative) | format.infinity(),
        Number::Finite {
            negative,
            exponent,
            significand,
        } => (negative, exponent, significand),
    };
    if significand == 0 {
        return sign(negative);
    }
    let fields = (format.fraction, format.least());
    let magnitude = magnitude(fields, (exponent, significand), negative, rounding);
    let infinity = i128::from(format.infinity());
    if magnitude < infinity {
        return sign(negative) | magnitude as u64;
    }
    let overflows = match rounding {
        Rounding::Even => true,
        Rounding::Up => !negative,
        Rounding::Down => negative,
        Rounding::Zero => false,
    };
    sign(negative) | (format.infinity() - u64::from(!overflows))
}

/// The exponent of the last bit that such a format keeps of a number of this size.
pub(super) fn last_bit((fraction, least): (u32, i32), (exponent, significand): (i32, u128)) -> i64 {
    let highest = 127 - i64::from(significand.leading_zeros());
    (highest + i64::from(exponent) - i64::from(fraction)).max(least.into())
}

/// Exponent and fraction of a number that is not zero, side by side, in a format with so
/// many bits of fraction whose smallest numbers have a last bit of this exponent. Beyond
/// the format the exponent goes on.
pub(super) fn magnitude(
    (fraction, least): (u32, i32),
    (exponent, significand): (i32, u128),
    negative: bool,
    rounding: Rounding,
) -> i128 {
    let last = last_bit((fraction, least), (exponent, significand));
    let (exponent, least) = (i64::from(exponent), i64::from(least));
    let cut_off = last - exponent;
    let whole = if cut_off > 0 {
        cut(significand, cut_off.min(200) as u32, negative, rounding)
    } else {
        significand << (-cut_off).min(127)
    };
    // A carry out of the fraction makes the next exponent, as the fields lie side by side.
    (i128::from(last - least) << fraction) + whole as i128
}

/// A number as an integer, which is none if it is infinite or not a number. Beyond 126
/// bits it is the largest.
pub fn to_integer(number: Number, rounding: Rounding) -> Option<i128> {
    let Number::Finite {
        negative,
        exponent,
        significand,
    } = number
    else {
        return None;
    };
    let magnitude = if exponent < 0 {
        let by = exponent.unsigned_abs().min(200);
        cut(significand, by, negative, rounding) as i128
    } else if significand == 0 {
        0
    } else if significand.leading_zeros() > exponent.unsigned_abs() + 1 {
        (significand << exponent) as i128
    } else {
        i128::MAX
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// A number without its fraction.
pub fn whole(number: Number, rounding: Rounding) -> Number {
    match number {
        Number::Finite {
            negative, exponent, ..
        } if exponent < 0 => {
            let value = to_integer(number, rounding).unwrap_or(0);
            Number::integer(value).with_sign(negative)
        }
        Number::Nan { .. } => number.scaled(0),
        _ => number,
    }
}
