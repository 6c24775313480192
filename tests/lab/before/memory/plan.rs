// SPDX-License-Identifier: GPL-2.0-only
//! What a pass works out about a queue or a process before it decides. It means
//! nothing to the next pass, so it does not count as a part of the state.

use core::hash::Hash;
use core::hash::Hasher;

use crate::terms::decision::Reason;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
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

/// Whether a process is stopped where whole processes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Whole {
    /// Not decided yet.
    #[default]
    Open,
    /// Not in this pass: one of its busy queues may not be stopped, for example.
    Refused,
    /// All of its queues are stopped in this pass.
    Stopping,
}

/// What a pass plans for a process. All but the first two matter only where
/// whole processes are stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessPlan {
    stuck: bool,
    favoured: bool,
    stopped_since: Option<Nanos>,
    led: bool,
    held_for: Option<(QueueId, ProcessId)>,
    start: Option<(Reason, Option<QueueId>)>,
    claim: Option<Claim>,
    active: usize,
    whole: Whole,
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

    /// Another process was stopped for it.
    pub(crate) fn favour(&mut self) {
        self.favoured = true;
    }

    pub(crate) fn is_favoured(&self) -> bool {
        self.favoured
    }

    /// One of its queues has really been stopped since this time.
    pub(crate) fn see_stopped(&mut self, since: Nanos) {
        self.stopped_since = Some(self.stopped_since.map_or(since, |other| other.min(since)));
    }

    /// Since when it has really been stopped.
    pub(crate) fn stopped_since(&self) -> Option<Nanos> {
        self.stopped_since
    }

    /// One of its stopped queues had something to do, and decides for those that
    /// were stopped along with it.
    pub(crate) fn see_leader(&mut self) {
        self.led = true;
    }

    pub(crate) fn is_led(&self) -> bool {
        self.led
    }

    /// It stays stopped for a queue of another process.
    pub(crate) fn hold_for(&mut self, queue: QueueId, process: ProcessId) {
        self.held_for = Some((queue, process));
    }

    pub(crate) fn held_for(&self) -> Option<(QueueId, ProcessId)> {
        self.held_for
    }

    /// One of its queues is started; the first one says why.
    pub(crate) fn start(&mut self, reason: Reason, beneficiary: Option<QueueId>) {
        self.start = self.start.or(Some((reason, beneficiary)));
    }

    /// Why it is started, and which queue it was stopped for.
    pub(crate) fn planned_start(&self) -> Option<(Reason, Option<QueueId>)> {
        self.start
    }

    /// One of its queues would be stopped with it.
    pub(crate) fn count_active(&mut self) {
        self.active = self.active.saturating_add(1);
    }

    /// How many of its queues would be stopped.
    pub(crate) fn active(&self) -> usize {
        self.active
    }

    /// It is not stopped in this pass.
    pub(crate) fn refuse(&mut self) {
        self.whole = Whole::Refused;
    }

    /// It is stopped in this pass, or it is not.
    pub(crate) fn decide(&mut self, stops: bool) {
        self.whole = if stops {
            Whole::Stopping
        } else {
            Whole::Refused
        };
    }

    pub(crate) fn whole(&self) -> Whole {
        self.whole
    }

    /// One of its busy queues may be stopped by this claim, or may not. A process
    /// is stopped for one beneficiary or not at all.
    pub(crate) fn add_claim(&mut self, claim: Option<Claim>) {
        let first = self.claim.or(claim);
        let place = |claim: Claim| claim.beneficiary_at;
        if claim.is_none() || first.map(place) != claim.map(place) {
            self.refuse();
        }
        self.claim = first;
    }

    /// The claim on it.
    pub(crate) fn claim(&self) -> Option<Claim> {
        self.claim
    }
}
