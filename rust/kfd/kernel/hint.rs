// SPDX-License-Identifier: GPL-2.0-only

//! The device by which programs say that they prepare a request.

use crate::kernel::bindings;
use kernel::prelude::*;

/// While it lives, programs can map pages of the device.
pub struct HintDevice(());

impl HintDevice {
    /// Creates the device. To be called when nothing can keep the module from being
    /// loaded any more: only then an open file keeps it.
    pub fn appear() -> Result<Self> {
        // SAFETY: The call may sleep, as a module may while it is initialised. It is made
        // once, because the module is initialised once; `Drop` takes the device away before
        // the module's text goes, and an open file keeps the module.
        kernel::error::to_result(unsafe { bindings::gp_hint_device_start() })?;
        Ok(Self(()))
    }
}

impl Drop for HintDevice {
    fn drop(&mut self) {
        // SAFETY: `appear` created the device and nobody else takes it away. Nobody has it
        // open, because an open file keeps the module.
        unsafe { bindings::gp_hint_device_stop() }
    }
}
