// SPDX-License-Identifier: GPL-2.0-only
//! How long a node is without a queue that wants what others were stopped for, and how
//! long to wait for the next one before those are started.
//!
//! To start queues and to stop them again costs two transactions, so they are not started
//! in the moment between two requests that belong together. Where requests have been
//! far apart of late, no such moment is expected, and the wait is a short one. The
//! length of the wait is all that this changes.

use crate::settings::limits::Limits;
use crate::terms::time::Nanos;

/// How many long gaps in a row make the next one expected to be long.
const TRUSTED: u8 = 4;

/// The part of the usual wait that is enough where a long gap is expected.
const SHORT_PART: u64 = 15;

/// How many times as long as the usual wait a long gap is at least.
const LONG: u64 = 2;

/// The gaps of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Gaps {
    /// How many in a row were long, up to [`TRUSTED`].
    long: u8,
    /// When the one began in which queues were started.
    since: Option<Nanos>,
}

impl Gaps {
    pub(crate) const fn new() -> Gaps {
        Gaps {
            long: 0,
            since: None,
        }
    }

    /// Queues are started, because none has wanted what they had since this time.
    pub(crate) fn begin(&mut self, since: Nanos) {
        self.since = Some(since);
    }

    /// Queues are stopped.
    pub(crate) fn end(&mut self, now: Nanos, limits: &Limits) {
        if let Some(since) = self.since.take() {
            self.see(now.since(since), limits);
        }
    }

    /// A gap is over. One that even the short wait outlasts tells nothing.
    pub(crate) fn see(&mut self, gap: Nanos, limits: &Limits) {
        if gap >= limits.resume_delay.times(LONG) {
            self.long = self.long.saturating_add(1).min(TRUSTED);
        } else if gap >= short(limits) {
            self.long = 0;
        }
    }

    /// How long to wait for the next request.
    pub(crate) fn wait(&self, limits: &Limits) -> Nanos {
        if self.long >= TRUSTED {
            short(limits)
        } else {
            limits.resume_delay
        }
    }
}

fn short(limits: &Limits) -> Nanos {
    Nanos(limits.resume_delay.0 / SHORT_PART)
}
