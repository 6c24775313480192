// SPDX-License-Identifier: GPL-2.0-only
//! Values as operators write them, and what may be wrong with one.

use core::fmt;

/// Why a parameter was not set, or a rule not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// There is no parameter of this name here.
    Unknown,
    /// It is not a value (EINVAL), and this is what to do about it.
    Invalid(&'static str),
    /// It was a value in earlier versions (EINVAL), and this is what to give instead.
    Gone(&'static str),
    /// The number is not between these two (ERANGE).
    OutOfRange(u32, u32),
}

impl SetError {
    /// The text is not a value of a parameter.
    pub const NO_VALUE: SetError = SetError::Invalid("not a value of this parameter");
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetError::Unknown => f.write_str("there is no such parameter"),
            SetError::Invalid(remedy) => f.write_str(remedy),
            SetError::Gone(instead) => {
                write!(f, "no longer a value of this parameter: {instead}")
            }
            SetError::OutOfRange(min, max) => {
                write!(f, "out of range: give a number from {min} to {max}")
            }
        }
    }
}

/// A whole number in a range. A number too long for 32 bits is out of range,
/// not nonsense.
///
/// `core` reads numbers too, but adds and multiplies in ways that can panic in a kernel
/// that checks for overflow.
pub(crate) fn whole(text: impl AsRef<[u8]>, min: u32, max: u32) -> Result<u32, SetError> {
    let text = text.as_ref();
    if text.is_empty() {
        return Err(SetError::NO_VALUE);
    }
    let mut value = Some(0u32);
    for digit in text {
        let digit = char::from(*digit).to_digit(10).ok_or(SetError::NO_VALUE)?;
        value = value.and_then(|value| value.checked_mul(10)?.checked_add(digit));
    }
    let inside = value.filter(|value| (min..=max).contains(value));
    inside.ok_or(SetError::OutOfRange(min, max))
}

/// How much the policy may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Start everything and do nothing.
    Off,
    /// Decide, but have nothing carried out.
    #[default]
    Observe,
    /// Decide and have it carried out.
    Enforce,
}

impl Mode {
    /// The mode of a word.
    pub fn named(word: &str) -> Option<Mode> {
        let mut all = [Mode::Off, Mode::Observe, Mode::Enforce].into_iter();
        all.find(|mode| mode.name() == word)
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }
}
