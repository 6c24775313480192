// SPDX-License-Identifier: GPL-2.0-only
//! Until when the last launches of queues may run, where waves are not counted.
//!
//! A queue that is stopped may be held by any queue above it, and the one that it was
//! last held for is not always the one that is done last. Levels are enough to tell which
//! are above, and need no walk for each queue that is stopped.

use crate::terms::priority::Priority;
use crate::terms::priority::LEVELS;
use crate::terms::time::Nanos;

/// Until when the last launches of queues may run, by their level.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastLaunches {
    until: [Nanos; LEVELS],
}

impl LastLaunches {
    /// The last launch of a queue of this level may run until then.
    pub(crate) fn see(&mut self, level: Priority, until: Nanos) {
        if let Some(latest) = self.until.get_mut(level.index()) {
            *latest = until.max(*latest);
        }
    }

    /// Until when those of queues above this level may run.
    pub(crate) fn above(&self, level: Priority) -> Nanos {
        let above = self.until.iter().skip(level.index().saturating_add(1));
        above.copied().max().unwrap_or(Nanos::ZERO)
    }
}
