// SPDX-License-Identifier: GPL-2.0-only

//! The types of C as the kernel has them: characters have no sign.

#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // They are C's names.

pub use core::ffi::{c_int, c_short, c_uchar, c_uint, c_ulonglong, c_ushort, c_void, CStr};

/// `char`.
pub type c_char = u8;
/// `long`, which is as large as a pointer.
pub type c_long = isize;
/// `unsigned long`.
pub type c_ulong = usize;
