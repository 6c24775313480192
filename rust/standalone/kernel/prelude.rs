// SPDX-License-Identifier: GPL-2.0-only

//! What every file of the module imports.

#![forbid(unsafe_code)]

pub use crate::alloc::flags::*;
pub use crate::boxed::KBox;
pub use crate::error::code::*;
pub use crate::error::Error;
pub use crate::error::Result;
pub use crate::ffi::c_char;
pub use crate::ffi::c_int;
pub use crate::ffi::c_long;
pub use crate::ffi::c_short;
pub use crate::ffi::c_uchar;
pub use crate::ffi::c_uint;
pub use crate::ffi::c_ulong;
pub use crate::ffi::c_ushort;
pub use crate::ffi::c_void;
pub use crate::ffi::CStr;
pub use crate::fmt;
pub use crate::module;
pub use crate::module::InPlaceModule;
pub use crate::module::ThisModule;
pub use crate::pr_err;
pub use crate::pr_info;
pub use crate::pr_warn;
pub use crate::str::CStrExt as _;
pub use crate::vec::KVVec;
pub use crate::vec::KVec;
pub use core::pin::Pin;
pub use pin_init::pin_data;
pub use pin_init::pin_init;
pub use pin_init::pinned_drop;
pub use pin_init::try_pin_init;
pub use pin_init::PinInit;
