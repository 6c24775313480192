// SPDX-License-Identifier: GPL-2.0-only

//! The memory that the policy works in, for one node.

use gpreempt_policy::{
    LevelSlot, Parts, ProcessSlot, QueueSlot, Storage, TenantSlot, LEVELS, QUEUE_SLOTS,
};
use kernel::prelude::*;

/// Memory for as many queues as a node is sized for.
pub(crate) struct Slots {
    queues: KVVec<QueueSlot>,
    processes: KVVec<ProcessSlot>,
    tenants: KVVec<TenantSlot>,
    levels: KVVec<LevelSlot>,
}

impl Slots {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            queues: filled(QUEUE_SLOTS)?,
            processes: filled(QUEUE_SLOTS)?,
            tenants: filled(QUEUE_SLOTS)?,
            levels: filled(LEVELS)?,
        })
    }
}

impl Storage for Slots {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            queues: &mut self.queues,
            processes: &mut self.processes,
            tenants: &mut self.tenants,
            levels: &mut self.levels,
        }
    }
}

/// A vector of default values.
pub(crate) fn filled<T: Clone + Default>(count: usize) -> Result<KVVec<T>> {
    Ok(KVVec::from_elem(T::default(), count, GFP_KERNEL)?)
}

/// A vector with room and nothing in it.
pub(crate) fn room<T>(count: usize) -> Result<KVVec<T>> {
    Ok(KVVec::with_capacity(count, GFP_KERNEL)?)
}
