// SPDX-License-Identifier: GPL-2.0-only
//! The machine code of the MI300 (gfx942): what its bytes mean, and what a wave
//! that executes them does.
//!
//! [`code`] decodes instructions and writes them as LLVM's disassembler does;
//! [`wave::Wave`] is the state of one wave, and its `step` executes an instruction.
//! The crate reads and writes no files, knows no device and no process: memory is what
//! the caller says it is. `docs/machine-code.md` says where each fact comes from
//! and what is not there yet.
#![forbid(unsafe_code)]

pub mod code;
mod execute;
mod float;
pub mod wave;
