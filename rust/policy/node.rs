// SPDX-License-Identifier: GPL-2.0
//! One pass over the queues of a node.

use crate::config::Config;
use crate::decision::Action;
use crate::decision::Arming;
use crate::decision::Decision;
use crate::decision::Outcome;
use crate::decision::Reason;
use crate::decision::Step;
use crate::observation::Observation;
use crate::observation::QueueState;
use crate::parameter::Number;
use crate::scheduler::QueueView;
use crate::storage::Parts;
use crate::time::Nanos;

/// What is remembered of a node beside its queues.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    arming: Arming,
}

impl Node {
    pub(crate) const fn new() -> Node {
        Node {
            arming: Arming::Armed,
        }
    }

    /// Starts whatever is stopped.
    pub(crate) fn step(
        &mut self,
        _parts: Parts<'_>,
        now: Nanos,
        config: &Config<'_>,
        seen: &[Observation],
        _outcomes: &[Outcome],
        out: &mut [Decision],
    ) -> Step {
        let mut step = Step::default();
        let mut places = out.iter_mut();
        for observation in seen {
            if observation.state == QueueState::StoppedByUs {
                step.stopped = step.stopped.saturating_add(1);
                let Some(place) = places.next() else {
                    step.truncated = true;
                    continue;
                };
                *place = Decision {
                    queue: observation.queue,
                    action: Action::Start,
                    reason: Reason::Orphan,
                    beneficiary: None,
                    age: Nanos::ZERO,
                    apply: true,
                };
                step.decisions = step.decisions.saturating_add(1);
            }
        }
        if !seen.is_empty() {
            step.next_look = Some(now.after(config.duration(Number::IdlePoll)));
        }
        step
    }

    pub(crate) fn transaction_took(&mut self, _took: Nanos) {}

    pub(crate) fn rearm(&mut self) {
        self.arming = Arming::Armed;
    }

    pub(crate) fn arming(&self) -> Arming {
        self.arming
    }

    pub(crate) fn views<'p>(&self, _parts: Parts<'p>) -> impl Iterator<Item = QueueView> + 'p {
        core::iter::empty()
    }
}
