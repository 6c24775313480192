// SPDX-License-Identifier: GPL-2.0-only

//! Which queues are remembered to be stopped by us. Of these nothing has to be read but
//! their fields: to tell for any other whether it is stopped by us takes its descriptor,
//! which is in video memory, and there is a look every few hundred microseconds.

#![forbid(unsafe_code)]

use crate::{
    driver::queue::{QueueFacts, QueueKey},
    kernel::sort::sort_by_key,
    look::crowd::Known,
};
use gpreempt_policy::QUEUE_SLOTS;
use kernel::prelude::*;

/// The queues that were stopped by us at the last look, or were stopped since.
///
/// # Invariants
///
/// They are sorted.
pub(crate) struct Stops(KVVec<QueueKey>);

impl Stops {
    /// Room for as many as there can be.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(KVVec::with_capacity(QUEUE_SLOTS, GFP_KERNEL)?))
    }

    /// Takes those that are known to be stopped, instead of those before.
    pub(crate) fn remember(&mut self, known: impl Iterator<Item = Known>) {
        self.0.clear();
        for one in known.filter(|one| one.stopped) {
            // There is as much room as for what is in view.
            let _ = self.0.push_within_capacity(one.key);
        }
        // INVARIANT: Nothing else adds any.
        sort_by_key(&mut self.0, |key| *key);
    }

    /// A queue as it is to be taken, judged by its descriptor where nobody remembers to
    /// have stopped it. The lock must be held.
    pub(crate) fn judge(&self, queue: &QueueFacts) -> QueueFacts {
        let mut judged = *queue;
        if queue.may_be_started() && self.0.binary_search(&queue.key).is_err() {
            judged.compare_descriptor();
        }
        judged
    }
}
