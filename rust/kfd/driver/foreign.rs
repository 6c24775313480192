// SPDX-License-Identifier: GPL-2.0-only

//! Memory that belongs to the driver.
//!
//! It is never borrowed: the driver changes it behind our back. It is read as
//! copies, by accesses that fail instead of faulting, so that a wrong layout or
//! a damaged list ends in an error and not in a crash with a lock held.

use crate::kernel::bindings;
use core::mem::MaybeUninit;
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
    pub(crate) fn part(self, offset: usize) -> Option<Self> {
        self.0.checked_add(offset).map(Self)
    }

    /// The whole that this is a part of.
    #[inline]
    pub(crate) fn whole(self, offset: usize) -> Option<Self> {
        Self::new(self.0.get().wrapping_sub(offset))
    }

    /// Copies a value out, if there is memory.
    #[inline]
    pub(crate) fn read<T: AnyBits>(self, offset: usize) -> Option<T> {
        let mut value = T::default();
        let from = self.part(offset)?.as_ptr::<kernel::ffi::c_void>();
        // SAFETY: The shim reads by accesses that fail where there is no memory,
        // so that any address may be given; `value` has room for its own size,
        // and by `AnyBits` any bytes are a value of it.
        let read =
            unsafe { bindings::gp_read_kernel((&raw mut value).cast(), from, size_of::<T>()) };
        read.then_some(value)
    }

    /// Copies a pointer out; `None` also when it is null.
    #[inline]
    pub(crate) fn pointer(self, offset: usize) -> Option<Self> {
        self.read(offset).and_then(Self::new)
    }

    /// Copies a C `bool` out.
    #[inline]
    pub(crate) fn flag(self, offset: usize) -> Option<bool> {
        self.read::<u8>(offset).map(|byte| byte != 0)
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
    /// At `offset` must be a field of the type `T`, which the caller may change
    /// because it holds the lock that protects it.
    #[inline]
    pub(crate) unsafe fn write<T: AnyBits>(self, offset: usize, value: T) {
        let to = self.as_ptr::<u8>().wrapping_add(offset).cast::<T>();
        // SAFETY: By the function's requirement a field of this type is there, which the
        // caller may change.
        unsafe { to.write_volatile(value) }
    }
}

/// A copy of a structure of the driver, of which fields are taken.
pub(crate) struct Image<const N: usize>([u8; N]);

impl<const N: usize> Image<N> {
    /// Copies a structure, if there is memory.
    #[inline]
    pub(crate) fn read(from: Foreign) -> Option<Self> {
        let mut bytes = MaybeUninit::<[u8; N]>::uninit();
        // SAFETY: The shim reads by accesses that fail where there is no memory, so that
        // any address may be given; `bytes` has room for `N` bytes.
        let read = unsafe { bindings::gp_read_kernel(bytes.as_mut_ptr().cast(), from.as_ptr(), N) };
        // SAFETY: The shim says that it has written all bytes.
        read.then(|| Self(unsafe { bytes.assume_init() }))
    }

    /// The bytes at a place that is known to be inside when this is compiled.
    #[inline]
    fn bytes<const AT: usize, const LEN: usize>(&self) -> [u8; LEN] {
        const { assert!(AT + LEN <= N, "the field is not inside the structure") };
        let mut bytes = [0; LEN];
        for (to, from) in bytes.iter_mut().zip(self.0.iter().skip(AT)) {
            *to = *from;
        }
        bytes
    }

    /// A field of 8 bytes.
    #[inline]
    pub(crate) fn long<const AT: usize>(&self) -> u64 {
        u64::from_ne_bytes(self.bytes::<AT, 8>())
    }

    /// A field of 4 bytes.
    #[inline]
    pub(crate) fn int<const AT: usize>(&self) -> u32 {
        u32::from_ne_bytes(self.bytes::<AT, 4>())
    }

    /// A field that is a C `bool`.
    #[inline]
    pub(crate) fn flag<const AT: usize>(&self) -> bool {
        self.bytes::<AT, 1>() != [0]
    }

    /// A field that is a pointer.
    #[inline]
    pub(crate) fn pointer<const AT: usize>(&self) -> Option<Foreign> {
        Foreign::new(usize::from_ne_bytes(self.bytes::<AT, 8>()))
    }

    /// A C `bool` that not every release of the driver has; absent is false.
    #[inline]
    pub(crate) fn flag_if_any(&self, at: Option<usize>) -> bool {
        at.and_then(|at| self.0.get(at))
            .is_some_and(|&byte| byte != 0)
    }
}
