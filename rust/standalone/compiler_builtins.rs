// SPDX-License-Identifier: GPL-2.0-only

//! The crate that rustc links into each other: what it would hold, the kernel has.

#![allow(internal_features)]
#![feature(compiler_builtins)]
#![compiler_builtins]
#![no_builtins]
#![no_std]
#![forbid(unsafe_code)]
