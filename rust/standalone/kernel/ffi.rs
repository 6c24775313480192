// SPDX-License-Identifier: GPL-2.0-only

//! The types of C as the kernel has them: characters have no sign.

#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // They are C's names.

pub use core::ffi::c_int;
pub use core::ffi::c_short;
pub use core::ffi::c_uchar;
pub use core::ffi::c_uint;
pub use core::ffi::c_ulonglong;
pub use core::ffi::c_ushort;
pub use core::ffi::c_void;
pub use core::ffi::CStr;

/// `char`.
pub type c_char = u8;
/// `long`, which is as large as a pointer.
pub type c_long = isize;
/// `unsigned long`.
pub type c_ulong = usize;
