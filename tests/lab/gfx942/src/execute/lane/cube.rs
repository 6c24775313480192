// SPDX-License-Identifier: GPL-2.0-only
//! Which face of a cube a direction meets, and where on it. The axis along which the
//! direction is longest decides; of equal ones the last.

use crate::float::{Format, Number};

/// What is asked of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cube {
    /// The number of the face: twice that of the axis, and one more below zero.
    Face,
    /// Twice how far the direction goes along the axis.
    Axis,
    /// The coordinates on the face, across and along it.
    Across,
    Along,
}

impl Cube {
    pub fn of(stem: &str) -> Option<Self> {
        Some(match stem {
            "cubeid" => Self::Face,
            "cubema" => Self::Axis,
            "cubesc" => Self::Across,
            "cubetc" => Self::Along,
            _ => return None,
        })
    }

    pub fn evaluate(self, format: Format, [x, y, z]: [u64; 3]) -> Number {
        // What is no number is neither long nor below zero.
        let is_number = |bits| !format.is_nan(bits);
        let reaches = |long, short| {
            is_number(long) && is_number(short) && format.magnitude(long) >= format.magnitude(short)
        };
        let is_below = |bits| is_number(bits) && format.is_negative(bits) && !format.is_zero(bits);
        let turned = |bits, turns| if turns { bits ^ format.sign() } else { bits };
        let (number, axis, across, along) = if reaches(z, x) && reaches(z, y) {
            (2, z, turned(x, is_below(z)), turned(y, true))
        } else if reaches(y, x) {
            (1, y, x, turned(z, is_below(y)))
        } else {
            (0, x, turned(z, !is_below(x)), turned(y, true))
        };
        match self {
            Self::Face => Number::integer(2 * number + i128::from(is_below(axis))),
            Self::Axis => format.unpack(axis).scaled(1),
            Self::Across => format.unpack(across),
            Self::Along => format.unpack(along),
        }
    }
}
