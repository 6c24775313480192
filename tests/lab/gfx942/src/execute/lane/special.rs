// SPDX-License-Identifier: GPL-2.0-only
//! Reciprocals, roots, powers, logarithms and angles. The hardware's results are within
//! one or two units of the last place; these are the nearest, as far as the host's
//! doubles are exact, and so within what the hardware promises.

use crate::float::{round, Format, Number, Rounding, DOUBLE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Reciprocal,
    ReciprocalRoot,
    Root,
    Power,
    Logarithm,
    Sine,
    Cosine,
}

/// Up to how many turns an angle is known.
const TURNS: f64 = 256.0;

impl Function {
    pub fn of(stem: &str) -> Option<Self> {
        Some(match stem {
            "rcp" | "rcp_iflag" => Self::Reciprocal,
            "rsq" => Self::ReciprocalRoot,
            "sqrt" => Self::Root,
            "exp" | "exp_legacy" => Self::Power,
            "log" | "log_legacy" => Self::Logarithm,
            "sin" => Self::Sine,
            "cos" => Self::Cosine,
            _ => return None,
        })
    }

    fn of_double(self, value: f64) -> f64 {
        let angle = value.fract() * std::f64::consts::TAU;
        match self {
            Self::Reciprocal => value.recip(),
            Self::ReciprocalRoot => value.sqrt().recip(),
            Self::Root => value.sqrt(),
            Self::Power => value.exp2(),
            Self::Logarithm => value.log2(),
            Self::Sine if value.abs() <= TURNS => angle.sin(),
            Self::Sine if value.is_finite() => 0.0,
            Self::Cosine if value.abs() <= TURNS => angle.cos(),
            Self::Cosine if value.is_finite() => 1.0,
            Self::Sine | Self::Cosine => f64::NAN,
        }
    }
}

pub fn evaluate(function: Function, format: Format, number: Number) -> Number {
    if number.is_nan() {
        return number;
    }
    let double = f64::from_bits(round(number, DOUBLE, Rounding::Even));
    let result = function.of_double(double);
    if result.is_nan() {
        return Number::INVALID;
    }
    let nearest = round(DOUBLE.unpack(result.to_bits()), format, Rounding::Even);
    format.unpack(nearest)
}
