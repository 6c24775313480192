// SPDX-License-Identifier: GPL-2.0-only

//! The device by which programs say that they prepare a request.

use crate::kernel::{bindings, owner::Owner};
use kernel::{prelude::*, sync::atomic::Atomic};

/// While it lives, programs can map pages of the device.
///
/// # Invariants
///
/// The device is registered, and was by whoever has the token.
pub struct HintDevice {
    _owner: Owner,
}

/// Whether somebody owns the device.
static OWNED: Atomic<bool> = Atomic::new(false);

impl HintDevice {
    /// Creates the device, unless somebody has it already. To be called when nothing can
    /// keep the module from being loaded any more: only then an open file keeps it.
    pub fn appear() -> Result<Self> {
        let owner = Owner::of(&OWNED)?;
        // SAFETY: The call may sleep, as a module may while it is initialised. The device
        // is not registered, because that is its owner's doing, and this is the only one;
        // `Drop` takes it away before the module's text goes, and an open file keeps the
        // module.
        kernel::error::to_result(unsafe { bindings::gp_hint_device_start() })?;
        // INVARIANT: Just registered.
        Ok(Self { _owner: owner })
    }
}

impl Drop for HintDevice {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant the device is registered, and the owner, who is
        // dropped after this, is the only one to take it away. Nobody has it open, because
        // an open file keeps the module.
        unsafe { bindings::gp_hint_device_stop() }
    }
}
