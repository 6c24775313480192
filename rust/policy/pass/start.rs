// SPDX-License-Identifier: GPL-2.0-only
//! Which stopped queues are started, and why.
//!
//! A queue stays stopped only for a queue of another process at a level above it that
//! holds: that wants the GPU, has budget left and makes progress, or is in a pause that it
//! pays to hold out. A queue that no level holds is started.

use crate::pass::pass::Pass;
use crate::queue::phase::Phase;
use crate::queue::queue::Queue;
use crate::queue::stop::Beneficiary;
use crate::queue::stop::Stop;
use crate::settings::choices::Mode;
use crate::terms::decision::Action;
use crate::terms::decision::Arming;
use crate::terms::decision::Decision;
use crate::terms::decision::Reason;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// What is to become of a stopped queue.
enum Judgement {
    Start(Reason),
    /// It stays stopped for this one, whose process is at this place.
    Held(Beneficiary, usize),
}

impl Pass<'_, '_> {
    /// Starts every queue that no other one may hold any longer.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn start_queues(&mut self) {
        let mut bounded = false;
        for at in 0..self.queues.len() {
            bounded |= self.start_or_keep(at) == Some(Reason::Bound);
        }
        if bounded {
            // They take one transaction with those that come next anyway.
            for at in 0..self.queues.len() {
                self.start_early(at);
            }
        }
    }

    /// Starts the queue at a place if it is stopped and nobody holds it. Returns why.
    fn start_or_keep(&mut self, at: usize) -> Option<Reason> {
        let now = self.now;
        let queue = self.queues.get(at)?;
        let reason = match queue.phase() {
            Phase::Orphan(_) => Reason::Orphan,
            Phase::Stopped(stop) => {
                let stop = *stop;
                match self.judge(at, &stop) {
                    Judgement::Start(reason) => reason,
                    Judgement::Held(beneficiary, process_at) => {
                        self.hold(process_at);
                        self.keep_bound(stop.since().after(self.limits.max_stop));
                        if let Some(queue) = self.queues.get_mut(at) {
                            queue.serve(beneficiary);
                        }
                        return None;
                    }
                }
            }
            Phase::Starting(start) if start.stop().is_dry() => return None,
            Phase::Starting(start) if now >= queue.retry_at() => start.reason(),
            Phase::Starting(_) => {
                let retry = queue.retry_at();
                self.look_at(retry);
                return None;
            }
            Phase::Free | Phase::Stopping(_) | Phase::Held(_) => return None,
        };
        self.start(at, reason);
        Some(reason)
    }

    /// Starts the queue at a place if it has been stopped for half of the bound.
    fn start_early(&mut self, at: usize) {
        let half = Nanos(self.limits.max_stop.0 / 2);
        let stop = self.queues.get(at).map(Queue::phase);
        let old = matches!(stop, Some(Phase::Stopped(stop))
            if self.now.since(stop.since()) >= half);
        if old {
            self.start(at, Reason::Bound);
        }
    }

    /// What is to become of the stopped queue at a place.
    fn judge(&mut self, at: usize, stop: &Stop) -> Judgement {
        if self.releasing || self.config.mode == Mode::Off {
            return Judgement::Start(Reason::Release);
        }
        if self.arming != Arming::Armed {
            return Judgement::Start(Reason::Failure);
        }
        let Some(queue) = self.queues.get(at) else {
            return Judgement::Start(Reason::Orphan);
        };
        if !queue.contends() {
            return Judgement::Start(Reason::Exempt);
        }
        if self.now.since(stop.since()) >= self.limits.max_stop {
            return Judgement::Start(Reason::Bound);
        }
        let (level, process) = (queue.effective(), queue.process());
        let (mut spent, mut stuck) = (false, false);
        for above in Self::levels_above(level) {
            let Some(one) = self.level(above) else {
                continue;
            };
            spent |= one.held() && one.is_spent();
            stuck |= one.held() && one.is_stuck();
            let wants = one.wants().other_than(process);
            if let Some(who) = wants {
                let (holds, ruled) = (one.holds(), one.is_ruled());
                if holds || self.takes_over(at, above, ruled) {
                    return Judgement::Held(who.beneficiary, who.process_at);
                }
            } else if let Some(until) = one.keeps_until(self.now) {
                match self.keeper(stop, above) {
                    Some(held) => {
                        self.look_at(until);
                        return held;
                    }
                    None => spent = true,
                }
            }
        }
        if let Some(who) = self.holds_the_turn(at, level) {
            return Judgement::Held(who.0, who.1);
        }
        Judgement::Start(match (stuck, spent, stop.is_for_a_turn()) {
            (true, _, _) => Reason::NoProgress,
            (_, true, _) => Reason::Budget,
            (_, _, true) => Reason::Turn,
            _ => Reason::Calm,
        })
    }

    /// Whether a level that did not hold anything takes over the stopped queue at a place:
    /// only if its stop would pay, and the level can afford it.
    fn takes_over(&mut self, at: usize, above: Priority, ruled: bool) -> bool {
        let now = self.now;
        let Some(queue) = self.queues.get_mut(at) else {
            return false;
        };
        queue.work_mut().work_out_rest(now);
        let pays = queue.work().rest() > self.threshold();
        pays && self.spend(above, ruled)
    }

    /// For whom a queue stays stopped in a pause of a level: whom it was stopped for, if it
    /// still has budget.
    fn keeper(&self, stop: &Stop, above: Priority) -> Option<Judgement> {
        let beneficiary = stop.beneficiary()?;
        let process_at = self.processes.find(beneficiary.process.0, 0)?;
        let keeps = self.may_hold(process_at) && beneficiary.level >= above;
        keeps.then_some(Judgement::Held(beneficiary, process_at))
    }

    /// Who has the turn at a level that the stopped queue at a place shares, if that is
    /// another process.
    fn holds_the_turn(&self, at: usize, level: Priority) -> Option<(Beneficiary, usize)> {
        let queue = self.queues.get(at)?;
        let turn = self.level(level)?.turn().filter(|turn| turn.exclusive)?;
        let slices = queue.rating().timeslice() > Nanos::ZERO;
        if turn.process == queue.process() || !slices {
            return None;
        }
        let who = self.level(level)?.wants().other_than(queue.process())?;
        Some((who.beneficiary, who.process_at))
    }

    /// Decides the start of the queue at a place.
    fn start(&mut self, at: usize, reason: Reason) {
        let (now, limits) = (self.now, self.limits);
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        let orphan = queue.phase().is_orphan();
        let stop = queue.phase().stop().copied().filter(|_| !orphan);
        let beneficiary = stop.and_then(|stop| stop.beneficiary());
        let decision = Decision {
            queue: queue.id(),
            action: Action::Start,
            reason,
            beneficiary: beneficiary.map(|beneficiary| beneficiary.queue),
            age: stop.map_or(Nanos::ZERO, |stop| now.since(stop.since())),
            apply: !stop.is_some_and(|stop| stop.is_dry()),
        };
        if !self.push(decision) {
            return;
        }
        if let Some(queue) = self.queues.get_mut(at) {
            queue.begin_start(now, &limits, reason);
            if queue.phase().is_ours() {
                let retry_at = queue.retry_at();
                self.look_at(retry_at);
            }
        }
    }
}
