// SPDX-License-Identifier: GPL-2.0-only

//! Stretches of code that nothing else on the processor interrupts but interrupts.

use crate::kernel::bindings;

/// Calls a function that neither sleeps nor takes long, and that no other task may
/// delay.
pub(crate) fn without_preemption<R>(f: impl FnOnce() -> R) -> R {
    struct Guard;

    impl Drop for Guard {
        fn drop(&mut self) {
            // SAFETY: Preemption was disabled once for this guard, by the same task.
            unsafe { bindings::gp_preempt_enable() }
        }
    }

    // SAFETY: The guard enables it again before this returns.
    unsafe { bindings::gp_preempt_disable() };
    let _guard = Guard;
    f()
}
