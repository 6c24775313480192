// SPDX-License-Identifier: GPL-2.0-only

//! Parameters of the module.

use crate::bindings;

/// A parameter, for the section in which the kernel looks for them.
#[repr(transparent)]
pub struct KernelParam(bindings::kernel_param);

impl KernelParam {
    /// The parameter that is described.
    pub const fn new(parameter: bindings::kernel_param) -> Self {
        Self(parameter)
    }
}

// SAFETY: Only the kernel looks at it, under its own lock.
unsafe impl Sync for KernelParam {}
