// SPDX-License-Identifier: GPL-2.0-only
//! Taking in what is seen of every queue. This is the part of a pass whose cost
//! every queue pays, so an idle queue leaves early.

use crate::algorithm::standing::Standing;
use crate::memory::process::Process;
use crate::memory::queue::Change;
use crate::memory::queue::Phase;
use crate::memory::queue::Queue;
use crate::pass::pass::Pass;
use crate::terms::decision::Action;
use crate::terms::decision::Decision;
use crate::terms::decision::Reason;
use crate::terms::observation::Observation;
use crate::terms::observation::QueueState;
use crate::terms::time::Nanos;

/// The longest time between two passes that counts as run time: after a gap
/// nobody knows what ran.
const GAP_MAX: Nanos = Nanos::SECOND;

impl Pass<'_, '_> {
    /// Takes in what is seen of every queue, and forgets those that have gone.
    pub(crate) fn ingest(&mut self, pass: u32, elapsed: Nanos, seen: &[Observation]) {
        let ran = elapsed.min(GAP_MAX);
        let mut hint = 0usize;
        let mut tracked = 0usize;
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
            hint = at.saturating_add(1);
            let Some(queue) = self.queues.get_mut(at) else {
                continue;
            };
            if queue.pass == pass {
                self.step.duplicates = self.step.duplicates.saturating_add(1);
                continue;
            }
            queue.pass = pass;
            tracked = tracked.saturating_add(1);
            queue.rate(self.config, observation);
            queue.process = observation.process;
            // Queues of a process mostly stand together.
            if owner != Some(queue.process) {
                let (id, hint) = (queue.process, queue.process_at);
                let found = self.processes.find(id.0, hint);
                let place = found.or_else(|| self.processes.insert(Process::new(id)));
                owner = Some(id);
                owner_at = place.unwrap_or(usize::MAX);
                if let Some(process) = self.processes.get_mut(owner_at) {
                    process.pass = pass;
                    process.granted = queue.granted;
                }
            }
            queue.process_at = owner_at;
            // Without its account a process may not take part.
            if owner_at == usize::MAX {
                queue.contends = false;
            }
            if queue.contends {
                self.presence.see(queue, &self.limits);
            }
            if queue.still_idle(observation) {
                queue.waves = observation.waves;
                queue.active = true;
                continue;
            }
            self.examine(at, ran, observation);
        }
        if tracked < self.queues.len() {
            self.queues.retain(|queue| queue.pass == pass);
        }
    }

    /// A queue that was not there before. `None`: there is no room for it.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn welcome(&mut self, seen: &Observation, pass: u32) -> Option<usize> {
        let now = self.now;
        let mut queue = Queue {
            id: seen.queue,
            pass: pass.wrapping_sub(1),
            progress: seen.progress,
            // What it launched before may have finished long ago.
            launched: seen.progress != 0,
            waves_seen: true,
            pending_since: now,
            alive: now,
            since: now,
            ..Queue::default()
        };
        queue.account.turn = now;
        queue.account.virtual_time = self.context.virtual_floor;
        self.queues.insert(queue)
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

    /// Judges a queue that is not simply idle.
    fn examine(&mut self, at: usize, ran: Nanos, seen: &Observation) {
        let (now, retry) = (self.now, self.limits.retry);
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        queue.rate_turns(self.config, seen);
        let before = queue.verdict();
        let ran_before = queue.runs(now, &self.limits);
        let wanted_before = queue.wants || queue.is_ours();
        let change = queue.follow(now, seen.state, retry);
        queue.orphan = change == Change::Orphan;
        if change == Change::Healed {
            self.step.healed = self.step.healed.saturating_add(1);
        }
        queue.judge(now, &self.limits, seen);
        if ran_before && queue.active {
            queue.ran = queue.ran.after(ran);
            self.algorithm.charge(&self.context, queue, ran);
        }
        if queue.wants && !wanted_before {
            self.algorithm.wakes(&self.context, queue);
        }
        queue.rests = !queue.launched
            && !queue.pending
            && !queue.busy
            && !queue.orphan
            && queue.phase == Phase::Free;
        if queue.verdict() != before {
            queue.since = now;
        }
        self.place(at);
    }

    /// Books where a queue that is not simply idle stands.
    fn place(&mut self, at: usize) {
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        let standing = Standing::of(queue, &self.limits);
        if queue.busy && queue.phase == Phase::Free {
            self.step.running = self.step.running.saturating_add(1);
            if queue.contends {
                self.presence.see_busy(standing);
                if queue.surely_runs(self.now, &self.limits) {
                    self.presence.see_running(standing);
                }
            }
        }
        if queue.contends {
            self.step.stalled = self.step.stalled.saturating_add(usize::from(queue.stalled));
            if queue.waiting {
                self.presence.see_waiting(standing);
            }
            // Pointers alone cannot tell whether its last launch still runs.
            let unclear = queue.launched && queue.backlog == 0 && queue.moved != self.now;
            if unclear {
                self.presence.see_unclear(standing);
            } else if queue.pending && queue.pending_passes > 0 {
                self.presence.suspect(standing);
            }
            if let Some(look) = queue.next_judgement(self.now) {
                self.ripe = self.ripe.min(look);
            }
        }
        if queue.contends && matches!(queue.phase, Phase::Stopping | Phase::Stopped) {
            self.presence.see_stopped(standing);
        }
        if queue.is_ours() || queue.orphan || queue.phase == Phase::Stopped {
            self.stopped = self.stopped.saturating_add(1);
        }
        if matches!(queue.phase, Phase::Stopping | Phase::Stopped) {
            if let Some(process) = self.processes.get_mut(queue.process_at) {
                if !queue.stop.dry {
                    let since = queue.stop.since;
                    let other = process.stopped_since.unwrap_or(since);
                    process.stopped_since = Some(since.min(other));
                }
                process.led |= !queue.stop.along;
            }
        }
    }
}
