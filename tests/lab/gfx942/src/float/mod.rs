// SPDX-License-Identifier: GPL-2.0-only
//! Binary floating point in integers: every width and every rounding mode by the same
//! rules, and the same on every host.

mod eight;
mod format;
mod number;
mod round;

pub use eight::{Eight, BF8, FP8};
pub use format::{Format, BRAIN, DOUBLE, HALF, SINGLE};
pub use number::Number;
pub use round::{round, to_integer, whole, Rounding};
