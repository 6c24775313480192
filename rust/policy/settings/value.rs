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
            SetError::Gone(instead) => write!(f, "no longer a value of this parameter: {instead}"),
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

words! {
    /// How much the policy may do.
    pub enum Mode {
        /// Decide, but have nothing carried out.
        Observe "observe",
        /// Decide and have it carried out.
        Enforce "enforce",
        /// Start everything and do nothing.
        Off "off",
    }
}

words! {
    /// How queues are watched.
    pub enum SamplerKind {
        /// Memory, and wave counts when an inversion is suspected.
        Auto "auto",
        /// Read and write pointers in user memory.
        Memory "memory",
        /// The registers of the hardware queues as well.
        Mmio "mmio",
    }
}

words! {
    /// How queues are stopped and started.
    pub enum BackendKind {
        /// In one transaction with the hardware scheduler.
        Hws "hws",
        /// One by one, where there is no hardware scheduler.
        Mqd "mqd",
    }
}

words! {
    /// How the queues are taken off the hardware for a transaction.
    pub enum TransactionKind {
        /// By the driver's own function.
        Driver "driver",
        /// By an unmapping of our own.
        Direct "direct",
    }
}
