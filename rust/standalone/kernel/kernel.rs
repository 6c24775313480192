// SPDX-License-Identifier: GPL-2.0-only

//! What the module needs of the kernel crate, under the same names, over functions of C
//! alone: for kernels that are built without Rust, or with another compiler.
//!
//! Whatever is here behaves as it does there, and nothing is here that the module does
//! not use. `bindings/runtime.c` is the other half.

#![no_std]
#![cfg_attr(gp_in_kernel, feature(coerce_unsized, unsize))]
#![allow(non_upper_case_globals)] // A value may have the name of its type.

extern crate self as kernel;

pub mod alloc;
pub mod bindings;
pub mod boxed;
pub mod error;
pub mod ffi;
pub mod module;
pub mod module_param;
pub mod prelude;
pub mod print;
pub mod seq_file;
pub mod str;
pub mod time;
pub mod vec;

/// Locks, counted references and atomics.
pub mod sync {
    mod arc;
    pub mod atomic;
    mod mutex;

    pub use arc::Arc;
    pub use mutex::{ClassKey, Mutex, MutexGuard};
}

/// Formatting, which is that of `core`.
pub mod fmt {
    pub use core::fmt::*;
}

/// Memory pages.
pub mod page {
    /// Of x86-64, the one architecture that the module is for.
    pub const PAGE_SIZE: usize = 4096;
}

/// Types that say something of how values are used.
pub mod types {
    use core::marker::PhantomData;

    /// A value that does not leave its thread.
    pub type NotThreadSafe = PhantomData<*mut ()>;
    /// That value.
    pub const NotThreadSafe: NotThreadSafe = PhantomData;
}

pub use module::{InPlaceModule, ThisModule};
