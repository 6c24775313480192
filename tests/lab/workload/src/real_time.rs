// SPDX-License-Identifier: GPL-2.0-only
//! Threads that no ordinary work on the processor delays.

#![allow(unsafe_code)]

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::libc;

/// Gives the calling thread, and those that it starts from now on, the lowest real-time
/// priority.
pub fn begin() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: The parameters outlive the call, which concerns the calling thread alone.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    Errno::result(set).context("asking for a real-time priority, which root may")?;
    Ok(())
}
