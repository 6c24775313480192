// SPDX-License-Identifier: GPL-2.0-only

//! A value of its own in the kernel's memory.

use crate::{
    alloc::{give, take, AllocError, Flags, Kmalloc},
    error::Error,
};
use core::{
    alloc::Layout,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    pin::Pin,
    ptr::NonNull,
};
use pin_init::PinInit;

/// A value of its own.
///
/// # Invariants
///
/// The pointer is to a value in memory of `Kmalloc` for its layout, which belongs to this
/// alone.
pub struct KBox<T: ?Sized>(NonNull<T>, PhantomData<T>);

// What it points to does not move with it.
impl<T: ?Sized> Unpin for KBox<T> {}

// SAFETY: By the type's invariant the value belongs to this, so that it goes where it goes.
unsafe impl<T: Send + ?Sized> Send for KBox<T> {}
// SAFETY: A reference to this gives references to the value, and nothing else.
unsafe impl<T: Sync + ?Sized> Sync for KBox<T> {}

/// A box of a type is one of a trait that it has.
#[cfg(gp_in_kernel)]
impl<T, U> core::ops::CoerceUnsized<KBox<U>> for KBox<T>
where
    T: ?Sized + core::marker::Unsize<U>,
    U: ?Sized,
{
}

impl<T> KBox<T> {
    /// Moves a value to memory of its own.
    pub fn new(value: T, _flags: Flags) -> Result<Self, AllocError> {
        let memory = take::<Kmalloc>(Layout::new::<T>())?.cast::<T>();
        // SAFETY: The memory is for a `T` and holds nothing.
        unsafe { memory.write(value) };
        // INVARIANT: Just taken and filled.
        Ok(Self(memory, PhantomData))
    }

    /// Makes a value in memory of its own.
    pub fn pin_init<E>(init: impl PinInit<T, E>, _flags: Flags) -> Result<Pin<Self>, Error>
    where
        Error: From<E>,
    {
        let layout = Layout::new::<T>();
        let memory = take::<Kmalloc>(layout)?.cast::<T>();
        // SAFETY: The memory is for a `T` and holds nothing. A value in it is never moved.
        if let Err(error) = unsafe { init.__pinned_init(memory.as_ptr()) } {
            // SAFETY: It was taken for this layout, and holds nothing after a failure.
            unsafe { give(memory.cast(), layout) };
            return Err(error.into());
        }
        // SAFETY: The value stays in this memory for as long as it is there.
        // INVARIANT: Just taken and filled.
        Ok(unsafe { Pin::new_unchecked(Self(memory, PhantomData)) })
    }
}

impl<T: ?Sized> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type's invariant there is a value, lent as this is.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for KBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the type's invariant there is a value that is this one's alone.
        unsafe { self.0.as_mut() }
    }
}

impl<T: ?Sized> Drop for KBox<T> {
    fn drop(&mut self) {
        let layout = Layout::for_value::<T>(self);
        // SAFETY: By the type's invariant there is a value, which nobody uses any more, in
        // memory that was taken for its layout.
        unsafe {
            self.0.drop_in_place();
            give(self.0.cast(), layout);
        }
    }
}
