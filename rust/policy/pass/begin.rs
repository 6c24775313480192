// SPDX-License-Identifier: GPL-2.0-only
//! The beginning of a pass: who has gone, and what became of the decisions of the last one.

use crate::pass::Pass;
use crate::process::recovery::{failure, RETRY_LONGEST};
use crate::queue::phase::Phase;
use crate::terms::{Arming, FailureKind, Outcome, Report};

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
        let mut hint = 0;
        for outcome in outcomes {
            // The failure of a transaction counts, whatever has become of its
            // queues.
            let kind = failure(outcome.report);
            failed = failed.or(kind);
            let Some(at) = self.queues.find(outcome.queue.0, hint) else {
                continue;
            };
            hint = at.saturating_add(1);
            let refused = outcome.report != Report::Done && kind.is_none();
            if let Some(queue) = self.queues.get_mut(at).filter(|_| refused) {
                queue.refuse_stop(now);
            }
        }
        let Some(kind) = failed else {
            return;
        };
        self.node.recovery.failed(now, self.config, kind);
        let wait = match self.node.recovery.arming(now) {
            Arming::BackingOff(until) | Arming::Silent(until) => until,
            Arming::Armed | Arming::Disarmed => now.after(RETRY_LONGEST),
        };
        for queue in self.queues.iter_mut().filter(|one| one.phase.is_ours()) {
            match kind {
                FailureKind::Rebuilt => queue.forget_stop(now),
                // A start that failed is not tried again before the pause is over.
                _ if matches!(queue.phase, Phase::Starting(..)) => queue.retry_at = wait,
                _ => {}
            }
        }
    }
}
