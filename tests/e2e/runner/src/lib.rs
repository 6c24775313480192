// SPDX-License-Identifier: GPL-2.0-only
//! Runs scenarios in guests of the stock kernel with the virtual MI300X.
//!
//! A guest is a QEMU machine restored from a snapshot in which amdgpu is loaded
//! and no GPU is there yet; the GPU, a process of its own, is plugged in then.
//! That takes seconds where a boot takes a minute.

pub mod accounts;
pub mod agent;
pub mod background;
pub mod built;
pub mod cache;
mod checkers;
mod coverage;
pub mod cpio;
pub mod device;
pub mod driver_file;
mod emulator;
pub mod failed;
pub mod failing;
pub mod firmware;
pub mod guest;
pub mod image;
pub mod kernels;
pub mod load;
pub mod log;
pub mod machine;
pub mod module;
mod needs;
pub mod partitions;
pub mod plan;
pub mod qmp;
pub mod results;
pub mod run_list;
pub mod scenario;
pub mod scenarios;
pub mod shell;
pub mod snapshot;
pub mod storm;
pub mod strict;
pub mod tracing;
