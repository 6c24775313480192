// SPDX-License-Identifier: GPL-2.0-only

//! Types and functions of C. What the kernel's own types hold is known to C alone, but
//! for those of parameters, whose layout `bindings/runtime.c` checks.

#![allow(
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    missing_docs,
    non_camel_case_types,
    unused,
    reason = "half of it is generated, and the names are C's"
)]

use crate::ffi;

include!("../../../bindings/runtime.rs");

macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            pub struct $name {
                _unknown: [u8; 0],
            }
        )*
    };
}

opaque! {
    cgroup dentry device device_driver mm_struct module mutex rw_semaphore seq_file
    task_struct
}

#[repr(C)]
pub struct kernel_param_ops {
    pub flags: ffi::c_uint,
    pub set: Option<unsafe extern "C" fn(*const ffi::c_char, *const kernel_param) -> ffi::c_int>,
    pub get: Option<unsafe extern "C" fn(*mut ffi::c_char, *const kernel_param) -> ffi::c_int>,
    pub free: Option<unsafe extern "C" fn(*mut ffi::c_void)>,
}

#[repr(C)]
pub struct kernel_param {
    pub name: *const ffi::c_char,
    pub mod_: *mut module,
    pub ops: *const kernel_param_ops,
    pub perm: u16,
    pub level: i8,
    pub flags: u8,
    pub __bindgen_anon_1: kernel_param__bindgen_ty_1,
}

#[repr(C)]
pub union kernel_param__bindgen_ty_1 {
    pub arg: *mut ffi::c_void,
}

// SAFETY: These are exported by every kernel, and declared there so.
unsafe extern "C" {
    pub static __this_module: module;
    pub fn ktime_get() -> i64;
}

pub const ETIME: u32 = 62;
