// SPDX-License-Identifier: GPL-2.0-only
//! Which stopped queues are started, and why.
//!
//! A queue stays stopped only for a queue of another process that wants the
//! GPU, may hold it under the algorithm, has budget left, is not cooling down
//! with it, and makes progress. A queue that no other one holds is started.

use crate::algorithm::algorithm::Keep;
use crate::algorithm::standing::Side;
use crate::memory::phase::Phase;
use crate::memory::queue::Queue;
use crate::memory::stop::Stop;
use crate::memory::work::Work;
use crate::pass::pass::Pass;
use crate::pass::rivals::Rival;
use crate::pass::rivals::RIVALS;
use crate::settings::choices::Mode;
use crate::terms::decision::Action;
use crate::terms::decision::Arming;
use crate::terms::decision::Decision;
use crate::terms::decision::Reason;
use crate::terms::observation::QueueId;
use crate::terms::time::Nanos;

/// How long after the decision to stop others a queue may still show no waves: until a
/// short transaction is over, and the hardware has begun with what it was to make room for.
const TAKES_EFFECT: Nanos = Nanos::from_micros(50);

/// What is to become of a stopped queue.
enum Judgement {
    /// It is started.
    Start(Reason),
    /// It is started because this one makes no progress.
    Blamed(Rival),
    /// It stays stopped for this one.
    Held(Rival),
    /// No queue wants it stopped; it is started if that lasts until this time.
    Calming(Nanos),
}

