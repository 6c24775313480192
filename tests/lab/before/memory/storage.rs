// SPDX-License-Identifier: GPL-2.0-only
//! The memory that a scheduler works in. The caller lends it, so that nothing
//! is allocated here and the caller decides when and where it is.

use crate::memory::cooldown::PairSlot;
use crate::memory::process::ProcessSlot;
use crate::memory::queue::QueueSlot;

/// The queues that a node is sized for.
pub const QUEUE_SLOTS: usize = 1024;
/// The processes that a node is sized for: each queue may have its own.
pub const PROCESS_SLOTS: usize = QUEUE_SLOTS;
/// The pairs of processes that can be left alone at the same time.
pub const PAIR_SLOTS: usize = 64;

/// The memory of one scheduler. Any lengths will do: what does not fit is
/// exempt and counted. The slots start as `Default::default()`.
#[derive(Debug)]
pub struct Parts<'s> {
    /// One slot for each queue.
    pub queues: &'s mut [QueueSlot],
    /// One slot for each process with queues.
    pub processes: &'s mut [ProcessSlot],
    /// One slot for each pair of processes to be left alone.
    pub pairs: &'s mut [PairSlot],
}

/// What owns the memory of one scheduler: vectors of the kernel or of the host.
pub trait Storage {
    /// The memory, the same at every call.
    fn parts(&mut self) -> Parts<'_>;
}

impl Storage for Parts<'_> {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            queues: self.queues,
            processes: self.processes,
            pairs: self.pairs,
        }
    }
}
