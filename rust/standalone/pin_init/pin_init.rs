// SPDX-License-Identifier: GPL-2.0-only

//! Initialisation in place, for a build without the kernel's pin-init: as much of it as
//! the module uses, under the same names. What pin-init refuses is refused by the native
//! build, which compiles the same sources.

#![no_std]

use core::{convert::Infallible, marker::PhantomData, pin::Pin};

pub use pin_data::{pin_data, pinned_drop};

/// Something that makes a `T` where it is to stay.
///
/// # Safety
///
/// When [`PinInit::__pinned_init`] returns `Ok`, there is a `T` in the slot; otherwise
/// there is nothing in it that would have to be dropped.
#[must_use = "an initialiser does nothing until it is used"]
pub unsafe trait PinInit<T, E = Infallible>: Sized {
    /// Makes the value.
    ///
    /// # Safety
    ///
    /// `slot` must be valid for writes, and hold no value. If the result is `Ok`, the
    /// value must not be moved any more.
    unsafe fn __pinned_init(self, slot: *mut T) -> Result<(), E>;

    /// Calls a function with the value once it is made. If that fails, the value is
    /// dropped.
    fn pin_chain<F>(self, then: F) -> impl PinInit<T, E>
    where
        F: FnOnce(Pin<&mut T>) -> Result<(), E>,
    {
        let init = move |slot: *mut T| {
            // SAFETY: By the requirement of the closure, which is the function's own.
            unsafe { self.__pinned_init(slot) }?;
            // INVARIANT: A value has just been made there.
            let made = Made(slot);
            // SAFETY: There is a value, which nobody else knows of and nobody moves.
            then(unsafe { Pin::new_unchecked(&mut *slot) })?;
            made.keep();
            Ok(())
        };
        // SAFETY: It returns `Ok` with a value in the slot, and otherwise drops it.
        unsafe { pin_init_from_closure(init) }
    }
}

struct Closure<F, T, E>(F, PhantomData<fn(T) -> E>);

// SAFETY: By the requirement of `pin_init_from_closure`, which alone makes the type.
unsafe impl<F, T, E> PinInit<T, E> for Closure<F, T, E>
where
    F: FnOnce(*mut T) -> Result<(), E>,
{
    // SAFETY: What the trait requires is what the function relies on.
    unsafe fn __pinned_init(self, slot: *mut T) -> Result<(), E> {
        (self.0)(slot)
    }
}

/// An initialiser that calls a function.
///
/// # Safety
///
/// The function is called under the requirements of [`PinInit::__pinned_init`], and must
/// do what [`PinInit`] promises.
pub const unsafe fn pin_init_from_closure<T, E>(
    init: impl FnOnce(*mut T) -> Result<(), E>,
) -> impl PinInit<T, E> {
    Closure(init, PhantomData)
}

/// An initialiser that is made only when it is used.
pub fn pin_init_scope<T, E, I>(make: impl FnOnce() -> Result<I, E>) -> impl PinInit<T, E>
where
    I: PinInit<T, E>,
{
    // SAFETY: The other initialiser keeps the promise, under the same requirements.
    unsafe { pin_init_from_closure(move |slot| make()?.__pinned_init(slot)) }
}

/// A destructor of a pinned value.
pub trait PinnedDrop {
    /// Ends the value.
    ///
    /// # Safety
    ///
    /// Only to be called by the type's `Drop`.
    unsafe fn drop(self: Pin<&mut Self>);
}

/// A value that was made in a slot, and is dropped unless it is to be kept.
///
/// # Invariants
///
/// There is a value at the pointer, which nothing else drops.
#[doc(hidden)]
pub struct Made<T>(*mut T);

impl<T> Made<T> {
    /// # Safety
    ///
    /// There must be a value at the pointer, which nothing else drops unless
    /// [`Made::keep`] is called.
    pub unsafe fn new(slot: *mut T) -> Self {
        // INVARIANT: By the function's requirement.
        Self(slot)
    }

    /// Leaves the value to the structure that it is part of.
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl<T> Drop for Made<T> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant there is a value, dropped here alone.
        unsafe { core::ptr::drop_in_place(self.0) }
    }
}

/// An initialiser of a structure that cannot fail: `pin_init!(Self { a: 1, b <- init })`.
#[macro_export]
macro_rules! pin_init {
    ($(&$this:ident in)? $structure:ident { $($fields:tt)* }) => {
        $crate::__structure!([$($this)?] $structure, ::core::convert::Infallible, $($fields)*)
    };
}

/// An initialiser of a structure that can fail: `try_pin_init!(Self { a: f()? }? Error)`.
/// `&this in` before the name gives a pointer to the structure, whose fields are made in
/// the order in which they are written.
#[macro_export]
macro_rules! try_pin_init {
    ($(&$this:ident in)? $structure:ident { $($fields:tt)* }? $error:ty) => {
        $crate::__structure!([$($this)?] $structure, $error, $($fields)*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __structure {
    ([$($this:ident)?] $structure:ident, $error:ty, $($fields:tt)*) => {{
        let init = move |slot: *mut $structure| -> ::core::result::Result<(), $error> {
            $(
                // SAFETY: By the requirement of the closure the slot can be written to.
                let $this = unsafe { ::core::ptr::NonNull::new_unchecked(slot) };
            )?
            $crate::__fields!(slot, $structure, [] $($fields)*);
            Ok(())
        };
        // SAFETY: `Ok` means that each field was made: the closure that nobody calls has a
        // structure of the same fields. What was made is dropped on any other way out.
        unsafe { $crate::pin_init_from_closure::<$structure, $error>(init) }
    }};
}

/// One field after the other, each inside the block of the one before, so that all that
/// were made are dropped when a later one fails.
#[doc(hidden)]
#[macro_export]
macro_rules! __fields {
    ($slot:ident, $structure:ident, [$($made:ident)*]) => {
        #[allow(unreachable_code, clippy::diverging_sub_expression)]
        let _all = || -> $structure {
            $structure { $($made: ::core::unreachable!(),)* }
        };
    };
    ($slot:ident, $structure:ident, [$($made:ident)*]
        $field:ident <- $init:expr $(, $($rest:tt)*)?) => {{
        let init = $init;
        // SAFETY: By the requirement of the closure that this is in, the field can be
        // written to, holds nothing, and is pinned with the whole. It is made once.
        let field = unsafe {
            $crate::PinInit::__pinned_init(init, &raw mut (*$slot).$field)?;
            $crate::Made::new(&raw mut (*$slot).$field)
        };
        $crate::__fields!($slot, $structure, [$($made)* $field] $($($rest)*)?);
        field.keep();
    }};
    ($slot:ident, $structure:ident, [$($made:ident)*]
        $field:ident: $value:expr $(, $($rest:tt)*)?) => {{
        let value = $value;
        // SAFETY: By the requirement of the closure that this is in, the field can be
        // written to and holds nothing. It is made once.
        let field = unsafe {
            (&raw mut (*$slot).$field).write(value);
            $crate::Made::new(&raw mut (*$slot).$field)
        };
        $crate::__fields!($slot, $structure, [$($made)* $field] $($($rest)*)?);
        field.keep();
    }};
    ($slot:ident, $structure:ident, [$($made:ident)*]
        $field:ident $(, $($rest:tt)*)?) => {
        $crate::__fields!($slot, $structure, [$($made)*] $field: $field $(, $($rest)*)?)
    };
}
