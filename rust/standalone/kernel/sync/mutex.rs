// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's mutex, with what it protects.

use crate::{bindings, types::NotThreadSafe};
use core::{
    cell::UnsafeCell,
    convert::Infallible,
    ffi::CStr,
    marker::PhantomPinned,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
};
use pin_init::{pin_init_from_closure, PinInit};

/// What the kernel's checker of locks knows a kind of locks by.
pub struct ClassKey(UnsafeCell<bindings::gp_rt_key>);

impl ClassKey {
    /// For a `static` of its own.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(bindings::gp_rt_key { space: [0; 8] }))
    }
}

impl Default for ClassKey {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: Only the kernel touches what is in it, under a lock of its own.
unsafe impl Sync for ClassKey {}

/// A value that one thread at a time has.
///
/// # Invariants
///
/// `raw` is a mutex that was initialised, and is pinned.
pub struct Mutex<T> {
    raw: UnsafeCell<MaybeUninit<bindings::gp_rt_mutex>>,
    _pinned: PhantomPinned,
    value: UnsafeCell<T>,
}

// SAFETY: The kernel's mutex may be used by all threads, and the value goes with it.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: The mutex lets one thread at a time have the value, so that it is only sent.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// A mutex that this thread holds, with the value.
///
/// # Invariants
///
/// This thread, which the guard does not leave, holds the mutex.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    _thread: NotThreadSafe,
}

// SAFETY: A reference to the guard gives references to the value, and nothing else.
unsafe impl<T: Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A mutex that nobody holds. Called by [`new_mutex!`](crate::new_mutex).
    pub fn new(value: T, name: &'static CStr, key: &'static ClassKey) -> impl PinInit<Self> {
        let init = move |slot: *mut Self| {
            // SAFETY: By the requirement of the closure the slot can be written to and is
            // not moved later. There is room for the kernel's mutex and for its key, which
            // C checks; name and key stay.
            unsafe {
                bindings::gp_rt_mutex_init(
                    (&raw mut (*slot).raw).cast(),
                    name.as_ptr().cast(),
                    key.0.get(),
                );
                (&raw mut (*slot).value).write(UnsafeCell::new(value));
            }
            Ok::<(), Infallible>(())
        };
        // SAFETY: It makes both parts that need to be made, and never fails.
        unsafe { pin_init_from_closure(init) }
    }

    /// Waits until nobody else holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // SAFETY: By the type's invariant it is a mutex.
        unsafe { bindings::gp_rt_mutex_lock(self.raw.get().cast()) };
        // INVARIANT: Just taken.
        MutexGuard {
            mutex: self,
            _thread: NotThreadSafe,
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type's invariant nobody else has the value.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the type's invariant nobody else has the value, and this is lent alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this thread holds it, and nobody uses the value
        // through the guard any more.
        unsafe { bindings::gp_rt_mutex_unlock(self.mutex.raw.get().cast()) }
    }
}

/// Initialises a [`Mutex`]: the value, and the name that the checker of locks shows.
#[macro_export]
macro_rules! new_mutex {
    ($value:expr, $name:literal $(,)?) => {{
        static KEY: $crate::sync::ClassKey = $crate::sync::ClassKey::new();
        const NAME: &::core::ffi::CStr =
            $crate::str::terminated(::core::concat!($name, "\0").as_bytes());
        $crate::sync::Mutex::new($value, NAME, &KEY)
    }};
}
