// SPDX-License-Identifier: GPL-2.0-only

//! Differences between the kernel releases that the module is built for. No other
//! file asks for the release, or for what not every release has.
//!
//! At present one text compiles for all of them. What stands here is what the kernel
//! crate has had under other names, or has not had everywhere.

#![forbid(unsafe_code)]

pub(crate) use kernel::{prelude::CStr, str::CStrExt as _};

/// A positive errno that the kernel crate knows as an error from 7.3 on.
pub(crate) const ETIME: u32 = kernel::bindings::ETIME;

/// Makes something printable that knows only `core`'s way of printing.
pub(crate) struct Plain<T>(pub(crate) T);

impl<T: core::fmt::Display> kernel::fmt::Display for Plain<T> {
    fn fmt(&self, out: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        core::fmt::Display::fmt(&self.0, out)
    }
}
