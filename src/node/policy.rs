// SPDX-License-Identifier: GPL-2.0-only

//! The policy of one node, with the memory for what it is told and what it says.

use crate::node::{
    observation::observe,
    roster::{Queue, Roster},
    storage::{room, Slots},
};
use gpreempt_policy::{
    Arming, Config, Decision, Nanos, Observation, Priority, QueueId, QueueView, Report, Scheduler,
    Step, QUEUE_SLOTS,
};
use kernel::prelude::*;
use kfd::{act::failure::Failure, look::survey::Survey};

/// The policy of one node.
pub(crate) struct NodePolicy {
    scheduler: Scheduler<Slots>,
    observations: KVVec<Observation>,
    /// The decisions of the last step, and behind them room for more.
    decisions: KVVec<Decision>,
    /// How many decisions the last step made.
    made: usize,
    /// What became of the decisions, which the next step hears.
    reports: KVVec<gpreempt_policy::Outcome>,
}

impl NodePolicy {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            scheduler: Scheduler::new(Slots::new()?),
            observations: room(QUEUE_SLOTS)?,
            decisions: KVVec::from_elem(Decision::NONE, QUEUE_SLOTS, GFP_KERNEL)?,
            made: 0,
            // One of them may be about no decision.
            reports: room(QUEUE_SLOTS.saturating_add(1))?,
        })
    }

    /// Takes in what was seen. The survey must be the one that the roster took in
    /// last.
    pub(crate) fn observe(&mut self, survey: &Survey, roster: &mut Roster) {
        observe(survey, roster, &mut self.observations);
    }

    /// Decides on what was observed, having heard of the last decisions.
    pub(crate) fn step(&mut self, now: Nanos, config: &Config<'_>) -> Step {
        let step = self.scheduler.step(
            now,
            config,
            &self.observations,
            &self.reports,
            &mut self.decisions,
        );
        self.made = step.decisions;
        self.reports.clear();
        step
    }

    /// The decisions of the last step.
    pub(crate) fn decisions(&self) -> &[Decision] {
        self.decisions.get(..self.made).unwrap_or_default()
    }

    /// Notes for the next step what became of a decision.
    pub(crate) fn report(&mut self, queue: QueueId, report: Report) {
        // There is room for each decision and one more.
        let _ = self
            .reports
            .push_within_capacity(gpreempt_policy::Outcome { queue, report });
    }

    /// Notes for the next step that a transaction failed which no decision had asked for:
    /// it counts like any other.
    pub(crate) fn failed(&mut self, failure: Failure) {
        /// Names of queues begin above it.
        const NONE: QueueId = QueueId(0);
        self.report(NONE, Report::Failed(failure.failed()));
    }

    /// Whether the pause after the last failure is over.
    pub(crate) fn may_retry(&self, now: Nanos) -> bool {
        self.scheduler.may_retry(now)
    }

    /// Nothing of the node runs now, so that nobody is to be blamed.
    pub(crate) fn excuse(&mut self) {
        self.scheduler.excuse();
    }

    /// What a transaction took in all.
    pub(crate) fn transaction_took(&mut self, took: Nanos) {
        self.scheduler.transaction_took(took);
    }

    /// The view of a queue, if the policy has room for it.
    pub(crate) fn view(&mut self, queue: QueueId) -> Option<QueueView> {
        self.scheduler.queue(queue)
    }

    /// The priority that counts for a queue. One that the policy has no room for is
    /// exempt, so that its own is as good as any.
    pub(crate) fn effective(&mut self, queue: &Queue) -> Priority {
        self.view(queue.id)
            .map_or(queue.priority, |view| view.effective)
    }

    /// Whether the policy may act on the node.
    pub(crate) fn arming(&self) -> Arming {
        self.scheduler.arming()
    }

    /// Arms the node, and forgets its failures.
    pub(crate) fn rearm(&mut self) {
        self.scheduler.rearm();
    }

    /// Forgets what was observed and reported: nobody looks any more.
    pub(crate) fn rest(&mut self) {
        self.observations.clear();
        self.reports.clear();
    }
}
