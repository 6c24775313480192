// SPDX-License-Identifier: GPL-2.0-only
//! Taking in what became of the last decisions, and what is seen of every queue. The
//! latter is the part of a pass whose cost every queue pays, so it ends early for an
//! idle one.

use crate::pass::Pass;
use crate::queue::phase::Phase;
use crate::queue::Queue;
use crate::terms::{
    count, Decision, FailureKind, Nanos, Observation, Outcome, Priority, QueueState, Report, Waves,
};

/// The longest time between two passes that counts as run time: after a gap it
/// is not known what ran.
const GAP_MAX: Nanos = Nanos::SECOND;

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
            let at = self.queues.find(outcome.queue.0, usize::MAX);
            let queue = at.and_then(|at| self.queues.get_mut(at));
            match outcome.report {
                Report::Done => {
                    if let Some(stop) = queue.and_then(|one| one.phase.lasting_stop()) {
                        self.node.recovery.stopped(stop.since, now);
                    }
                }
                Report::NothingToDo | Report::Failed(FailureKind::Passing) => {
                    if let Some(queue) = queue {
                        queue.refuse(now, outcome.report != Report::NothingToDo);
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

    /// Takes in what is seen of every queue, and forgets those that have gone.
    pub(crate) fn ingest(&mut self, seen: &[Observation]) {
        let pass = self.node.pass;
        let mut hint = 0usize;
        // The process whose queues stand together, and where it is.
        let (mut owner, mut owner_at) = (None, usize::MAX);
        for observation in seen {
            let found = self.queues.find(observation.queue.0, hint);
            let Some(at) = found.or_else(|| self.welcome(observation)) else {
                self.leave_alone(observation);
                continue;
            };
            hint = at.wrapping_add(1);
            let unmet = self.queues.get_mut(at).filter(|queue| queue.pass != pass);
            // Another observation that names the same queue says nothing.
            let Some(queue) = unmet else { continue };
            queue.meet(pass, self.config, observation);
            if owner != Some(observation.process) {
                let (before, budget) = (queue.process_at, queue.rating.stop_budget);
                let met = self.meet(before, budget, observation);
                owner_at = met.unwrap_or(usize::MAX);
                owner = Some(observation.process);
            }
            let Some(queue) = self.queues.get_mut(at) else {
                continue;
            };
            queue.join(owner_at);
            if queue.rating.contends {
                self.tally.floor = self.tally.floor.min(queue.rating.level);
                self.tally.ceiling = self.tally.ceiling.max(queue.rating.level);
            }
            if !queue.stays_idle(observation) {
                self.examine(at, observation);
            }
            if observation.hint.is_some() {
                self.hear_hint(owner_at, observation);
            }
        }
        let (now, busiest) = (self.now, self.tally.busiest);
        self.queues.retain(|queue| {
            queue.settle_count(now, busiest);
            queue.pass == pass
        });
    }

    /// Finds the process of a queue, or makes its acquaintance, and that of its tenant.
    /// `None`: there is no room for it. `hint`: where it may be.
    fn meet(&mut self, hint: usize, budget: Option<Nanos>, seen: &Observation) -> Option<usize> {
        let pass = self.node.pass;
        let at = self.processes.find_or_add(seen.process.0, hint)?;
        let process = self.processes.get_mut(at)?;
        let tenant_at = self.tenants.find_or_add(seen.tenant.0, process.tenant_at)?;
        (process.pass, process.tenant_at, process.stop_budget) = (pass, tenant_at, budget);
        if seen.hint.is_none() {
            process.hint.see_no_page(self.now);
        }
        self.tenants.get_mut(tenant_at)?.pass = pass;
        Some(at)
    }

    /// A queue that was not there before. `None`: there is no room for it.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn welcome(&mut self, seen: &Observation) -> Option<usize> {
        let queue = Queue::new(self.now, self.node.pass, seen);
        self.queues.insert(seen.queue.0, queue)
    }

    /// A queue that there is no room for is exempt: it is only ever started.
    fn leave_alone(&mut self, seen: &Observation) {
        count(&mut self.step.untracked);
        if seen.state != QueueState::StoppedByUs {
            return;
        }
        count(&mut self.step.stopped);
        if self.node.recovery.may_retry(self.now) && !self.is_decided(seen.queue) {
            self.push(Decision {
                queue: seen.queue,
                apply: true,
                ..Decision::default()
            });
        }
    }

    /// Takes in what is seen of a queue that is not simply idle, and books where it stands.
    fn examine(&mut self, at: usize, seen: &Observation) -> Option<()> {
        let (now, tally, step) = (self.now, &mut self.tally, &mut self.step);
        let queue = self.queues.get_mut(at)?;
        let (ran, wanted) = (queue.is_busy(now), queue.wants(now, false));
        let (healed, progress) = queue.take_in(now, seen, tally.asked);
        let (busy, wants) = (queue.is_busy(now), queue.wants(now, false));
        step.healed = step.healed.saturating_add(usize::from(healed));
        step.running = step.running.saturating_add(usize::from(busy));
        if ran && queue.work.active {
            queue.ran = queue.ran.after(self.elapsed.min(GAP_MAX));
        }
        if let Some(process) = self.processes.get_mut(queue.process_at) {
            if progress {
                process.see_progress(now);
            } else if wants && !wanted {
                process.excuse(now);
            }
        }
        let (level, contends) = (queue.rating.level, queue.rating.contends);
        if queue.work.active {
            tally.counted |= seen.waves != Waves::Unknown;
            if matches!(seen.waves, Waves::Known(1..)) && contends {
                tally.busiest = tally.busiest.max(Some(level));
            }
        }
        tally.immune |= busy && queue.is_immune(now, Priority::LOWEST);
        let stopped = usize::from(queue.is_stopped());
        tally.stopped = tally.stopped.saturating_add(stopped);
        if contends && queue.waits(now, &self.limits).is_some() {
            count(&mut step.waiting);
        }
        if contends && queue.work.has_any() {
            tally.lowest = tally.lowest.min(level);
            tally.highest = tally.highest.max(level);
        }
        Some(())
    }
}
