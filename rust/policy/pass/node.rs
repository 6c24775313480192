// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a node beside its queues, and how a pass begins with it.

use crate::pass::cost::Cost;
use crate::pass::pass::Pass;
use crate::pass::questions::Questions;
use crate::process::recovery::{Fallback, Recovery, RETRY_LONGEST};
use crate::settings::choices::Mode;
use crate::terms::decision::{Arming, Outcome, Report};
use crate::terms::time::Nanos;

/// What is remembered of a node beside its queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The time of the last pass.
    pub(crate) last: Option<Nanos>,
    /// The number of the last pass; it may wrap.
    pub(crate) pass: u32,
    /// How many queues, processes and tenants the storage holds.
    pub(crate) queues: usize,
    pub(crate) processes: usize,
    pub(crate) tenants: usize,
    pub(crate) cost: Cost,
    pub(crate) questions: Questions,
    pub(crate) recovery: Recovery,
    /// The mode of the last pass.
    pub(crate) mode: Option<Mode>,
    /// Everything is to be started before anything else: the mode has changed.
    pub(crate) releasing: bool,
}

impl Pass<'_, '_> {
    /// Begins the pass of those for whom something may be stopped, and forgets those that
    /// have gone and have nothing to answer for.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn forget_those_gone(&mut self) {
        let (now, last) = (self.now, self.node.pass.wrapping_sub(1));
        let mut gone = false;
        for process in self.processes.iter_mut() {
            process.begin_pass();
            gone |= process.pass != last;
        }
        if gone {
            // Those that are there need the room more than a memory of false hints.
            let hints = !self.processes.is_half_full();
            self.processes
                .retain(|one| one.pass == last || one.matters(now, hints));
        }
        let mut gone = false;
        for tenant in self.tenants.iter_mut() {
            tenant.begin_pass(self.elapsed);
            gone |= tenant.pass != last;
        }
        if gone {
            self.tenants
                .retain(|one| one.pass == last || one.matters(now));
        }
    }

    /// Takes in what became of the decisions of the last pass.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn hear(&mut self, outcomes: &[Outcome]) {
        let now = self.now;
        let mut fallback = None;
        let mut hint = 0;
        for outcome in outcomes {
            // The failure of a transaction counts, whatever has become of its
            // queues.
            let after = Fallback::after(outcome.report);
            fallback = fallback.or(after);
            let Some(at) = self.queues.find(outcome.queue.0, hint) else {
                continue;
            };
            hint = at.saturating_add(1);
            let refused = outcome.report != Report::Done && after.is_none();
            if let Some(queue) = self.queues.get_mut(at).filter(|_| refused) {
                queue.refuse_stop(now);
            }
        }
        let Some(fallback) = fallback else {
            return;
        };
        self.node.recovery.failed(now, self.config, fallback);
        let wait = match self.node.recovery.arming(now) {
            Arming::BackingOff(until) | Arming::Silent(until) => until,
            Arming::Armed | Arming::Disarmed => now.after(RETRY_LONGEST),
        };
        for queue in self.queues.iter_mut().filter(|one| one.phase.is_ours()) {
            match fallback {
                Fallback::Forget => queue.forget_stop(now),
                Fallback::StartAll => queue.postpone_start(wait),
            }
        }
    }
}
