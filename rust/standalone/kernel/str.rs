// SPDX-License-Identifier: GPL-2.0-only

//! Text for C.

use crate::{
    alloc::flags::GFP_KERNEL,
    error::{
        code::{EINVAL, ENOMEM},
        Error,
    },
    ffi::c_char,
    vec::KVec,
};
use core::{ffi::CStr, fmt, fmt::Write, ops::Deref};

/// Between a text and C's pointers to one, whose characters have no sign in the kernel.
pub trait CStrExt {
    /// A text of C.
    ///
    /// # Safety
    ///
    /// The pointer must be to characters that end with a zero and outlive the result.
    unsafe fn from_char_ptr<'a>(text: *const c_char) -> &'a Self;

    /// The pointer for C.
    fn as_char_ptr(&self) -> *const c_char;
}

impl CStrExt for CStr {
    // SAFETY: What the trait requires is all that is relied on.
    unsafe fn from_char_ptr<'a>(text: *const c_char) -> &'a Self {
        // SAFETY: By the function's requirement there is such a text for so long.
        unsafe { CStr::from_ptr(text.cast()) }
    }

    fn as_char_ptr(&self) -> *const c_char {
        self.as_ptr().cast()
    }
}

/// A constant that ends with its only zero, for macros; anything else does not compile.
#[doc(hidden)]
pub const fn terminated(bytes: &'static [u8]) -> &'static CStr {
    match CStr::from_bytes_with_nul(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a name with a zero in it"),
    }
}

/// Writes to memory of a fixed size. What does not fit is refused.
pub struct Formatter<'a> {
    buffer: &'a mut [u8],
    written: usize,
}

impl<'a> Formatter<'a> {
    /// Writes to the start of a buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, written: 0 }
    }

    /// How much has been written.
    pub fn bytes_written(&self) -> usize {
        self.written
    }
}

impl Write for Formatter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.written.checked_add(text.len()).ok_or(fmt::Error)?;
        let place = self.buffer.get_mut(self.written..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.written = end;
        Ok(())
    }
}

/// A text of its own for C.
///
/// # Invariants
///
/// The bytes end with the only zero among them.
pub struct CString(KVec<u8>);

impl CString {
    /// Makes a text. One with a zero in it is refused.
    pub fn try_from_fmt(arguments: fmt::Arguments<'_>) -> Result<Self, Error> {
        let mut text = Text(KVec::new());
        text.write_fmt(arguments).or(Err(ENOMEM))?;
        text.0.push(0, GFP_KERNEL)?;
        CStr::from_bytes_with_nul(&text.0).or(Err(EINVAL))?;
        // INVARIANT: Just looked at.
        Ok(Self(text.0))
    }
}

impl Deref for CString {
    type Target = CStr;

    fn deref(&self) -> &CStr {
        // SAFETY: By the type's invariant they are the bytes of a text.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}

struct Text(KVec<u8>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.as_bytes();
        self.0
            .extend_from_slice(bytes, GFP_KERNEL)
            .or(Err(fmt::Error))
    }
}
