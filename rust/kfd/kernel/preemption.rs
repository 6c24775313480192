// SPDX-License-Identifier: GPL-2.0-only

//! Stretches of code that other work on the processor is not to delay: by the task's
//! weight where it has to wait, and not at all where it does not.

use crate::kernel::{bindings, count::Count};
use kernel::types::NotThreadSafe;

/// The current task is preferred to all ordinary work while this lives.
///
/// # Invariants
///
/// The number is the nice value that the task had before, and this does not leave it.
pub(crate) struct Preferred(i32, NotThreadSafe);

impl Preferred {
    /// Has the current task preferred. No lock of the driver may be held.
    pub(crate) fn raise() -> Self {
        // SAFETY: The function concerns the current task alone and takes locks of the
        // scheduler only, for which no Rust code of ours holds a lock in the way.
        let nice = unsafe { bindings::gp_nice_raise() };
        // INVARIANT: Just returned for this task.
        Self(nice, NotThreadSafe)
    }
}

impl Drop for Preferred {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this is the task of `raise`, and its value.
        unsafe { bindings::gp_nice_restore(self.0) }
    }
}

/// How often preemption was disabled for a stretch of code.
pub static STRETCHES: Count = Count::new();

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

    STRETCHES.add();
    // SAFETY: The guard enables it again before this returns.
    unsafe { bindings::gp_preempt_disable() };
    let _guard = Guard;
    f()
}
