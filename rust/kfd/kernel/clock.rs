// SPDX-License-Identifier: GPL-2.0-only

//! The module's clock: nanoseconds since it was loaded.

use gpreempt_policy::Nanos;
use kernel::sync::atomic::{Atomic, Relaxed};

static START: Atomic<u64> = Atomic::new(0);

fn boot_time() -> u64 {
    // SAFETY: The clock may be read in any context.
    u64::try_from(unsafe { kernel::bindings::ktime_get() }).unwrap_or(0)
}

/// Starts the clock. To be called once, when the module is loaded.
pub fn start() {
    START.store(boot_time(), Relaxed);
}

/// The time now.
pub fn now() -> Nanos {
    Nanos(boot_time().saturating_sub(START.load(Relaxed)))
}
