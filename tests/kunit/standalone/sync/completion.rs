// SPDX-License-Identifier: GPL-2.0-only

//! Something that is waited for until it is there.

use crate::bindings;
use core::{cell::UnsafeCell, convert::Infallible, marker::PhantomPinned, mem::MaybeUninit};
use pin_init::{pin_init_from_closure, PinInit};

/// Something that is waited for.
///
/// # Invariants
///
/// `raw` is a completion that was initialised, and is pinned.
pub struct Completion {
    raw: UnsafeCell<MaybeUninit<bindings::completion>>,
    _pinned: PhantomPinned,
}

// SAFETY: The kernel's completion may be used by all threads.
unsafe impl Send for Completion {}
// SAFETY: The kernel's completion may be used by all threads at once.
unsafe impl Sync for Completion {}

impl Completion {
    /// One that nobody has completed.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> impl PinInit<Self> {
        let init = move |slot: *mut Self| {
            // SAFETY: By the requirement of the closure the slot can be written to and is not
            // moved later. There is room for the kernel's completion, which C checks.
            unsafe { bindings::gp_kunit_completion_init((&raw mut (*slot).raw).cast()) };
            Ok::<(), Infallible>(())
        };
        // SAFETY: It makes the one part that needs to be made, and never fails.
        unsafe { pin_init_from_closure(init) }
    }

    /// Has everybody go on who waits, now or later.
    pub fn complete_all(&self) {
        // SAFETY: By the type's invariant it is a completion.
        unsafe { bindings::gp_kunit_completion_complete_all(self.raw.get().cast()) }
    }

    /// Waits until it is completed.
    pub fn wait_for_completion(&self) {
        // SAFETY: By the type's invariant it is a completion.
        unsafe { bindings::gp_kunit_completion_wait(self.raw.get().cast()) }
    }
}
