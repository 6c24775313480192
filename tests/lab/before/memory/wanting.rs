// SPDX-License-Identifier: GPL-2.0-only
//! Whether a queue wants the GPU: because it has work, or because its process has
//! announced some.

use crate::memory::queue::Queue;
use crate::terms::time::Nanos;

impl Queue {
    /// It wants the GPU, waiting or not, or is about to.
    #[inline]
    pub(crate) fn wants(&self) -> bool {
        self.work().wants() || self.plan().prepares().is_some()
    }

    /// It waits for the GPU, or is taken to.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.work().is_waiting() || self.plan().prepares().is_some()
    }

    /// Since when it has wanted the GPU without a break.
    pub(crate) fn wanting_since(&self) -> Nanos {
        let announced = self.plan().prepares();
        announced.unwrap_or(self.work().pending_since())
    }

    /// It has nothing to do, and would run if it had.
    pub(crate) fn is_at_rest(&self) -> bool {
        let work = self.work();
        self.phase().is_free()
            && work.is_active()
            && work.backlog() == 0
            && !work.wants()
            && !work.is_busy()
    }

    /// It has had nothing to do until this time, and has something now.
    pub(crate) fn has_new_work(&self, since: Nanos) -> bool {
        let work = self.work();
        (work.is_busy() && work.busy_since() >= since)
            || (work.is_pending() && work.pending_since() >= since)
    }

    /// It has done something since this time, or has something to do.
    pub(crate) fn is_alive_since(&self, since: Nanos) -> bool {
        let work = self.work();
        work.wants() || work.is_busy() || work.alive() >= since
    }
}
