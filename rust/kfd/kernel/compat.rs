// SPDX-License-Identifier: GPL-2.0-only

//! The place for differences between the kernel releases that the module is built
//! for: no other file asks for the release. At present it need not be asked for, since
//! one text compiles for all of them; what is here stands between this text and the
//! parts of the kernel crate that have changed before and may again.

#![forbid(unsafe_code)]

pub(crate) use kernel::prelude::CStr;
pub(crate) use kernel::str::CStrExt as _;

/// A positive errno that the kernel crate knows as an error from 7.3 on.
pub(crate) const ETIME: u32 = kernel::bindings::ETIME;

/// Makes something printable that knows only `core`'s way of printing.
pub(crate) struct Plain<T>(pub(crate) T);

impl<T: core::fmt::Display> kernel::fmt::Display for Plain<T> {
    fn fmt(&self, out: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        core::fmt::Display::fmt(&self.0, out)
    }
}
