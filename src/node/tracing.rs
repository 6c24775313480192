// SPDX-License-Identifier: GPL-2.0-only

//! Inversions and decisions, for the tracepoints.

use crate::node::{record::Outcome, roster::Queue};
use gpreempt_policy::{Action, Decision, Inversion, Mode, Nanos, Priority, Reason};
use kfd::operator::trace;

/// The tracepoints as those of one node.
#[derive(Clone, Copy)]
pub(crate) struct Tracer {
    /// KFD's number of the node.
    pub(crate) gpu_id: u32,
    /// The node's number in the GPU.
    pub(crate) index: usize,
}

impl Tracer {
    /// Tells that a queue waits above a running one.
    pub(crate) fn inversion(&self, inversion: &Inversion, queue: &Queue, effective: Priority) {
        let event = self.event(queue, effective, Reason::Inversion, inversion.age);
        trace::tell(trace::Point::Inversion, &event);
    }

    /// Tells a decision about a queue. In mode `observe` it counts as carried out.
    pub(crate) fn decision(
        &self,
        mode: Mode,
        decision: &Decision,
        queue: &Queue,
        effective: Priority,
        outcome: Outcome,
    ) {
        let event = self.event(queue, effective, decision.reason, decision.age);
        let point = match decision.action {
            Action::Stop => trace::Point::Stop,
            Action::Start => trace::Point::Start,
        };
        if outcome == Outcome::Done || mode == Mode::Observe {
            trace::tell(point, &event);
        }
        if matches!(decision.reason, Reason::Failure | Reason::NoProgress) {
            trace::tell(trace::Point::Fallback, &event);
        }
    }

    fn event(
        &self,
        queue: &Queue,
        effective: Priority,
        reason: Reason,
        age: Nanos,
    ) -> trace::Event {
        trace::Event {
            gpu_id: self.gpu_id,
            node: u32::try_from(self.index).unwrap_or(0),
            pid: queue.pid,
            queue_id: queue.key.id(),
            prio: u32::from(queue.priority.level()),
            eff_prio: u32::from(effective.level()),
            reason,
            age_ns: age.0,
        }
    }
}
