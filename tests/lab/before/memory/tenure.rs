// SPDX-License-Identifier: GPL-2.0-only
//! Since when a queue has been running again, and until when it is left to run.

use crate::memory::stop::Immunity;
use crate::terms::time::Nanos;

/// A queue's latest time of running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tenure {
    /// When it was last seen to run again after it had been kept from it.
    began: Option<Nanos>,
    /// It may not be stopped before this time.
    immune: Nanos,
}

impl Tenure {
    /// It runs again from now on.
    pub(crate) fn begin(&mut self, now: Nanos, immunity: Immunity) {
        self.began = Some(now);
        self.immune = now.after(immunity.0);
    }

    /// How long it has run; for ever if it was never kept from it.
    pub(crate) fn length(&self, now: Nanos) -> Nanos {
        self.began.map_or(Nanos::NEVER, |began| now.since(began))
    }

    #[inline]
    pub(crate) fn is_immune(&self, now: Nanos) -> bool {
        now < self.immune
    }
}
