// SPDX-License-Identifier: GPL-2.0-only

//! Notice of the system's sleep, while all programs still run.
//!
//! Threads are frozen too late for it: before that the driver may have made room
//! in video memory for hibernation, and it does not keep the descriptors of queues
//! that are stopped.

use crate::kernel::bindings;
use core::{marker::PhantomPinned, pin::Pin, ptr::NonNull};
use kernel::{error::from_err_ptr, prelude::*};

/// Something that has to act before the system sleeps.
pub trait Sleeper: Send + Sync + 'static {
    /// The system is about to sleep. An error keeps it awake.
    fn prepare(&self) -> Result;
    /// The system is awake again, or stays awake after all.
    fn resume(&self);
}

/// Notifies a sleeper of the system's sleep for as long as it lives.
#[pin_data(PinnedDrop)]
pub struct SleepWatch<S: Sleeper> {
    sleeper: S,
    /// Made by the shim, which calls [`SleepWatch::event`] with this value until `drop`.
    watch: NonNull<bindings::gp_sleep_watch>,
    /// The shim knows where this value is.
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The watch is only touched by the kernel, under its own locks.
unsafe impl<S: Sleeper> Send for SleepWatch<S> {}
// SAFETY: The watch is only touched by the kernel, under its own locks, and `S` is `Sync`.
unsafe impl<S: Sleeper> Sync for SleepWatch<S> {}

impl<S: Sleeper> SleepWatch<S> {
    /// Starts to listen.
    pub fn new(sleeper: S) -> impl PinInit<Self, Error> {
        try_pin_init!(&this in Self {
            sleeper,
            _pinned: PhantomPinned,
            // SAFETY: Only the sleeper is read through the pointer, which is initialised
            // by now; it is pinned, and nothing but `drop` ends it, which ends the watch.
            watch: unsafe { Self::start(this) }?,
        }? Error)
    }

    /// # Safety
    ///
    /// The sleeper of `this` must be initialised, and stay there until the watch is
    /// stopped.
    unsafe fn start(this: NonNull<Self>) -> Result<NonNull<bindings::gp_sleep_watch>> {
        // SAFETY: By the function's requirement, `event` can be called with it.
        let watch =
            unsafe { bindings::gp_sleep_watch_start(Some(Self::event), this.as_ptr().cast()) };
        NonNull::new(from_err_ptr(watch)?).ok_or(ENOMEM)
    }

    /// # Safety
    ///
    /// `data` must be to a `Self` whose sleeper is initialised.
    unsafe extern "C" fn event(data: *mut c_void, asleep: bool) -> c_int {
        // SAFETY: By the function's requirement the sleeper is there; a reference to the whole, of
        // which other fields may not be initialised yet, never exists.
        let sleeper = unsafe { &(*data.cast::<Self>()).sleeper };
        if !asleep {
            sleeper.resume();
            return 0;
        }
        sleeper.prepare().map_or_else(Error::to_errno, |()| 0)
    }
}

#[pinned_drop]
impl<S: Sleeper> PinnedDrop for SleepWatch<S> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: `new` started the watch, and it is still where it was.
        unsafe { bindings::gp_sleep_watch_stop(self.watch.as_ptr()) }
    }
}
