// SPDX-License-Identifier: GPL-2.0-only
//! Taking in what is seen of every queue. This is the part of a pass whose cost
//! every queue pays, so it ends early for an idle one.

use crate::pass::pass::Pass;
use crate::process::process::Process;
use crate::process::tenant::Tenant;
use crate::queue::queue::Queue;
use crate::terms::decision::Action;
use crate::terms::decision::Decision;
use crate::terms::decision::Reason;
use crate::terms::observation::Observation;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueState;
use crate::terms::observation::Waves;
use crate::terms::time::Nanos;

/// The longest time between two passes that counts as run time: after a gap it
/// is not known what ran.
const GAP_MAX: Nanos = Nanos::SECOND;

/// The process whose queues stand together, and where it is.
#[derive(Clone, Copy)]
struct Owner {
    seen: Option<ProcessId>,
    at: usize,
}

impl Pass<'_, '_> {
    /// Takes in what is seen of every queue, and forgets those that have gone.
    pub(crate) fn ingest(&mut self, pass: u32, elapsed: Nanos, seen: &[Observation]) {
        let ran = elapsed.min(GAP_MAX);
        let mut hint = 0usize;
        let mut owner = Owner {
            seen: None,
            at: usize::MAX,
        };
        for observation in seen {
            let at = match self.queues.find(observation.queue.0, hint) {
                Some(at) => at,
                None => match self.welcome(observation, pass) {
                    Some(at) => at,
                    None => {
                        self.leave_alone(observation);
                        continue;
                    }
                },
            };
            hint = at.wrapping_add(1);
            let Some(queue) = self.queues.get_mut(at) else {
                continue;
            };
            if queue.was_seen_in(pass) {
                self.step.duplicates = self.step.duplicates.saturating_add(1);
                continue;
            }
            queue.meet(pass, self.config, &self.limits, observation);
            let before = queue.process_at();
            // Queues of a process mostly stand together.
            if owner.seen != Some(observation.process) {
                owner.at = self.meet_process(at, before, pass, observation);
                owner.seen = Some(observation.process);
            }
            let Some(queue) = self.queues.get_mut(at) else {
                continue;
            };
            queue.join(owner.at);
            if queue.contends() {
                self.floor = self.floor.min(queue.effective());
            }
            if !queue.stays_idle(observation) {
                self.examine(at, ran, observation);
            }
            if observation.hint.is_some() {
                self.hear_hint(owner.at, observation);
            }
        }
        // Each observation but these has a queue of its own.
        let others = self.step.duplicates.saturating_add(self.step.untracked);
        if seen.len().saturating_sub(others) < self.queues.len() {
            self.queues.retain(|queue| queue.was_seen_in(pass));
        }
        if self.counted {
            for queue in self.queues.iter_mut() {
                queue.settle_count(self.now, self.busiest);
            }
        }
    }

    /// Finds the process of the queue at a place, or makes its acquaintance, and that of
    /// its tenant. Returns where it is; no place if there is no room for it.
    fn meet_process(&mut self, at: usize, hint: usize, pass: u32, seen: &Observation) -> usize {
        let found = self.processes.find(seen.process.0, hint);
        let place = found.or_else(|| self.processes.insert(Process::new(seen.process)));
        let budget = self
            .queues
            .get(at)
            .and_then(|one| one.rating().stop_budget());
        let Some(process) = place.and_then(|at| self.processes.get_mut(at)) else {
            return usize::MAX;
        };
        let found = self.tenants.find(seen.tenant.0, process.tenant_at());
        let tenant = found.or_else(|| self.tenants.insert(Tenant::new(seen.tenant)));
        let Some(tenant) = tenant else {
            return usize::MAX;
        };
        process.meet(pass, tenant, budget);
        if seen.hint.is_none() {
            process.hint_mut().see_no_page(self.now);
        }
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.meet(pass);
        }
        place.unwrap_or(usize::MAX)
    }

    /// A queue that was not there before. `None`: there is no room for it.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn welcome(&mut self, seen: &Observation, pass: u32) -> Option<usize> {
        self.queues.insert(Queue::new(self.now, pass, seen))
    }

    /// A queue that there is no room for is exempt: it is only ever started.
    fn leave_alone(&mut self, seen: &Observation) {
        self.step.untracked = self.step.untracked.saturating_add(1);
        if seen.state != QueueState::StoppedByUs {
            return;
        }
        self.step.stopped = self.step.stopped.saturating_add(1);
        if self.may_retry && !self.out.names(seen.queue) {
            self.push(Decision {
                queue: seen.queue,
                action: Action::Start,
                reason: Reason::Orphan,
                beneficiary: None,
                age: Nanos::ZERO,
                apply: true,
            });
        }
    }

    /// Takes in what is seen of a queue that is not simply idle.
    fn examine(&mut self, at: usize, ran: Nanos, seen: &Observation) {
        let now = self.now;
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        let ran_before = queue.is_busy(now);
        let wanted_before = queue.wants(now, false);
        let (healed, progress) = queue.take_in(now, self.config, seen, self.asked);
        self.step.healed = self.step.healed.saturating_add(usize::from(healed));
        if ran_before && queue.work().is_active() {
            queue.book_run(ran);
        }
        let wants = queue.wants(now, false);
        if let Some(process) = self.processes.get_mut(queue.process_at()) {
            if progress {
                process.see_progress(now);
            } else if wants && !wanted_before {
                process.excuse(now);
            }
        }
        if queue.work().is_active() {
            self.counted |= seen.waves != Waves::Unknown;
            if matches!(seen.waves, Waves::Known(1..)) && queue.contends() {
                self.busiest = self.busiest.max(Some(queue.effective()));
            }
        }
        self.place(at);
    }

    /// Books where a queue that is not simply idle stands.
    fn place(&mut self, at: usize) {
        let (now, limits) = (self.now, self.limits);
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        let busy = queue.is_busy(now);
        self.step.running = self.step.running.saturating_add(usize::from(busy));
        self.immune |= busy && queue.is_immune_at_all(now);
        if queue.is_stopped() {
            self.stopped = self.stopped.saturating_add(1);
        }
        if !queue.contends() {
            return;
        }
        let waits = queue.waits(now, &limits).is_some();
        self.step.stalled = self.step.stalled.saturating_add(usize::from(waits));
        if queue.work().has_any() {
            self.lowest = self.lowest.min(queue.effective());
            self.highest = self.highest.max(queue.effective());
        }
    }
}
