// SPDX-License-Identifier: GPL-2.0-only

//! The C half of the module, as bindgen sees `bindings/shim.h`.

#![allow(
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports,
    reason = "generated code"
)]

use kernel::ffi;

include!("../../../bindings/shim.rs");
