// SPDX-License-Identifier: GPL-2.0-only

//! Memory of the task that runs.

use crate::bindings;
use kernel::error::{code::EFAULT, Result};

/// An address in that memory.
#[derive(Clone, Copy)]
pub struct UserPtr(usize);

impl UserPtr {
    /// That address, whatever is there.
    pub fn from_addr(address: usize) -> Self {
        Self(address)
    }
}

/// A piece of that memory.
pub struct UserSlice(UserPtr, usize);

impl UserSlice {
    /// So many bytes.
    pub fn new(place: UserPtr, length: usize) -> Self {
        Self(place, length)
    }

    /// To write to them.
    pub fn writer(self) -> Writer {
        Writer(self)
    }
}

/// Writes to it.
pub struct Writer(UserSlice);

impl Writer {
    /// Writes a number.
    pub fn write(&mut self, value: &u64) -> Result {
        let UserSlice(UserPtr(address), length) = self.0;
        if length < size_of::<u64>() {
            return Err(EFAULT);
        }
        let from = core::ptr::from_ref(value).cast();
        // SAFETY: C copies so many bytes, which are there, to where the task may write.
        match unsafe { bindings::gp_kunit_write_user(address, from, size_of::<u64>()) } {
            true => Ok(()),
            false => Err(EFAULT),
        }
    }
}