impl Pass<'_, '_> {
    /// Starts every queue that no other one may hold any longer.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn start_queues(&mut self) {
        self.watch_holders();
        for at in 0..self.queues.len() {
            self.plan_start(at);
        }
        if let Some(gap) = self.gap {
            self.gaps.see(gap, &self.limits);
        }
        let mut learned = false;
        for at in 0..self.queues.len() {
            let Some((reason, beneficiary)) = self.planned_start(at) else {
                self.follow_process(at);
                continue;
            };
            let stop = self.ending_stop(at, beneficiary);
            let made = self.start(at, reason, stop.as_ref());
            if let (Some(stop), Reason::Calm, true) = (&stop, reason, made) {
                self.gaps.begin(stop.wanted());
            }
            let teaches = matches!(reason, Reason::Calm | Reason::Turn);
            let real = stop.as_ref().filter(|stop| !stop.is_dry());
            if let (Some(stop), true) = (real, made && teaches && !learned) {
                learned = true;
                self.learn(at, stop);
            }
        }
    }

    /// The stop that the start of the queue at a place ends, put down to this
    /// beneficiary; none is known of an orphan.
    fn ending_stop(&self, at: usize, beneficiary: Option<QueueId>) -> Option<Stop> {
        let phase = self.queues.get(at)?.phase();
        let mut stop = phase.stop().copied().filter(|_| !phase.is_orphan())?;
        stop.attribute(beneficiary);
        Some(stop)
    }

    /// Why the queue at a place is started, and which queue that is put down to:
    /// where whole processes are stopped, for the reason of the first of its
    /// process.
    fn planned_start(&self, at: usize) -> Option<(Reason, Option<QueueId>)> {
        let queue = self.queues.get(at)?;
        if let Some(reason) = queue.plan().planned_start() {
            return Some((reason, queue.beneficiary()));
        }
        if !self.limits.whole_process || !matches!(queue.phase(), Phase::Stopped(_)) {
            return None;
        }
        self.processes
            .get(queue.process_at())?
            .plan()
            .planned_start()
    }

    /// Finds the processes that queues are stopped for and that make no progress.
    fn watch_holders(&mut self) {
        let settle = self.limits.grace.max(self.gaps.wait(&self.limits));
        let mut bound = Nanos::NEVER;
        for rival in (0..RIVALS).map_while(|rank| self.wanting.get(rank)) {
            let Some(process) = self.processes.get_mut(rival.process_at) else {
                continue;
            };
            let Some(since) = process.holding() else {
                continue;
            };
            // While a queue has its turn against all others, progress is not
            // expected. What is only announced tells nothing of that: its grace
            // begins anew in each look that cannot read its pointers.
            let pending = self
                .queues
                .get(rival.at)
                .filter(|queue| queue.work().is_pending())
                .map(|queue| queue.work().pending_since());
            let life = since.max(rival.alive).max(pending.unwrap_or(since));
            let stuck = self.now.since(life) >= self.limits.no_progress && !self.immune;
            process.plan_mut().set_stuck(stuck);
            let now = self.now;
            self.due = self.due.min(now.after(self.limits.no_progress));
            let end = life.after(self.limits.no_progress);
            if end > now {
                bound = bound.min(end);
            }
            if let Some(queue) = self.queues.get_mut(rival.at) {
                let quiet = now.since(since.max(queue.work().moved()));
                let in_effect = now.since(since) >= TAKES_EFFECT;
                if queue.work().is_doubtful() && quiet >= settle && in_effect {
                    queue.settle_doubt(now);
                }
            }
        }
        self.keep_bound(bound);
    }

    /// Plans whether the queue at a place is started.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn plan_start(&mut self, at: usize) {
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        queue.plan_mut().clear_start();
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        let (now, bound) = (self.now, self.limits.max_stop);
        match queue.phase() {
            Phase::Orphan(_) => match self.stopped_with_process(queue) {
                Some(since) => {
                    if let Some(queue) = self.queues.get_mut(at) {
                        queue.adopt(now, since);
                    }
                }
                None => self.plan_start_for(at, Reason::Orphan, queue.beneficiary()),
            },
            Phase::Stopped(stop) if self.follows(queue, stop) => {
                self.keep_bound(stop.since().after(bound));
            }
            Phase::Stopped(stop) => match self.judge(queue, stop) {
                Judgement::Start(reason) => self.plan_start_for(at, reason, stop.beneficiary()),
                Judgement::Blamed(rival) => {
                    let victim = queue.process();
                    self.pairs.blame(now, &self.limits, rival.process, victim);
                    self.plan_start_for(at, Reason::NoProgress, Some(rival.id));
                }
                Judgement::Held(rival) => {
                    self.keep_bound(stop.since().after(bound));
                    self.keep_for(at, &rival);
                }
                Judgement::Calming(until) => {
                    let causer = stop.process();
                    let end = stop.since().after(bound);
                    if let Some(queue) = self.queues.get_mut(at) {
                        queue.calm_stop();
                    }
                    self.look_at(until);
                    self.keep_bound(end);
                    if let Some(at) = self.processes.find(causer.0, 0) {
                        self.hold(at);
                    }
                }
            },
            Phase::Starting(start) if start.stop().is_dry() => {}
            Phase::Starting(start) if now >= queue.retry_at() => {
                self.plan_start_for(at, start.reason(), queue.beneficiary());
            }
            Phase::Starting(_) => self.look_at(queue.retry_at()),
            Phase::Free | Phase::Stopping(_) | Phase::Held(_) => {}
        }
    }

    /// The queue at a place stays stopped for this one.
    fn keep_for(&mut self, at: usize, rival: &Rival) {
        let now = self.now;
        let holder = self.queues.get(rival.at);
        // Until it is sure that a launch without waves was finished, nothing is started,
        // but that time is already part of the wait before a start.
        let surely = holder.is_some_and(|holder| !holder.work().is_doubtful());
        if let Some(queue) = self.queues.get_mut(at) {
            queue.stay_stopped_for(rival.id, rival.process);
            let gap = surely.then(|| queue.renew_stop(now)).flatten();
            self.gap = self.gap.or(gap);
            if let Some(process) = self.processes.get_mut(queue.process_at()) {
                process.plan_mut().hold_for(rival.id, rival.process);
            }
        }
        self.hold(rival.process_at);
        let left = self.budget_left(rival);
        self.keep_bound(now.after(left));
    }

    /// Since when the process of an orphan has been stopped as a whole: the queue
    /// was created while it was.
    fn stopped_with_process(&self, queue: &Queue) -> Option<Nanos> {
        let process = self.processes.get(queue.process_at())?;
        process
            .plan()
            .stopped_since()
            .filter(|_| self.limits.whole_process)
    }

    /// The queue at a place is to be started, which is put down to this
    /// beneficiary.
    fn plan_start_for(&mut self, at: usize, reason: Reason, beneficiary: Option<QueueId>) {
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        queue.plan_mut().start(reason);
        queue.attribute_stop(beneficiary);
        if let Some(process) = self.processes.get_mut(queue.process_at()) {
            process.plan_mut().start(reason, beneficiary);
        }
    }

    /// A queue that was stopped along with its process stays stopped for
    /// whichever queue the process does.
    fn follow_process(&mut self, at: usize) {
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        let Some(stop) = queue.phase().stop() else {
            return;
        };
        let process = self.processes.get(queue.process_at());
        let held_for = process.and_then(|process| process.plan().held_for());
        if let (true, Some((id, process))) = (self.follows(queue, stop), held_for) {
            if let Some(queue) = self.queues.get_mut(at) {
                queue.follow_process(id, process);
            }
        }
    }

    /// The queue was stopped along with its process, has still nothing to do,
    /// and others of the process decide when it is started.
    fn follows(&self, queue: &Queue, stop: &Stop) -> bool {
        let idle = queue.work().backlog() == 0 || !queue.contends();
        // It may have been stopped before the others: then its bound comes first.
        let within = self.now.since(stop.since()) < self.limits.max_stop;
        self.limits.whole_process
            && stop.is_along()
            && within
            && idle
            && self
                .processes
                .get(queue.process_at())
                .is_some_and(|process| process.plan().is_led())
    }

    /// What is to become of a stopped queue.
    fn judge(&self, queue: &Queue, stop: &Stop) -> Judgement {
        if self.releasing || self.config.mode == Mode::Off {
            return Judgement::Start(Reason::Release);
        }
        if self.arming != Arming::Armed {
            return Judgement::Start(Reason::Failure);
        }
        if !queue.contends() {
            return Judgement::Start(Reason::Exempt);
        }
        if self.now.since(stop.since()) >= self.limits.max_stop {
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
            if !holder.wants() {
                continue;
            }
            let keep = self.algorithm.keeps(&self.context, holder, queue, stop);
            if keep == Keep::No {
                continue;
            }
            let stuck = self
                .processes
                .get(rival.process_at)
                .is_some_and(|process| process.plan().is_stuck());
            if self.pairs.cooling(self.now, rival.process, queue.process()) {
                // All that are held for it are started, not only the first.
                let (now, process) = (self.now, queue.process());
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
            if stuck && !stop.is_dry() {
                return Judgement::Blamed(rival);
            }
            return Judgement::Held(rival);
        }
        if turn {
            Judgement::Start(Reason::Turn)
        } else if broke || self.is_causer_broke(stop) {
            Judgement::Start(Reason::Budget)
        } else {
            self.judge_calm(queue, stop)
        }
    }

    /// The time until it is sure that no queue wants it stopped is also time that
    /// the last beneficiary has caused: whether its process has any budget left
    /// for that.
    fn is_causer_broke(&self, stop: &Stop) -> bool {
        let causer = self.processes.find(stop.process().0, 0);
        causer
            .and_then(|at| self.processes.get(at))
            .is_some_and(|process| process.budget_left(self.now, self.limits.budget) == Nanos::ZERO)
    }

    /// What is to become of a queue that no other one wants stopped.
    fn judge_calm(&self, queue: &Queue, stop: &Stop) -> Judgement {
        let wait = self.gaps.wait(&self.limits);
        let work = self.work_of(stop.beneficiary());
        let own = work.and_then(|work| work.may_run_until(&self.limits));
        let above = self.last_launches.above(queue.effective());
        // Who launches something later without wanting it stopped may not hold it.
        let latest = stop.wanted().after(self.limits.resume_delay);
        let running = above.max(own.unwrap_or(Nanos::ZERO)).min(latest);
        let calm = stop.wanted().max(running).after(wait);
        if self.now < calm {
            return Judgement::Calming(calm);
        }
        if work.is_some_and(Work::is_uncounted) {
            // Looks may come late, and this one cannot tell.
            return Judgement::Calming(self.now.after(wait));
        }
        Judgement::Start(Reason::Calm)
    }

    fn work_of(&self, queue: Option<QueueId>) -> Option<&Work> {
        let at = self.queues.find(queue?.0, 0)?;
        self.queues.get(at).map(Queue::work)
    }

    /// Decides the start of the queue at a place, which ends this stop. `false`: the
    /// output is full.
    fn start(&mut self, at: usize, reason: Reason, stop: Option<&Stop>) -> bool {
        let now = self.now;
        let Some(queue) = self.queues.get(at) else {
            return false;
        };
        let decision = Decision {
            queue: queue.id(),
            action: Action::Start,
            reason,
            beneficiary: stop.and_then(Stop::beneficiary),
            age: stop.map_or(Nanos::ZERO, |stop| now.since(stop.since())),
            apply: !stop.is_some_and(Stop::is_dry),
        };
        if !self.push(decision) {
            return false;
        }
        let Some(queue) = self.queues.get_mut(at) else {
            return true;
        };
        queue.begin_start(now, &self.limits, reason);
        let along = stop.is_some_and(Stop::is_along);
        if reason == Reason::Turn && queue.contends() && !along {
            let rank = self.algorithm.rank(queue);
            let rival = Rival::new(queue, at, rank, &self.limits);
            self.waiting.offer(rival);
        }
        if queue.phase().is_ours() {
            let retry_at = queue.retry_at();
            self.look_at(retry_at);
        }
        true
    }

    /// Learns from a stop of the queue at a place that ended because no queue wanted
    /// the GPU any more, or because those that do have had their turn.
    fn learn(&mut self, at: usize, stop: &Stop) {
        let Some(victim) = self.queues.get(at).map(Queue::process) else {
            return;
        };
        let work = self.work_of(stop.beneficiary());
        let alive = work.is_some_and(|work| work.alive() > stop.since());
        let served = if alive {
            self.pairs.forgive(self.now, stop.process(), victim);
            stop.wanted().since(stop.since())
        } else {
            Nanos::ZERO
        };
        self.thrash.learn(self.config, served, stop.disturbed());
    }
}
