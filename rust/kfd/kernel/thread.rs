// SPDX-License-Identifier: GPL-2.0-only

//! Kernel threads that are joined when they are dropped.
//!
//! They are never real-time: the driver waits for the GPU by calling the
//! scheduler in a loop, and would starve everything else on the CPU.

use crate::kernel::{
    bindings,
    compat::*,
    wake::{Alarm, Heard},
};
use core::ptr::NonNull;
use kernel::{error::from_err_ptr, prelude::*, types::NotThreadSafe};

/// What a thread does.
pub trait Body: Send + Sync + 'static {
    /// Runs until [`Running::should_stop`].
    fn run(&self, thread: &mut Running);
}

/// Proof of running in a thread made by [`Thread`].
///
/// # Invariants
///
/// It exists only in such a thread, which never has another.
pub struct Running(NotThreadSafe);

impl Running {
    /// Whether the thread is to end.
    pub fn should_stop(&self) -> bool {
        // SAFETY: `self` exists only inside a kernel thread.
        unsafe { bindings::gp_thread_should_stop() }
    }

    /// Whether the system is being frozen.
    pub fn should_freeze(&self) -> bool {
        // SAFETY: `self` exists only inside a kernel thread.
        unsafe { bindings::gp_thread_should_freeze() }
    }

    /// Stays here while the system is frozen.
    pub fn freeze(&self) {
        // SAFETY: `self` exists only inside a kernel thread, whose body holds
        // no lock of the shim.
        unsafe { bindings::gp_thread_freeze() }
    }

    /// Lets others run.
    pub fn yield_now(&self) {
        // SAFETY: `self` exists only inside a kernel thread, whose body holds
        // no lock of the shim.
        unsafe { bindings::gp_thread_yield() }
    }

    /// Sleeps for a number of nanoseconds, for ever with `None`, or until the
    /// thread is to end or to freeze, or was woken since `seen`; by the creation of
    /// a queue not before `deaf` nanoseconds.
    pub fn sleep(&self, alarm: &Alarm, seen: Heard, deaf: u64, nanos: Option<u64>) {
        let nanos = nanos.unwrap_or(u64::MAX);
        // SAFETY: `self` exists only inside a kernel thread, whose body holds
        // no lock of the shim; the alarm is there by its invariant.
        unsafe { bindings::gp_sleep(alarm.as_ptr(), seen.0, deaf, nanos) }
    }
}

/// A kernel thread and its body.
///
/// The thread only borrows the body: if it is stopped before it first ran, it
/// never runs at all, and nothing that it owned would be dropped.
///
/// # Invariants
///
/// `task` is a thread made by `gp_thread_start` that has not been stopped, and
/// runs `body`, which is dropped after the thread has ended.
pub struct Thread<B: Body> {
    task: NonNull<kernel::bindings::task_struct>,
    body: KBox<B>,
}

// SAFETY: A thread may be stopped from any other thread, and `B` is `Send`.
unsafe impl<B: Body> Send for Thread<B> {}
// SAFETY: Only `&B` can be had from `&Thread<B>`, and `B` is `Sync`.
unsafe impl<B: Body> Sync for Thread<B> {}

impl<B: Body> Thread<B> {
    /// Starts a thread.
    pub fn start(name: &CStr, body: KBox<B>) -> Result<Self> {
        let data = core::ptr::from_ref::<B>(&body).cast_mut().cast();
        // SAFETY: `body` is boxed and lives in the result, whose `Drop` waits
        // for the thread's end before `body` is dropped. `enter` takes a
        // pointer to a `B`.
        let task = from_err_ptr(unsafe {
            bindings::gp_thread_start(Some(Self::enter), data, name.as_char_ptr())
        })?;
        let task = NonNull::new(task).ok_or(ENOMEM)?;
        // INVARIANT: Just started, with `body`.
        Ok(Self { task, body })
    }

    /// What the thread does.
    pub fn body(&self) -> &B {
        &self.body
    }

    /// The thread's main function.
    ///
    /// # Safety
    ///
    /// To be called in a new kernel thread with a pointer to a `B` that lives
    /// until the thread has ended.
    unsafe extern "C" fn enter(data: *mut c_void) -> c_int {
        // SAFETY: By the function's requirement `data` is to a `B` that outlives the thread.
        let body = unsafe { &*data.cast::<B>() };
        // SAFETY: This is a kernel thread, and this is its only call.
        unsafe { bindings::gp_thread_prepare() };
        // INVARIANT: This is such a thread, and this is its only call.
        body.run(&mut Running(NotThreadSafe));
        0
    }
}

impl<B: Body> Drop for Thread<B> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant the thread has not been stopped.
        unsafe { bindings::gp_thread_stop(self.task.as_ptr()) }
    }
}
