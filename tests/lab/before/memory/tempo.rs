// SPDX-License-Identifier: GPL-2.0-only
//! How long the launches of a queue take, one after another.
//!
//! A read pointer moves when a packet is launched, so that where waves are not counted
//! nothing shows when the last launch ends. It is taken to last as long as those before
//! it did; else queues that are started for a pause would be in its way.
//!
//! How long the first launch of a request takes cannot be told: the pointer moves past it
//! when others have made room for it.

use crate::terms::time::Nanos;

/// The launches that a read pointer last moved past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tempo {
    /// How long each of them took, zero where that is not known.
    each: Nanos,
}

impl Tempo {
    /// The read pointer has moved past so many packets in this time, none of which were
    /// seen waiting if there are none.
    pub(crate) fn see(&mut self, took: Nanos, packets: u32) {
        self.each = Nanos(took.0.checked_div(u64::from(packets)).unwrap_or(0));
    }

    /// The read pointer has moved past packets of which is not known how long they took.
    pub(crate) fn forget(&mut self) {
        self.each = Nanos::ZERO;
    }

    /// When a launch of this time may end, which is not expected to take longer than the
    /// longest.
    pub(crate) fn end(&self, launched: Nanos, longest: Nanos) -> Nanos {
        launched.after(self.each.min(longest))
    }
}
