// SPDX-License-Identifier: GPL-2.0-only

//! What wakes the monitor threads out of turn: a queue was created, a parameter
//! or a rule changed, or a GPU came or went.

use crate::kernel::bindings;
use kernel::prelude::*;

/// How often the threads have been woken.
///
/// Read it before looking at anything: a wake-up between the look and the sleep
/// then ends the sleep at once.
#[derive(Clone, Copy)]
pub struct Wakes(pub(crate) u32);

/// The number of wake-ups so far.
pub fn count() -> Wakes {
    // SAFETY: The function may be called from any context.
    Wakes(unsafe { bindings::gp_wake_count() })
}

/// Wakes all monitor threads.
pub fn all() {
    // SAFETY: The function may be called wherever a spinlock may be taken, and no Rust
    // code of ours runs in an interrupt, where it may not.
    unsafe { bindings::gp_wake() }
}

/// While it lives, the creation of a KFD queue wakes the monitor threads.
pub struct CreationWatch(());

impl CreationWatch {
    /// Starts the watch. Fails where the kernel cannot probe functions.
    pub fn start() -> Result<Self> {
        // SAFETY: The call may sleep, as a module may while it is initialised, which is
        // when watches start; `Drop` ends the watch before the module's text goes.
        kernel::error::to_result(unsafe { bindings::gp_creation_watch_start() })?;
        Ok(Self(()))
    }
}

impl Drop for CreationWatch {
    fn drop(&mut self) {
        // SAFETY: `start` registered the probe, and nobody else removes it.
        unsafe { bindings::gp_creation_watch_stop() }
    }
}
