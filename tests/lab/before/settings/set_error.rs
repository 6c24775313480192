// SPDX-License-Identifier: GPL-2.0-only
//! What is wrong with a value that an operator wrote.

use core::fmt;

/// Why a parameter was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// There is no parameter of this name here.
    Unknown,
    /// The text is not a value of this parameter (EINVAL).
    Invalid,
    /// The number is not between these two (ERANGE).
    OutOfRange {
        /// The smallest value accepted.
        min: u32,
        /// The largest value accepted.
        max: u32,
    },
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetError::Unknown => f.write_str("there is no such parameter"),
            SetError::Invalid => f.write_str("not a value of this parameter"),
            SetError::OutOfRange { min, max } => {
                write!(f, "out of range: give a number from {min} to {max}")
            }
        }
    }
}
