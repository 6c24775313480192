// SPDX-License-Identifier: GPL-2.0-only

//! Types and functions of C that only suites use.

#![allow(non_camel_case_types, reason = "the names are C's")]

pub use kernel::bindings::*;
use kernel::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// KUnit's test while it runs, which C alone looks into.
#[repr(C)]
pub struct kunit {
    _unknown: [u8; 0],
}

/// A file of C's.
#[repr(C)]
pub struct file {
    _unknown: [u8; 0],
}

/// `struct gp_kunit_case`: one test, and room for what C makes of it.
#[repr(C)]
pub struct kunit_case {
    pub(crate) run: Option<unsafe extern "C" fn(*mut kunit)>,
    pub(crate) name: *const c_char,
    pub(crate) room: [u64; 14],
}

impl kunit_case {
    /// The end of a list.
    pub const END: Self = Self {
        run: None,
        name: core::ptr::null(),
        room: [0; 14],
    };
}

/// `struct gp_kunit_suite`: a list of tests, and room for what C makes of it.
#[repr(C)]
pub struct kunit_suite {
    #[doc(hidden)]
    pub name: *const c_char,
    #[doc(hidden)]
    pub cases: *mut kunit_case,
    #[doc(hidden)]
    pub room: [u64; 126],
}

/// `struct gp_kunit_completion`.
#[repr(C)]
pub struct completion {
    _space: [u64; 24],
}

unsafe extern "C" {
    pub fn gp_kunit_hand_over();
    pub fn gp_kunit_current_test() -> *mut kunit;
    pub fn gp_kunit_fail(test: *mut kunit, text: *const c_char, length: c_uint);
    pub fn gp_kunit_print(level: u8, text: *const c_char, length: c_uint);
    pub fn gp_kunit_pid() -> c_int;
    pub fn gp_kunit_mm() -> *mut mm_struct;
    pub fn gp_kunit_write_user(to: c_ulong, from: *const c_void, size: usize) -> bool;
    pub fn gp_kunit_completion_init(completion: *mut completion);
    pub fn gp_kunit_completion_complete_all(completion: *mut completion);
    pub fn gp_kunit_completion_wait(completion: *mut completion);
    pub fn kunit_vm_mmap(
        test: *mut kunit,
        file: *mut file,
        address: c_ulong,
        length: c_ulong,
        protection: c_ulong,
        flags: c_ulong,
        offset: c_ulong,
    ) -> c_ulong;
}

/// The test that runs in this thread, or null.
///
/// # Safety
///
/// It asks for nothing; the kernel's own function of this name is one of C.
pub unsafe fn kunit_get_current_test() -> *mut kunit {
    // SAFETY: It can be called in every thread.
    unsafe { gp_kunit_current_test() }
}
