// SPDX-License-Identifier: GPL-2.0-only

//! What became of the decisions: kept for tables, told to the tracepoints, counted,
//! and reported to the policy.

use super::effective;
use super::NodeEngine;
use crate::node::record::Event;
use crate::node::record::Fate;
use crate::node::roster::Queue;
use gpreempt_policy::Action;
use gpreempt_policy::Config;
use gpreempt_policy::Decision;
use gpreempt_policy::Nanos;
use gpreempt_policy::Outcome;
use gpreempt_policy::Report;
use gpreempt_policy::Step;
use kfd::act::transaction::Failure;

impl NodeEngine {
    /// Keeps the decisions, tells them, and notes what became of them.
    pub(super) fn keep_decisions(
        &mut self,
        config: &Config<'_>,
        step: &Step,
        now: Nanos,
        failure: Option<Failure>,
    ) {
        for at in 0..step.decisions {
            let Some(decision) = self.decisions.get(at).copied() else {
                return;
            };
            let Some(queue) = self.roster.find(decision.queue).copied() else {
                continue;
            };
            let fate = self.fate(&decision, &queue, failure);
            self.note(&decision, fate);
            self.tell(config, &decision, &queue, fate);
            let beneficiary = decision
                .beneficiary
                .and_then(|id| self.roster.find(id))
                .map(|queue| (queue.pid, queue.key.id()));
            self.events.add(Event {
                number: 0,
                time: now,
                pid: queue.pid,
                queue_id: queue.key.id(),
                priority: queue.priority.level(),
                effective: effective(config, &queue),
                action: decision.action,
                reason: decision.reason,
                age: decision.age,
                fate,
                beneficiary,
            });
        }
    }

    /// What became of a decision.
    fn fate(&self, decision: &Decision, queue: &Queue, failure: Option<Failure>) -> Fate {
        if !decision.apply {
            return Fate::Observed;
        }
        if let Some(failure) = failure {
            return Fate::Failed(failure.failed());
        }
        match self.requests.carried_out(queue.key) {
            Some(_) => Fate::Done,
            None => Fate::Nothing,
        }
    }

    /// Counts what became of a decision, and has the policy hear of it.
    fn note(&mut self, decision: &Decision, fate: Fate) {
        let report = match fate {
            Fate::Observed => {
                self.counters.observed = self.counters.observed.saturating_add(1);
                return;
            }
            Fate::Done => Report::Done,
            Fate::Nothing => Report::NothingToDo,
            Fate::Failed(failed) => Report::Failed(failed),
        };
        if fate == Fate::Done {
            match decision.action {
                Action::Stop => {
                    self.counters.stops = self.counters.stops.saturating_add(1);
                    self.latencies.detection.add(decision.age);
                }
                Action::Start => {
                    self.counters.starts = self.counters.starts.saturating_add(1);
                    self.latencies.stopped.add(decision.age);
                }
            }
        }
        let _ = self.outcomes.push_within_capacity(Outcome {
            queue: decision.queue,
            report,
        });
    }
}
