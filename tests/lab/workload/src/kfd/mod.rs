// SPDX-License-Identifier: GPL-2.0-only
//! KFD, AMD's compute driver, as its clients see it: ioctls and sysfs.

pub mod context;
pub mod debugger;
pub mod ioctl;
pub mod pressure;
pub mod sysfs;
pub mod trap;
