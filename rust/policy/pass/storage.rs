// SPDX-License-Identifier: GPL-2.0-only
//! The memory that a scheduler works in. The caller lends it, so that nothing
//! is allocated here and the caller decides when and where it is.

use crate::level::LevelSlot;
use crate::process::tenant::TenantSlot;
use crate::process::ProcessSlot;
use crate::queue::QueueSlot;
use crate::terms::LEVELS;

/// The queues that a node is sized for.
pub const QUEUE_SLOTS: usize = 1024;
/// The processes that a node is sized for: each queue may have its own.
pub const PROCESS_SLOTS: usize = QUEUE_SLOTS;
/// The tenants that a node is sized for: each process may have its own.
pub const TENANT_SLOTS: usize = PROCESS_SLOTS;
/// One for each priority level.
pub const LEVEL_SLOTS: usize = LEVELS;

/// The memory of one scheduler. Any lengths will do: what does not fit is
/// exempt and counted. The slots start as `Default::default()`.
#[derive(Debug)]
pub struct Parts<'s> {
    /// One slot for each queue.
    pub queues: &'s mut [QueueSlot],
    /// One slot for each process with queues.
    pub processes: &'s mut [ProcessSlot],
    /// One slot for each tenant with processes.
    pub tenants: &'s mut [TenantSlot],
    /// One slot for each level. With fewer than [`LEVEL_SLOTS`] nothing is decided.
    pub levels: &'s mut [LevelSlot],
}

/// What owns the memory of one scheduler: vectors of the kernel or of the host.
pub trait Storage {
    /// The memory, the same at every call.
    fn parts(&mut self) -> Parts<'_>;
}
