// SPDX-License-Identifier: GPL-2.0-only
//! Preemption (CWSR): how a user queue leaves its slot and comes back. Waves
//! are given a grace time, taken off the compute units and written to the
//! queue's own save area; later they are restored from that area alone.

mod area;
mod exit;
mod restore;
mod save;

pub use exit::{begin_exit, exit_progress, force_exit, grace_end};
pub use restore::{begin_restore, restore_end};
pub use save::{in_buffer, save_end};
