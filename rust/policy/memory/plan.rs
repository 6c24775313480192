// SPDX-License-Identifier: GPL-2.0-only
//! What a pass works out about a queue or a process before it decides. It means
//! nothing to the next pass, so it does not count as a part of the state.

use core::hash::Hash;
use core::hash::Hasher;

use crate::terms::decision::Reason;
use crate::terms::time::Nanos;

/// Why a queue is to be stopped, and the place of the queue that it is stopped
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) reason: Reason,
    pub(crate) beneficiary_at: usize,
}

/// What a pass plans for a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueuePlan {
    start: Option<Reason>,
    claim: Option<Claim>,
    favoured: bool,
    prepares: Option<Nanos>,
}

impl Hash for QueuePlan {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl QueuePlan {
    /// It is taken to wait, because its process has announced a request at this time.
    pub(crate) fn prepare(&mut self, since: Nanos) {
        self.prepares = Some(since);
    }

    /// Since when a request for it has been announced that is not there yet.
    #[inline]
    pub(crate) fn prepares(&self) -> Option<Nanos> {
        self.prepares
    }

    /// Nothing is announced.
    #[inline]
    pub(crate) fn forget_preparation(&mut self) {
        self.prepares = None;
    }

    /// Nothing is planned about its start.
    pub(crate) fn clear_start(&mut self) {
        self.start = None;
    }

    pub(crate) fn start(&mut self, reason: Reason) {
        self.start = Some(reason);
    }

    /// Why it is to be started.
    pub(crate) fn planned_start(&self) -> Option<Reason> {
        self.start
    }

    /// Nothing is planned about its stop.
    pub(crate) fn clear_stop(&mut self) {
        self.claim = None;
        self.favoured = false;
    }

    pub(crate) fn set_claim(&mut self, claim: Option<Claim>) {
        self.claim = claim;
    }

    /// The claim on it.
    pub(crate) fn claim(&self) -> Option<Claim> {
        self.claim
    }

    /// Another queue was stopped for it.
    pub(crate) fn favour(&mut self) {
        self.favoured = true;
    }

    pub(crate) fn is_favoured(&self) -> bool {
        self.favoured
    }
}

/// What a pass plans for a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessPlan {
    stuck: bool,
}

impl Hash for ProcessPlan {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl ProcessPlan {
    /// Whether queues are stopped for it although it makes no progress.
    pub(crate) fn set_stuck(&mut self, stuck: bool) {
        self.stuck = stuck;
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck
    }
}
