// SPDX-License-Identifier: GPL-2.0-only
//! What instructions do, against expectations that have nothing of the crate. All of it
//! is one program, so that one of its tests can ask which operations the others try.

mod atomics;
mod buffer;
mod common;
mod comparisons;
mod control;
mod coverage;
mod directions;
mod eight;
mod float;
mod float_convert;
mod float_order;
mod forms;
mod handler;
mod kernels;
mod matrix;
mod memory;
mod packed;
mod scalar_arithmetic;
mod scalar_bits;
mod share;
mod vector_integer;
mod vector_widths;
mod xf32;
