// SPDX-License-Identifier: GPL-2.0-only
//! When something that led to nothing is tried again: later each time.

use crate::terms::time::Nanos;

/// How much longer the longest pause is than the first one.
const LONGEST: u64 = 64;

/// The stops or starts of a queue that led to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Retry {
    /// Nothing is tried before this time.
    at: Nanos,
    /// How many there were in a row.
    times: u32,
}

impl Retry {
    #[inline]
    pub(crate) fn at(&self) -> Nanos {
        self.at
    }

    /// Nothing is tried for a pause that doubles each time.
    pub(crate) fn put_off(&mut self, now: Nanos, pause: Nanos) {
        self.at = now.after(pause.doubled(self.times, pause.times(LONGEST)));
        self.times = self.times.saturating_add(1);
    }

    /// Nothing is tried before this time.
    pub(crate) fn wait_until(&mut self, time: Nanos) {
        self.at = time;
    }

    /// The next pause is the first one again.
    pub(crate) fn succeeded(&mut self) {
        self.times = 0;
    }

    /// As if nothing had failed.
    pub(crate) fn forget(&mut self) {
        *self = Retry::default();
    }
}
