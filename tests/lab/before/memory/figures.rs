// SPDX-License-Identifier: GPL-2.0-only
//! What is counted of a queue for tables. Nothing is decided by it.

use crate::terms::time::Nanos;

/// The figures of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Figures {
    /// Since when the verdict on it has been what it is.
    since: Nanos,
    stops: u64,
    stopped: Nanos,
    ran: Nanos,
}

impl Figures {
    /// Those of a queue that is seen for the first time.
    pub(crate) fn new(now: Nanos) -> Figures {
        Figures {
            since: now,
            ..Figures::default()
        }
    }

    /// The verdict on it has changed.
    pub(crate) fn changed(&mut self, now: Nanos) {
        self.since = now;
    }

    pub(crate) fn count_stop(&mut self) {
        self.stops = self.stops.saturating_add(1);
    }

    /// Books a stop that ends now.
    pub(crate) fn book_stop(&mut self, now: Nanos, since: Nanos) {
        self.stopped = self.stopped.after(now.since(since));
    }

    /// Books a time that it was seen running.
    pub(crate) fn book_run(&mut self, ran: Nanos) {
        self.ran = self.ran.after(ran);
    }

    pub(crate) fn since(&self) -> Nanos {
        self.since
    }

    /// How often it was stopped.
    pub(crate) fn stops(&self) -> u64 {
        self.stops
    }

    /// How long it was stopped in all.
    pub(crate) fn stopped(&self) -> Nanos {
        self.stopped
    }

    /// How long it was seen running in all.
    pub(crate) fn ran(&self) -> Nanos {
        self.ran
    }
}
