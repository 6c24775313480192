// SPDX-License-Identifier: GPL-2.0-only
//! The beginning of a pass: who has gone, and what became of the decisions of the last one.

use crate::pass::Pass;
use crate::queue::phase::Phase;
use crate::terms::{FailureKind, Outcome, Report};

impl Pass<'_> {
    /// Begins the pass of those for whom something may be stopped, and forgets those that
    /// have gone and have nothing to answer for.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn forget_those_gone(&mut self) {
        let (now, elapsed, last) = (self.now, self.elapsed, self.node.pass.wrapping_sub(1));
        // Those that are there need the room more than a memory of false hints.
        let hints = !self.processes.is_half_full();
        self.processes.retain(|one| {
            one.begin_pass();
            one.pass == last || one.matters(now, hints)
        });
        self.tenants.retain(|one| {
            one.begin_pass(elapsed);
            one.pass == last || one.matters(now)
        });
    }

    /// Takes in what became of the decisions of the last pass.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn hear(&mut self, outcomes: &[Outcome]) {
        let now = self.now;
        let mut failed = None;
        for outcome in outcomes {
            match outcome.report {
                Report::Done => {}
                Report::NothingToDo | Report::Failed(FailureKind::Passing) => {
                    let at = self.queues.find(outcome.queue.0, usize::MAX);
                    if let Some(queue) = at.and_then(|at| self.queues.get_mut(at)) {
                        queue.refuse_stop(now);
                    }
                }
                // It counts, whatever has become of the queue.
                Report::Failed(kind) => failed = failed.or(Some(kind)),
            }
        }
        let Some(kind) = failed else {
            return;
        };
        let wait = self.node.recovery.failed(now, self.config, kind);
        for queue in self.queues.iter_mut().filter(|one| one.phase.is_ours()) {
            if kind == FailureKind::Rebuilt {
                queue.forget_stop(now);
            } else if matches!(queue.phase, Phase::Starting(..)) {
                // It is not tried again before the pause is over.
                queue.retry_at = wait;
            }
        }
    }
}
