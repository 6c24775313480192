// SPDX-License-Identifier: GPL-2.0-only
//! Numbers before they are rounded to a format.

/// The bit of a payload that says that it is quiet: the first of 52.
pub const QUIET: u64 = 1 << 51;

/// Where the highest bit of a significand stands when numbers are added. Products of
/// doubles have 106 bits, so that what is shifted out matters for rounding only.
const HIGHEST: u32 = 125;

/// A number of any format, or what comes of calculating with them. A finite one is
/// `significand` times two to the power of `exponent`; its last bit is also set for
/// whatever did not fit in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Nan {
        negative: bool,
        payload: u64,
    },
    Infinite {
        negative: bool,
    },
    Finite {
        negative: bool,
        exponent: i32,
        significand: u128,
    },
}

/// Shifts to the right; a bit that is lost stays visible in the last one.
pub fn shift_right(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => (value >> by) | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

impl Number {
    /// What invalid operations give.
    pub const INVALID: Self = Self::Nan {
        negative: false,
        payload: QUIET,
    };

    pub fn integer(value: i128) -> Self {
        Self::Finite {
            negative: value < 0,
            exponent: 0,
            significand: value.unsigned_abs(),
        }
    }

    pub fn is_nan(self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    pub fn is_finite(self) -> bool {
        matches!(self, Self::Finite { .. })
    }

    fn quiet(self) -> Self {
        match self {
            Self::Nan { negative, payload } => Self::Nan {
                negative,
                payload: payload | QUIET,
            },
            number => number,
        }
    }

    pub fn is_negative(self) -> bool {
        match self {
            Self::Nan { negative, .. }
            | Self::Infinite { negative }
            | Self::Finite { negative, .. } => negative,
        }
    }

    pub fn is_zero(self) -> bool {
        matches!(self, Self::Finite { significand: 0, .. })
    }

    pub fn with_sign(self, negative: bool) -> Self {
        match self {
            Self::Nan { payload, .. } => Self::Nan { negative, payload },
            Self::Infinite { .. } => Self::Infinite { negative },
            Self::Finite {
                exponent,
                significand,
                ..
            } => Self::Finite {
                negative,
                exponent,
                significand,
            },
        }
    }

    /// The same with the other sign; what is no number stays as it is.
    pub fn negated_number(self) -> Self {
        match self {
            Self::Nan { .. } => self,
            _ => self.with_sign(!self.is_negative()),
        }
    }

    /// Times two to the power of `by`.
    pub fn scaled(self, by: i32) -> Self {
        match self {
            Self::Finite {
                negative,
                exponent,
                significand,
            } => Self::Finite {
                negative,
                exponent: exponent.saturating_add(by.clamp(-100_000, 100_000)),
                significand,
            },
            number => number.quiet(),
        }
    }

    /// The product, exactly, of numbers that have a format.
    pub fn times(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Self::Nan { .. }, _) => self.quiet(),
            (_, Self::Nan { .. }) => other.quiet(),
            (Self::Infinite { .. }, of) | (of, Self::Infinite { .. }) if of.is_zero() => {
                Self::INVALID
            }
            (
                Self::Finite {
                    exponent,
                    significand,
                    ..
                },
                Self::Finite {
                    exponent: other_exponent,
                    significand: other_significand,
                    ..
                },
            ) => Self::Finite {
                negative,
                exponent: exponent.saturating_add(other_exponent),
                significand: significand.wrapping_mul(other_significand),
            },
            _ => Self::Infinite { negative },
        }
    }

    /// The sum. `downward` decides the sign of a difference that is zero.
    pub fn plus(self, other: Self, downward: bool) -> Self {
        match (self, other) {
            (Self::Nan { .. }, _) => self.quiet(),
            (_, Self::Nan { .. }) => other.quiet(),
            (Self::Infinite { negative }, Self::Infinite { negative: of }) if negative != of => {
                Self::INVALID
            }
            (Self::Infinite { .. }, _) => self,
            (_, Self::Infinite { .. }) => other,
            _ => self.finite_sum(other, downward),
        }
    }

    fn finite_sum(self, other: Self, downward: bool) -> Self {
        if self.is_zero() && other.is_zero() && self.is_negative() != other.is_negative() {
            return Self::integer(0).with_sign(downward);
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (first, second) = (self.normal(), other.normal());
        let (large, small) = if first.1 >= second.1 {
            (first, second)
        } else {
            (second, first)
        };
        let moved = shift_right(small.2, large.1.saturating_sub(small.1) as u32);
        let (negative, significand) = if large.0 == small.0 {
            (large.0, large.2 + moved)
        } else if large.2 >= moved {
            (large.0, large.2 - moved)
        } else {
            (small.0, moved - large.2)
        };
        Self::Finite {
            negative: if significand == 0 { downward } else { negative },
            exponent: large.1,
            significand,
        }
    }

    /// Sign, exponent and significand with its highest bit at `HIGHEST`.
    fn normal(self) -> (bool, i32, u128) {
        let Self::Finite {
            negative,
            exponent,
            significand,
        } = self
        else {
            return (false, 0, 0);
        };
        let highest = 127_u32.saturating_sub(significand.leading_zeros());
        let significand = if highest > HIGHEST {
            shift_right(significand, highest - HIGHEST)
        } else {
            significand << (HIGHEST - highest)
        };
        let moved = i64::from(exponent) + i64::from(highest) - i64::from(HIGHEST);
        (negative, moved.clamp(-1 << 30, 1 << 30) as i32, significand)
    }

    /// First times second plus third, rounded nowhere in between.
    pub fn fused(first: Self, second: Self, third: Self, downward: bool) -> Self {
        match (first.is_nan(), second.is_nan()) {
            (false, false) if third.is_nan() => third.quiet(),
            _ => first.times(second).plus(third, downward),
        }
    }
}
