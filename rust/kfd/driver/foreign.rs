// SPDX-License-Identifier: GPL-2.0-only

//! Memory that belongs to the driver.
//!
//! It is never borrowed: the driver changes it behind our back. It is read as
//! copies, by accesses that fail instead of faulting, so that a wrong layout or
//! a damaged list ends in an error and not in a crash with a lock held.

use crate::{
    driver::layout::{Place, MOST_QUEUE_BYTES},
    kernel::bindings,
};
use core::num::NonZeroUsize;

/// Types of which any bytes are a value.
///
/// # Safety
///
/// Every bit pattern must be a valid value, and there must be no padding.
pub(crate) unsafe trait AnyBits: Copy + Default {}

// SAFETY: Integers have no padding and no invalid values.
unsafe impl AnyBits for u8 {}
// SAFETY: Integers have no padding and no invalid values.
unsafe impl AnyBits for u16 {}
// SAFETY: Integers have no padding and no invalid values.
unsafe impl AnyBits for u32 {}
// SAFETY: Integers have no padding and no invalid values.
unsafe impl AnyBits for u64 {}
// SAFETY: Integers have no padding and no invalid values.
unsafe impl AnyBits for usize {}
// SAFETY: An array has no padding between its elements.
unsafe impl<T: AnyBits, const N: usize> AnyBits for [T; N] where [T; N]: Default {}

/// An address in the driver's memory. That there is anything is not promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign(NonZeroUsize);

impl Foreign {
    /// The address, unless it is null.
    #[inline]
    pub(crate) fn new(address: usize) -> Option<Self> {
        NonZeroUsize::new(address).map(Self)
    }

    /// The address as a number.
    #[inline]
    pub(crate) fn address(self) -> usize {
        self.0.get()
    }

    /// The address as C takes it.
    #[inline]
    pub(crate) fn as_ptr<T>(self) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.0.get())
    }

    /// The address of a part.
    #[inline]
    pub(crate) fn part(self, at: impl Place) -> Option<Self> {
        self.0.checked_add(at.offset()).map(Self)
    }

    /// The whole that this is a part of.
    #[inline]
    pub(crate) fn whole(self, at: impl Place) -> Option<Self> {
        Self::new(self.0.get().wrapping_sub(at.offset()))
    }

    /// Copies a value out, if there is memory.
    #[inline]
    pub(crate) fn read<T: AnyBits>(self, at: impl Place) -> Option<T> {
        let mut value = T::default();
        let from = self.part(at)?.as_ptr::<kernel::ffi::c_void>();
        // SAFETY: The shim reads by accesses that fail where there is no memory,
        // so that any address may be given; `value` has room for its own size,
        // and by `AnyBits` any bytes are a value of it.
        let read =
            unsafe { bindings::gp_read_kernel((&raw mut value).cast(), from, size_of::<T>()) };
        read.then_some(value)
    }

    /// Copies a pointer out; `None` also when it is null.
    #[inline]
    pub(crate) fn pointer(self, at: impl Place) -> Option<Self> {
        self.read(at).and_then(Self::new)
    }

    /// Copies a C `bool` out.
    #[inline]
    pub(crate) fn flag(self, at: impl Place) -> Option<bool> {
        self.read::<u8>(at).map(|byte| byte != 0)
    }

    /// The symbol that code at the address belongs to, as "name+0x0/0x10 [module]",
    /// ended by zeros.
    pub(crate) fn symbol(self) -> [u8; bindings::GP_SYMBOL_LEN as usize] {
        let mut symbol = [0u8; bindings::GP_SYMBOL_LEN as usize];
        // SAFETY: Any address may be asked about; the shim writes at most
        // `GP_SYMBOL_LEN` bytes.
        unsafe { bindings::gp_symbol_name(self.address(), symbol.as_mut_ptr().cast()) };
        symbol
    }

    /// Writes a value.
    ///
    /// # Safety
    ///
    /// At `at` must be a field of the type `T`, which the caller may change
    /// because it holds the lock that protects it.
    #[inline]
    pub(crate) unsafe fn write<T: AnyBits>(self, at: impl Place, value: T) {
        let to = self.as_ptr::<u8>().wrapping_add(at.offset()).cast::<T>();
        // SAFETY: By the function's requirement a field of this type is there, which the
        // caller may change.
        unsafe { to.write_volatile(value) }
    }
}

/// How many bytes a structure may have of which a copy is taken.
const ROOM: usize = MOST_QUEUE_BYTES;
/// The largest field that is taken.
const MOST_FIELD: usize = size_of::<u64>();

/// A copy of a structure of the driver, of which fields are taken.
///
/// That a field is within the structure was seen to when the layout became known. So a
/// place is only cut to what is inside of the room, which takes no branch.
pub(crate) struct Image([u8; ROOM + MOST_FIELD]);

impl Image {
    /// Copies a structure of so many bytes, if there is memory.
    #[inline]
    pub(crate) fn read(from: Foreign, bytes: usize) -> Option<Self> {
        let mut image = Self([0; ROOM + MOST_FIELD]);
        let room = image.0.get_mut(..bytes)?;
        let to = room.as_mut_ptr().cast();
        // SAFETY: The shim reads by accesses that fail where there is no memory, so that
        // any address may be given; `room` has room for so many bytes.
        let read = unsafe { bindings::gp_read_kernel(to, from.as_ptr(), bytes) };
        read.then_some(image)
    }

    #[inline]
    fn bytes<const LEN: usize>(&self, at: impl Place) -> [u8; LEN] {
        const { assert!(ROOM.is_power_of_two() && LEN <= MOST_FIELD) };
        let field = self.0.get(at.offset() & (ROOM - 1)..);
        let field = field.and_then(<[u8]>::first_chunk);
        field.copied().unwrap_or([0; LEN])
    }

    /// A field of 8 bytes.
    #[inline]
    pub(crate) fn long(&self, at: impl Place) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    /// A field of 4 bytes.
    #[inline]
    pub(crate) fn int(&self, at: impl Place) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    /// A field that is a C `bool`.
    #[inline]
    pub(crate) fn flag(&self, at: impl Place) -> bool {
        self.bytes(at) != [0]
    }

    /// A field that is a pointer.
    #[inline]
    pub(crate) fn pointer(&self, at: impl Place) -> Option<Foreign> {
        Foreign::new(usize::from_ne_bytes(self.bytes(at)))
    }

    /// A C `bool` that not every driver has; absent is false.
    #[inline]
    pub(crate) fn flag_if_any(&self, at: Option<usize>) -> bool {
        at.is_some_and(|at| self.flag(at))
    }
}
