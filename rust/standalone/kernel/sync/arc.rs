// SPDX-License-Identifier: GPL-2.0-only

//! A value that many have, and that goes with the last of them.

use crate::{
    alloc::{give, take, AllocError, Flags, Kmalloc},
    error::Error,
};
use core::{
    alloc::Layout,
    marker::PhantomData,
    ops::Deref,
    ptr::NonNull,
    sync::atomic::{
        fence, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use pin_init::PinInit;

struct Counted<T> {
    count: AtomicUsize,
    value: T,
}

/// One of those that have a value. It never moves, and nobody gets it to himself.
///
/// # Invariants
///
/// The pointer is to a value in memory of `Kmalloc`, of whose count one is for this. (The
/// count has as many bits as an address, so that it cannot overflow.)
pub struct Arc<T>(NonNull<Counted<T>>, PhantomData<Counted<T>>);

// What it points to does not move with it.
impl<T> Unpin for Arc<T> {}

// SAFETY: Whoever has one has references to the value, and the last one drops it.
unsafe impl<T: Send + Sync> Send for Arc<T> {}
// SAFETY: From a reference to one, another can be made and sent.
unsafe impl<T: Send + Sync> Sync for Arc<T> {}

impl<T> Arc<T> {
    /// Moves a value to memory that many can have.
    pub fn new(value: T, _flags: Flags) -> Result<Self, AllocError> {
        let memory = take::<Kmalloc>(Layout::new::<Counted<T>>())?.cast::<Counted<T>>();
        let count = AtomicUsize::new(1);
        // SAFETY: The memory is for that and holds nothing.
        unsafe { memory.write(Counted { count, value }) };
        // INVARIANT: Just taken and filled, and the count is for this one.
        Ok(Self(memory, PhantomData))
    }

    /// Makes a value in memory that many can have.
    pub fn pin_init<E>(init: impl PinInit<T, E>, _flags: Flags) -> Result<Self, Error>
    where
        Error: From<E>,
    {
        let layout = Layout::new::<Counted<T>>();
        let memory = take::<Kmalloc>(layout)?.cast::<Counted<T>>();
        let counted = memory.as_ptr();
        // SAFETY: The memory is for that and holds nothing. The value is never moved.
        let made = unsafe {
            (&raw mut (*counted).count).write(AtomicUsize::new(1));
            init.__pinned_init(&raw mut (*counted).value)
        };
        if let Err(error) = made {
            // SAFETY: It was taken for this layout; a count needs no drop, and after a
            // failure there is no value.
            unsafe { give(memory.cast(), layout) };
            return Err(error.into());
        }
        // INVARIANT: Just taken and filled, and the count is for this one.
        Ok(Self(memory, PhantomData))
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: By the type's invariant the value is there for as long as this is.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        self.counted().count.fetch_add(1, Relaxed);
        // INVARIANT: Just counted.
        Self(self.0, PhantomData)
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if self.counted().count.fetch_sub(1, Release) != 1 {
            return;
        }
        // What the others did with the value is seen before it is dropped.
        fence(Acquire);
        // SAFETY: By the type's invariant this was the last one, so that nobody else uses
        // the value or its memory, which was taken for this layout.
        unsafe {
            self.0.drop_in_place();
            give(self.0.cast(), Layout::new::<Counted<T>>());
        }
    }
}
