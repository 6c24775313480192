// SPDX-License-Identifier: GPL-2.0-only
//! Which stopped queues are started, and why.
//!
//! A queue stays stopped only for somebody: a queue of another process that
//! wants the GPU, may hold it under the algorithm, has budget left, is not
//! cooling down with it, and makes progress. Whoever nobody holds is started.

use crate::algorithm::algorithm::Keep;
use crate::algorithm::standing::Side;
use crate::memory::queue::Phase;
use crate::memory::queue::Queue;
use crate::memory::queue::Stop;
use crate::pass::pass::Pass;
use crate::pass::rivals::Rival;
use crate::pass::rivals::RIVALS;
use crate::settings::config::Mode;
use crate::terms::decision::Action;
use crate::terms::decision::Arming;
use crate::terms::decision::Decision;
use crate::terms::decision::Reason;
use crate::terms::observation::QueueId;
use crate::terms::time::Nanos;

/// What is to become of a stopped queue.
enum Judgement {
    /// It is started.
    Start(Reason),
    /// It is started because this one makes no progress.
    Blamed(Rival),
    /// It stays stopped for this one.
    Held(Rival),
    /// Nobody wants it stopped; it is started if that lasts until this time.
    Calming(Nanos),
}

impl Pass<'_, '_> {
    /// Starts whatever nobody may hold any longer.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn start_queues(&mut self) {
        self.watch_holders();
        for at in 0..self.queues.len() {
            self.decide_start(at);
        }
        let mut judged = false;
        for at in 0..self.queues.len() {
            let Some(mut queue) = self.queues.get(at).copied() else {
                break;
            };
            let whole = match self.processes.get(queue.process_at) {
                Some(process) if self.limits.whole_process && queue.phase == Phase::Stopped => {
                    process.starts
                }
                _ => None,
            };
            let reason = match (queue.release, whole) {
                (Some(reason), _) => reason,
                (None, Some((reason, beneficiary))) => {
                    queue.stop.beneficiary = beneficiary;
                    reason
                }
                (None, None) => {
                    self.follow_others(at, &queue);
                    continue;
                }
            };
            let made = self.start(at, &queue, reason);
            let learns = matches!(reason, Reason::Calm | Reason::Turn);
            if made && learns && !judged && !queue.stop.dry {
                judged = true;
                self.judge_stop(&queue);
            }
        }
    }

    /// Finds those that queues are stopped for and that make no progress.
    fn watch_holders(&mut self) {
        let settle = self.limits.grace.max(self.limits.resume_delay);
        for rival in (0..RIVALS).map_while(|rank| self.wanting.get(rank)) {
            let Some(process) = self.processes.get_mut(rival.process_at) else {
                continue;
            };
            let Some(since) = process.budget.holding() else {
                continue;
            };
            // While a queue has its turn against everybody, progress is not
            // expected.
            let pending = self.queues.get(rival.at).map(|queue| queue.pending_since);
            let life = since.max(rival.alive).max(pending.unwrap_or(since));
            process.stuck = self.now.since(life) >= self.limits.no_progress && !self.immune;
            let now = self.now;
            self.due = self.due.min(now.after(self.limits.no_progress));
            if let Some(queue) = self.queues.get_mut(rival.at) {
                if queue.doubtful && now.since(since.max(queue.moved)) >= settle {
                    queue.settle_doubt(now);
                }
            }
        }
    }

    /// Decides whether the queue at a place is started.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn decide_start(&mut self, at: usize) {
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        queue.release = None;
        let queue = *queue;
        let judgement = if queue.orphan {
            match self.processes.get(queue.process_at) {
                // A queue that was created while its process was stopped.
                Some(process) if process.stopped_since.is_some() && self.limits.whole_process => {
                    let since = process.stopped_since.unwrap_or(self.now);
                    self.adopt(at, since);
                    return;
                }
                _ => Judgement::Start(Reason::Orphan),
            }
        } else {
            match queue.phase {
                Phase::Stopped if self.follows(&queue) => {
                    self.look_at(queue.stop.since.after(self.limits.max_stop));
                    return;
                }
                Phase::Stopped => self.judgement(&queue),
                Phase::Starting if queue.stop.dry => return,
                Phase::Starting if self.now >= queue.retry_at => {
                    Judgement::Start(queue.stop.started_for)
                }
                Phase::Starting => {
                    self.look_at(queue.retry_at);
                    return;
                }
                Phase::Free | Phase::Stopping | Phase::Held => return,
            }
        };
        match judgement {
            Judgement::Start(reason) => self.release(at, reason, queue.stop.beneficiary),
            Judgement::Blamed(rival) => {
                self.pairs
                    .blame(self.now, &self.limits, rival.process, queue.process);
                self.release(at, Reason::NoProgress, Some(rival.id));
            }
            Judgement::Held(rival) => {
                let now = self.now;
                if let Some(queue) = self.queues.get_mut(at) {
                    queue.stop.wanted = now;
                    queue.stop.beneficiary = Some(rival.id);
                    queue.stop.process = rival.process;
                }
                if let Some(process) = self.processes.get_mut(queue.process_at) {
                    process.held_for = Some((rival.id, rival.process));
                }
                self.hold(rival.process_at);
                let left = self.budget_left(&rival);
                self.look_at(now.after(left));
                self.look_at(queue.stop.since.after(self.limits.max_stop));
            }
            Judgement::Calming(until) => {
                if let Some(at) = self.processes.find(queue.stop.process.0, 0) {
                    self.hold(at);
                }
                self.look_at(until);
                self.look_at(queue.stop.since.after(self.limits.max_stop));
            }
        }
    }

    /// The queue at a place is to be started.
    fn release(&mut self, at: usize, reason: Reason, beneficiary: Option<QueueId>) {
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        queue.release = Some(reason);
        queue.stop.beneficiary = beneficiary;
        if let Some(process) = self.processes.get_mut(queue.process_at) {
            process.starts = process.starts.or(Some((reason, beneficiary)));
        }
    }

    /// A queue that was stopped along with its process stays stopped for
    /// whomever the process does.
    fn follow_others(&mut self, at: usize, queue: &Queue) {
        let process = self.processes.get(queue.process_at);
        let held_for = process.and_then(|process| process.held_for);
        if let (true, Some((id, process))) = (self.follows(queue), held_for) {
            if let Some(queue) = self.queues.get_mut(at) {
                queue.stop.beneficiary = Some(id);
                queue.stop.process = process;
            }
        }
    }

    /// The queue was stopped along with its process, has still nothing to do,
    /// and others of the process decide when it is started.
    fn follows(&self, queue: &Queue) -> bool {
        let idle = queue.backlog == 0 || !queue.contends;
        // It may have been stopped before the others: then its bound comes first.
        let within = self.now.since(queue.stop.since) < self.limits.max_stop;
        self.limits.whole_process
            && queue.stop.along
            && within
            && idle
            && self
                .processes
                .get(queue.process_at)
                .is_some_and(|process| process.led)
    }

    /// What is to become of a stopped queue.
    fn judgement(&mut self, queue: &Queue) -> Judgement {
        if self.releasing || self.config.mode == Mode::Off {
            return Judgement::Start(Reason::Release);
        }
        if self.arming != Arming::Armed {
            return Judgement::Start(Reason::Failure);
        }
        if !queue.contends {
            return Judgement::Start(Reason::Exempt);
        }
        if self.now.since(queue.stop.since) >= self.limits.max_stop {
            return Judgement::Start(Reason::Bound);
        }
        let side = Side::of(queue, &self.limits);
        let mut turn = false;
        let mut broke = false;
        for rank in 0..RIVALS {
            let Some(rival) = self.wanting.get(rank).filter(|rival| rival.side != side) else {
                continue;
            };
            let Some(holder) = self.queues.get(rival.at) else {
                continue;
            };
            if !holder.wants {
                continue;
            }
            let keep = self.algorithm.keeps(&self.context, holder, queue);
            if keep == Keep::No {
                continue;
            }
            let stuck = self
                .processes
                .get(rival.process_at)
                .is_some_and(|process| process.stuck);
            if self.pairs.cooling(self.now, rival.process, queue.process) {
                // Everyone who is held for it is started, not only the first.
                let (now, process) = (self.now, queue.process);
                if stuck && self.pairs.just_blamed(now, rival.process, process) {
                    return Judgement::Blamed(rival);
                }
                continue;
            }
            if self.budget_left(&rival) == Nanos::ZERO {
                broke = true;
                continue;
            }
            if keep == Keep::TurnOver {
                turn = true;
                continue;
            }
            if stuck && !queue.stop.dry {
                return Judgement::Blamed(rival);
            }
            return Judgement::Held(rival);
        }
        // The time until it is sure that nobody wants it stopped is also time
        // that the last one has caused.
        let causer = self.processes.find(queue.stop.process.0, 0);
        if let Some(process) = causer.and_then(|at| self.processes.get(at)) {
            broke |= process.budget_left(self.now, self.limits.budget) == Nanos::ZERO;
        }
        let calm = queue.stop.wanted.after(self.limits.resume_delay);
        if turn {
            Judgement::Start(Reason::Turn)
        } else if broke {
            Judgement::Start(Reason::Budget)
        } else if self.now >= calm {
            if self.is_uncounted(queue.stop.beneficiary) {
                // Looks may come late, and this one cannot tell.
                return Judgement::Calming(self.now.after(self.limits.resume_delay));
            }
            Judgement::Start(Reason::Calm)
        } else {
            Judgement::Calming(calm)
        }
    }

    fn is_uncounted(&self, beneficiary: Option<QueueId>) -> bool {
        beneficiary
            .and_then(|id| self.queues.find(id.0, 0))
            .and_then(|at| self.queues.get(at))
            .is_some_and(Queue::is_uncounted)
    }

    /// A queue found stopped together with its process.
    fn adopt(&mut self, at: usize, since: Nanos) {
        let now = self.now;
        if let Some(queue) = self.queues.get_mut(at) {
            queue.orphan = false;
            queue.phase = Phase::Stopped;
            queue.stop = Stop {
                since,
                wanted: now,
                along: true,
                ..Stop::default()
            };
        }
    }

    /// Decides the start of a queue. `false`: the output is full.
    fn start(&mut self, at: usize, queue: &Queue, reason: Reason) -> bool {
        let dry = queue.stop.dry && !queue.orphan;
        let age = if queue.orphan {
            Nanos::ZERO
        } else {
            self.now.since(queue.stop.since)
        };
        let decision = Decision {
            queue: queue.id,
            action: Action::Start,
            reason,
            beneficiary: queue.stop.beneficiary.filter(|_| !queue.orphan),
            age,
            apply: !dry,
        };
        if !self.push(decision) {
            return false;
        }
        let (now, retry) = (self.now, self.limits.retry);
        if let Some(queue) = self.queues.get_mut(at) {
            if queue.orphan {
                queue.forget_stop(now);
                queue.orphan = false;
                queue.stop = Stop {
                    since: now,
                    ..Stop::default()
                };
            }
            if reason == Reason::Bound {
                queue.immunity = queue.timeslice.max(self.limits.min_run);
            }
            queue.stop.started_for = reason;
            queue.begin_start(now, retry);
            queue.release = None;
            if reason == Reason::Turn && queue.contends && !queue.stop.along {
                let rank = self.algorithm.rank(queue);
                let rival = Rival::new(queue, at, rank, &self.limits);
                self.waiting.offer(rival);
            }
            if queue.is_ours() {
                let retry_at = queue.retry_at;
                self.look_at(retry_at);
            }
        }
        true
    }

    /// Learns from a stop that ended because nobody wanted the GPU any more, or
    /// because those who did have had their turn.
    fn judge_stop(&mut self, queue: &Queue) {
        let alive = queue
            .stop
            .beneficiary
            .and_then(|id| self.queues.find(id.0, 0))
            .and_then(|at| self.queues.get(at))
            .is_some_and(|beneficiary| beneficiary.alive > queue.stop.since);
        let served = if alive {
            self.pairs
                .forgive(self.now, queue.stop.process, queue.process);
            queue.stop.wanted.since(queue.stop.since)
        } else {
            Nanos::ZERO
        };
        self.thrash.judge(self.config, served, queue.stop.disturbed);
    }
}
