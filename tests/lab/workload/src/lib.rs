// SPDX-License-Identifier: GPL-2.0-only
//! GPU loads for the end-to-end tests: programs that use the stock ROCr runtime
//! as any application does, plus clients of KFD's ioctls.
//!
//! All unsafe code is in `hsa` (the border to ROCr), `kfd::ioctl` (the border to
//! the driver) and `hint` (that to the module).

#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod arrival;
pub mod clock;
pub mod control;
pub mod counters;
pub mod direct;
pub mod group;
pub mod hint;
pub mod hsa;
pub mod kernel;
pub mod kfd;
pub mod latency;
pub mod load;
pub mod machine;
pub mod packet;
pub mod pm4;
pub mod poller;
pub mod real_time;
pub mod report;
pub mod spec;
pub mod user_scheduler;
