// SPDX-License-Identifier: GPL-2.0-only

//! Numbers that several threads change. The processor's own operations do it, which are
//! at least as strong as what is asked for.

use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// How an access is ordered among others of its thread.
pub trait Order {
    /// For an access that reads.
    const LOAD: Ordering;
    /// For an access that writes.
    const STORE: Ordering;
    /// For an access that does both.
    const BOTH: Ordering;
}

macro_rules! orders {
    ($($(#[$text:meta])* $name:ident = $load:ident $store:ident $both:ident;)*) => {
        $(
            $(#[$text])*
            #[derive(Clone, Copy)]
            pub struct $name;

            impl Order for $name {
                const LOAD: Ordering = Ordering::$load;
                const STORE: Ordering = Ordering::$store;
                const BOTH: Ordering = Ordering::$both;
            }
        )*
    };
}

orders! {
    /// In no way.
    Relaxed = Relaxed Relaxed Relaxed;
    /// What comes later in the text comes later.
    Acquire = Acquire SeqCst Acquire;
    /// What comes earlier in the text comes earlier.
    Release = SeqCst Release Release;
    /// In every way.
    Full = SeqCst SeqCst SeqCst;
}

/// A value that several threads change.
#[repr(transparent)]
pub struct Atomic<T>(UnsafeCell<T>);

// SAFETY: The value is only reached by atomic operations.
unsafe impl<T: Send> Sync for Atomic<T> {}

impl<T> Atomic<T> {
    /// One with a value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

macro_rules! atomic {
    ($($type:ty, $repr:ty;)*) => {
        $(
            impl Atomic<$type> {
                fn repr(&self) -> &$repr {
                    // SAFETY: The type has one with atomic operations, of the same size and
                    // alignment on this architecture, and nothing else reaches the value.
                    unsafe { <$repr>::from_ptr(self.0.get()) }
                }

                /// Reads it.
                pub fn load<O: Order>(&self, _order: O) -> $type {
                    self.repr().load(O::LOAD)
                }

                /// Writes it.
                pub fn store<O: Order>(&self, value: $type, _order: O) {
                    self.repr().store(value, O::STORE);
                }

                /// Writes it; the value that was there.
                pub fn xchg<O: Order>(&self, value: $type, _order: O) -> $type {
                    self.repr().swap(value, O::BOTH)
                }

                /// Writes it if it is what is expected; the value that was there.
                pub fn cmpxchg<O: Order>(
                    &self,
                    old: $type,
                    new: $type,
                    _order: O,
                ) -> Result<$type, $type> {
                    self.repr().compare_exchange(old, new, O::BOTH, Ordering::Relaxed)
                }
            }
        )*
    };
}

atomic! {
    bool, AtomicBool;
    u32, AtomicU32;
    u64, AtomicU64;
    usize, AtomicUsize;
}

macro_rules! count {
    ($($type:ty)*) => {
        $(
            impl Atomic<$type> {
                /// Adds to it, round and round; the value that was there.
                pub fn fetch_add<O: Order>(&self, value: $type, _order: O) -> $type {
                    self.repr().fetch_add(value, O::BOTH)
                }

                /// Adds to it, round and round.
                pub fn add<O: Order>(&self, value: $type, order: O) {
                    self.fetch_add(value, order);
                }
            }
        )*
    };
}

count! { u32 u64 usize }
