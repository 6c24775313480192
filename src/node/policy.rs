// SPDX-License-Identifier: GPL-2.0-only

//! The policy of one node, with the memory for what it is told and what it says.

use crate::node::{
    roster::Queue,
    storage::{room, Slots},
};
use gpreempt_policy::{
    Config, Decision, Nanos, Observation, Priority, QueueId, Report, Scheduler, Step, QUEUE_SLOTS,
};
use kernel::prelude::*;
use kfd::act::failure::Failure;

/// The policy of one node.
pub(crate) struct NodePolicy {
    pub(crate) scheduler: Scheduler<Slots>,
    /// What was observed last.
    pub(crate) observations: KVVec<Observation>,
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
            decisions: KVVec::from_elem(Decision::default(), QUEUE_SLOTS, GFP_KERNEL)?,
            made: 0,
            // One of them may be about no decision.
            reports: room(QUEUE_SLOTS.saturating_add(1))?,
        })
    }

    /// Decides on what was observed, having heard of the last decisions.
    pub(crate) fn step(&mut self, now: Nanos, config: &Config) -> Step {
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
        self.report(NONE, Report::Failed(failure.kind()));
    }

    /// The priority that counts for a queue. One that the policy has no room for is
    /// exempt, so that its own is as good as any.
    pub(crate) fn effective(&mut self, queue: &Queue) -> Priority {
        let view = self.scheduler.queue(queue.id);
        view.map_or(queue.priority, |view| view.effective)
    }

    /// Forgets what was observed and reported: nobody looks any more.
    pub(crate) fn rest(&mut self) {
        self.observations.clear();
        self.reports.clear();
    }
}
