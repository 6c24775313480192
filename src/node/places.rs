// SPDX-License-Identifier: GPL-2.0-only

//! Where in the list of the last look something is that is seen again.
//!
//! Looks see about the same in about the same order, so that each thing is mostly where it is
//! expected. Where it is not, the list's order of keys tells: programs decide how many of
//! their queues come and go, and a walk over all for each would cost the square of that.

use crate::node::storage::room;
use gpreempt_policy::QUEUE_SLOTS;
use kernel::prelude::*;
use kfd::kernel::sort::sort_by_key;

/// The places in a list of at most as many things as there is room for queues.
pub(crate) struct Places {
    /// Where the next one is expected: behind the one that was found last.
    expected: usize,
    /// The places in the order of keys.
    sorted: KVVec<usize>,
    /// They are those of the list that is gone through now.
    fresh: bool,
}

impl Places {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            expected: 0,
            sorted: room(QUEUE_SLOTS)?,
            fresh: false,
        })
    }

    /// Another list is gone through from now on.
    pub(crate) fn begin(&mut self) {
        self.expected = 0;
        self.fresh = false;
    }

    /// Finds the place of what has a key, which nothing else in the list has.
    pub(crate) fn find<T, K: Ord>(
        &mut self,
        all: &[T],
        key: impl Fn(&T) -> K,
        wanted: K,
    ) -> Option<usize> {
        let key_at = |at: usize| all.get(at).map(&key);
        let wanted = Some(wanted);
        let at = if key_at(self.expected) == wanted {
            self.expected
        } else {
            if !self.fresh {
                self.fresh = true;
                self.sorted.clear();
                for at in 0..all.len() {
                    let _ = self.sorted.push_within_capacity(at);
                }
                sort_by_key(&mut self.sorted, |&at| key_at(at));
            }
            let found = self.sorted.binary_search_by_key(&wanted, |&at| key_at(at));
            self.sorted.get(found.ok()?).copied()?
        };
        self.expected = at.saturating_add(1);
        Some(at)
    }
}
