// SPDX-License-Identifier: GPL-2.0-only
//! Taking in what is seen of every queue. This is the part of a pass whose cost
//! every queue pays, so it ends early for an idle one.

use crate::algorithm::standing::Standing;
use crate::memory::process::Process;
use crate::memory::queue::Queue;
use crate::pass::pass::Pass;
use crate::terms::decision::Action;
use crate::terms::decision::Decision;
use crate::terms::decision::Reason;
use crate::terms::observation::Observation;
use crate::terms::observation::QueueState;
use crate::terms::time::Nanos;

/// The longest time between two passes that counts as run time: after a gap it
/// is not known what ran.
const GAP_MAX: Nanos = Nanos::SECOND;

impl Pass<'_, '_> {
    /// Takes in what is seen of every queue, and forgets those that have gone.
    pub(crate) fn ingest(&mut self, pass: u32, elapsed: Nanos, seen: &[Observation]) {
        let ran = elapsed.min(GAP_MAX);
        let mut hint = 0usize;
        let mut owner = None;
        let mut owner_at = usize::MAX;
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
            queue.meet(pass, self.config, observation);
            // Queues of a process mostly stand together.
            if owner != Some(queue.process()) {
                let (id, hint) = (queue.process(), queue.process_at());
                let found = self.processes.find(id.0, hint);
                let place = found.or_else(|| self.processes.insert(Process::new(id)));
                owner = Some(id);
                owner_at = place.unwrap_or(usize::MAX);
                if let Some(process) = self.processes.get_mut(owner_at) {
                    process.meet(pass, queue.rating().stop_budget());
                    if observation.hint.is_none() {
                        process.hint_mut().see_no_page(self.now);
                    }
                }
            }
            queue.join(owner_at);
            queue.plan_mut().forget_preparation();
            if queue.contends() {
                self.presence.see(queue, &self.limits);
            }
            if !queue.stays_idle(observation) {
                self.examine(at, ran, observation);
            }
            if observation.hint.is_some() {
                self.hear_hint(owner_at, observation);
            }
        }
        if self.least != Nanos::NEVER {
            self.context.virtual_floor = self.context.virtual_floor.max(self.least);
        }
        // Each observation but these has a queue of its own.
        let others = self.step.duplicates.saturating_add(self.step.untracked);
        if seen.len().saturating_sub(others) < self.queues.len() {
            self.queues.retain(|queue| queue.was_seen_in(pass));
        }
    }

    /// A queue that was not there before. `None`: there is no room for it.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn welcome(&mut self, seen: &Observation, pass: u32) -> Option<usize> {
        let floor = self.context.virtual_floor;
        self.queues.insert(Queue::new(self.now, pass, floor, seen))
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
        let ran_before = queue.seems_to_run(now, &self.limits);
        let mattered = queue.matters();
        if queue.take_in(now, self.config, &self.limits, seen) {
            self.step.healed = self.step.healed.saturating_add(1);
        }
        if ran_before && queue.work().is_active() {
            queue.book_run(ran);
            self.algorithm.charge(&self.context, queue, ran);
        }
        if queue.work().wants() {
            let reserved = self.algorithm.promises(queue);
            queue.account_mut().promise(now, reserved);
            if !mattered {
                self.algorithm.wakes(&self.context, queue);
            }
        }
        self.place(at);
    }

    /// Books where a queue that is not simply idle stands.
    fn place(&mut self, at: usize) {
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        let work = queue.work();
        let free = queue.phase().is_free();
        let standing = Standing::of(queue, &self.limits);
        if free && work.is_busy() {
            self.step.running = self.step.running.saturating_add(1);
            if queue.contends() {
                self.presence.see_busy(standing);
                if work.surely_runs(self.now, &self.limits) || work.is_eager(self.now, &self.limits)
                {
                    self.presence.see_running(standing);
                }
            }
        }
        let lasting = queue.phase().lasting_stop();
        if queue.contends() {
            if queue.matters() {
                self.least = self.least.min(queue.account().virtual_time());
            }
            self.step.stalled = self
                .step
                .stalled
                .saturating_add(usize::from(work.is_stalled()));
            if work.is_waiting() {
                self.presence.see_waiting(standing);
            }
            if work.is_unclear(self.now) {
                self.presence.see_unclear(standing);
            } else if work.is_pending() && work.was_looked_at() {
                self.presence.suspect(standing);
                if !work.is_ending(self.now, &self.limits) {
                    self.presence.see_lasting(standing);
                }
            }
            if let Some(end) = work.may_run_until(&self.limits).filter(|_| free) {
                let least = match work.is_uncounted() {
                    true => self.now,
                    false => Nanos::ZERO,
                };
                self.last_launches.see(queue.effective(), end.max(least));
            }
            if free {
                if let Some(look) = work.next_judgement(self.now, &self.limits) {
                    self.ripe = self.ripe.min(look);
                }
            }
            if lasting.is_some() {
                self.presence.see_stopped(standing);
            }
        }
        if queue.is_stopped() {
            self.stopped = self.stopped.saturating_add(1);
        }
        if let Some(stop) = lasting {
            if let Some(process) = self.processes.get_mut(queue.process_at()) {
                if !stop.is_dry() {
                    process.plan_mut().see_stopped(stop.since());
                }
                if !stop.is_along() {
                    process.plan_mut().see_leader();
                }
            }
        }
    }
}
