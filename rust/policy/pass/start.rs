// SPDX-License-Identifier: GPL-2.0-only
//! Which stopped queues are started, and why.
//!
//! A queue stays stopped only for a queue of another process at a level above it that
//! holds: that wants the GPU, has budget left and makes progress, or is in a pause that it
//! pays to hold out. A queue that no level holds is started.

use crate::pass::Pass;
use crate::queue::phase::{Phase, Stop, Who};
use crate::settings::Mode;
use crate::terms::{Action, Arming, Decision, Nanos, Priority, Reason};

impl Pass<'_> {
    /// Starts every queue that no other one may hold any longer.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn start_queues(&mut self) {
        for at in 0..self.queues.len() {
            if let Some(reason) = self.reason_to_start(at) {
                self.start(at, reason);
            }
        }
    }

    /// Why the queue at a place is started, if it is stopped and nobody holds it.
    fn reason_to_start(&mut self, at: usize) -> Option<Reason> {
        let queue = self.queues.get(at)?;
        match queue.phase {
            Phase::Orphan => Some(Reason::Orphan),
            Phase::Stopped(mut stop) => match self.judge(at, &stop) {
                Err(reason) => Some(reason),
                Ok(who) => {
                    self.hold(who.process_at);
                    self.keep_bound(stop.since.after(self.limits.max_stop));
                    // It lasts for this one now, or its end is put down to it.
                    stop.beneficiary = Some(who);
                    self.queues.get_mut(at)?.phase = Phase::Stopped(stop);
                    None
                }
            },
            Phase::Starting(stop, _) if stop.dry => None,
            Phase::Starting(_, reason) if self.now >= queue.retry_at => Some(reason),
            Phase::Starting(..) => {
                self.look_at(queue.retry_at);
                None
            }
            Phase::Free | Phase::Stopping(_) | Phase::Held => None,
        }
    }

    /// For whom the stopped queue at a place stays so, or why it is started.
    fn judge(&mut self, at: usize, stop: &Stop) -> Result<Who, Reason> {
        let queue = self.queues.get(at).ok_or(Reason::Orphan)?;
        let (level, process) = (queue.rating.level, queue.process);
        let stopped = self.now.since(stop.since);
        // Whom a rule raises is to find half of the bound left when it takes a stop over.
        let worn = self.config.highest_rule.is_some() && stopped.times(2) >= self.limits.max_stop;
        if self.node.releasing || self.config.mode == Mode::Off {
            return Err(Reason::Release);
        } else if self.step.arming != Arming::Armed {
            return Err(Reason::Failure);
        } else if !queue.rating.contends {
            return Err(Reason::Exempt);
        } else if stopped >= self.limits.max_stop {
            return Err(Reason::Bound);
        }
        let (mut spent, mut stuck) = (false, false);
        for above in Self::levels_above(level) {
            let one = self.level(above);
            spent |= one.held && one.demand.spent;
            stuck |= one.held && one.demand.stuck;
            let (holds, until) = (one.holds, one.hold_until);
            let (wants, waits, ruled) = (one.demand.wants, one.demand.waits, one.demand.ruled);
            // Whoever waits pays for it, and not one that merely works meanwhile.
            let waits = waits.and_then(|waiting| waiting.who.other_than(process));
            if let Some(who) = waits.or(wants.other_than(process)) {
                if holds || self.takes_over(at, above, ruled) {
                    return Some(who).filter(|_| ruled || !worn).ok_or(Reason::Bound);
                }
            } else if holds && wants.first.is_none() {
                if let Some(who) = self.held_for(stop, above) {
                    let at = who.process_at;
                    if !self.is_cooling(at) && self.budget_left(at) > Nanos::ZERO {
                        self.look_at(until);
                        return Ok(who);
                    }
                    spent = true;
                }
            }
        }
        if let Some((who, _)) = self.other_turn(at) {
            return Ok(who);
        }
        Err(match stop.reason {
            _ if stuck => Reason::NoProgress,
            _ if spent => Reason::Budget,
            Reason::Rotation => Reason::Turn,
            _ => Reason::Calm,
        })
    }

    /// Whether a level that did not hold anything takes over the stopped queue at a place:
    /// only if its stop would pay, and the level can afford it.
    fn takes_over(&mut self, at: usize, above: Priority, ruled: bool) -> bool {
        let (now, threshold) = (self.now, self.threshold());
        let pays = self.queues.get_mut(at).is_some_and(|queue| {
            queue.work.work_out_rest(now);
            queue.work.rest > threshold
        });
        pays && self.take(above, ruled)
    }

    /// For whom a queue stays stopped in a pause of a level: whom it was stopped for, if
    /// that is not of a lower level and has not gone.
    fn held_for(&self, stop: &Stop, above: Priority) -> Option<Who> {
        let who = stop.beneficiary.filter(|one| one.level >= above)?;
        let process_at = self.processes.find(who.process.0, who.process_at)?;
        Some(Who { process_at, ..who })
    }

    /// Decides the start of the queue at a place. `None`: there is no room for it.
    fn start(&mut self, at: usize, reason: Reason) -> Option<()> {
        let (now, limits) = (self.now, self.limits);
        let queue = self.queues.get(at)?;
        let stop = queue.stop_to_end(now);
        self.push(Decision {
            queue: queue.id,
            action: Action::Start,
            reason,
            beneficiary: stop.beneficiary.map(|one| one.queue),
            age: now.since(stop.since),
            apply: !stop.dry,
        })?;
        let queue = self.queues.get_mut(at)?;
        queue.begin_start(now, &limits, reason);
        let retry_at = queue.retry_at;
        self.look_at(retry_at);
        Some(())
    }
}
