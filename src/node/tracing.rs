// SPDX-License-Identifier: GPL-2.0-only

//! Inversions and decisions, for the tracepoints.

use super::NodeEngine;
use crate::node::record::Fate;
use crate::node::roster::Queue;
use gpreempt_policy::Action;
use gpreempt_policy::Config;
use gpreempt_policy::Decision;
use gpreempt_policy::Mode;
use gpreempt_policy::Nanos;
use gpreempt_policy::Reason;
use gpreempt_policy::Step;
use kfd::operator::trace;

impl NodeEngine {
    /// Tells an inversion when it begins.
    pub(super) fn trace_inversion(&mut self, config: &Config<'_>, step: &Step) {
        let waiting = step.inversion.map(|inversion| inversion.waiting);
        let begins = waiting != self.waiting;
        self.waiting = waiting;
        let Some(inversion) = step.inversion.filter(|_| begins) else {
            return;
        };
        self.counters.inversions = self.counters.inversions.saturating_add(1);
        if let Some(queue) = self.roster.find(inversion.waiting) {
            let event = self.trace_event(config, queue, Reason::Inversion, inversion.age);
            trace::tell(trace::Point::Inversion, &event);
        }
    }

    /// The event of a tracepoint.
    fn trace_event(
        &self,
        config: &Config<'_>,
        queue: &Queue,
        reason: Reason,
        age: Nanos,
    ) -> trace::Event {
        trace::Event {
            gpu_id: self.gpu_id,
            node: u32::try_from(self.index).unwrap_or(0),
            pid: queue.pid,
            queue_id: queue.key.id(),
            prio: u32::from(queue.priority.level()),
            eff_prio: u32::from(effective(config, queue)),
            reason: trace::word(reason),
            age_ns: age.0,
        }
    }

    /// Tells a decision to the tracepoints.
    pub(super) fn tell(&self, config: &Config<'_>, decision: &Decision, queue: &Queue, fate: Fate) {
        let event = self.trace_event(config, queue, decision.reason, decision.age);
        let point = match decision.action {
            Action::Stop => trace::Point::Stop,
            Action::Start => trace::Point::Start,
        };
        if matches!(fate, Fate::Done) || config.mode == Mode::Observe {
            trace::tell(point, &event);
        }
        if matches!(decision.reason, Reason::Failure | Reason::NoProgress) {
            trace::tell(trace::Point::Fallback, &event);
        }
    }
}

/// The priority that counts for a queue.
pub(crate) fn effective(config: &Config<'_>, queue: &Queue) -> u8 {
    queue
        .rule
        .and_then(|id| config.rule(id))
        .and_then(|rule| rule.priority)
        .unwrap_or(config.user_priority.effective(queue.priority))
        .level()
}
