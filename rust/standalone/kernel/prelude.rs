// SPDX-License-Identifier: GPL-2.0-only

//! What every file of the module imports.

#![forbid(unsafe_code)]

pub use crate::{
    alloc::flags::*,
    boxed::KBox,
    error::{code::*, Error, Result},
    ffi::{c_char, c_int, c_long, c_short, c_uchar, c_uint, c_ulong, c_ushort, c_void, CStr},
    fmt, module,
    module::{InPlaceModule, ThisModule},
    pr_err, pr_info, pr_warn,
    str::CStrExt as _,
    vec::{KVVec, KVec},
};
pub use core::pin::Pin;
pub use pin_init::{pin_data, pin_init, pinned_drop, try_pin_init, PinInit};
