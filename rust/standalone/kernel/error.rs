// SPDX-License-Identifier: GPL-2.0-only

//! Errors as the kernel numbers them.

#![forbid(unsafe_code)]

use crate::ffi::c_int;
use core::num::NonZeroI32;

/// The largest number of an error.
const MAX_ERRNO: i32 = 4095;

/// An error. Its number is negative and within `MAX_ERRNO`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(NonZeroI32);

/// A result whose error has a number.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;

/// The errors that the module names.
pub mod code {
    use super::Error;

    macro_rules! errors {
        ($($name:ident = $number:literal;)*) => {
            $(
                #[doc = concat!("Error ", $number, ".")]
                pub const $name: Error = Error::of(-$number).unwrap();
            )*
        };
    }

    errors! {
        EPERM = 1; ENOENT = 2; ESRCH = 3; EINTR = 4; EIO = 5; ENXIO = 6; E2BIG = 7; ENOEXEC = 8;
        EAGAIN = 11; ENOMEM = 12; EACCES = 13; EFAULT = 14; EBUSY = 16; EEXIST = 17; ENODEV = 19;
        EINVAL = 22; ENOSPC = 28; ERANGE = 34; EOVERFLOW = 75; EOPNOTSUPP = 95; ENOTSUPP = 524;
    }
}

impl Error {
    const fn of(number: i32) -> Option<Self> {
        match NonZeroI32::new(number) {
            Some(number) if number.get() < 0 && number.get() >= -MAX_ERRNO => Some(Self(number)),
            _ => None,
        }
    }

    /// The error of a negative number; for any other, `EINVAL`.
    pub fn from_errno(number: c_int) -> Self {
        Self::of(number).unwrap_or(code::EINVAL)
    }

    /// The negative number.
    pub const fn to_errno(self) -> c_int {
        self.0.get()
    }
}

impl core::fmt::Debug for Error {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_tuple("Error").field(&self.0).finish()
    }
}

macro_rules! convert {
    ($($from:ty => $to:expr;)*) => {
        $(
            impl From<$from> for Error {
                fn from(_: $from) -> Self {
                    $to
                }
            }
        )*
    };
}

convert! {
    core::num::TryFromIntError => code::EINVAL;
    core::str::Utf8Error => code::EINVAL;
    core::fmt::Error => code::EINVAL;
    crate::alloc::AllocError => code::ENOMEM;
}

impl From<core::convert::Infallible> for Error {
    fn from(never: core::convert::Infallible) -> Self {
        match never {}
    }
}

/// What a function of C returned: negative is an error.
pub fn to_result(returned: c_int) -> Result {
    if returned < 0 {
        return Err(Error::from_errno(returned));
    }
    Ok(())
}

/// A pointer from C, in which an error may hide.
pub fn from_err_ptr<T>(pointer: *mut T) -> Result<*mut T> {
    // The last addresses are errors, counted from the end.
    match i32::try_from(pointer.addr().wrapping_neg()) {
        Ok(number) if (1..=MAX_ERRNO).contains(&number) => Err(Error::from_errno(-number)),
        _ => Ok(pointer),
    }
}

/// What C is to be returned: the value, or the number of the error.
pub fn from_result<T: From<i16>>(f: impl FnOnce() -> Result<T>) -> T {
    f().unwrap_or_else(|error| {
        // Each fits: none is beyond `MAX_ERRNO`.
        i16::try_from(error.to_errno()).unwrap_or(i16::MIN).into()
    })
}
