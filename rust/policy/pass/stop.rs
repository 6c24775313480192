// SPDX-License-Identifier: GPL-2.0-only
//! Which running queues are stopped, and for whom.
//!
//! From the highest level down, the first for which it pays: those that wait there would
//! wait longer for the lower queues than it takes to stop them and to start them again, and
//! the level can afford it. All lower queues of other processes are stopped with them,
//! since a transaction takes every queue of the node off the hardware anyway; those that
//! are idle at present, too, for their next work would cost another one.

use crate::level::demand::Two;
use crate::level::demand::Waiting;
use crate::level::demand::Who;
use crate::level::level::Level;
use crate::pass::pass::Pass;
use crate::queue::queue::Queue;
use crate::queue::stop::Stop;
use crate::terms::decision::Action;
use crate::terms::decision::Decision;
use crate::terms::decision::Inversion;
use crate::terms::decision::Reason;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// How long after its last launch a queue is expected to have more work.
pub(crate) const EXPECT: Nanos = Nanos::from_millis(1_000);

/// How many times what a stop costs it has to save: it is paid once to stop and once to
/// start, and what was seen is old by two looks when it takes effect.
const WORTH: u64 = 2;

/// What is below a level, seen from those that wait there.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// For how long the lower queues would be in the way.
    wait: Nanos,
    /// One of them may work, though nothing speaks for it.
    doubtful: bool,
}

impl Pass<'_, '_> {
    /// What a stop has to save, to be worth its cost.
    pub(crate) fn threshold(&self) -> Nanos {
        let stale = self.limits.alert.times(2);
        self.cost.stop().after(stale).times(WORTH)
    }

    /// Finds the level for which queues are stopped in this pass, if there is one.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn choose_stop(&mut self) {
        let waits = self.anybody_waits();
        if !waits {
            self.questions.settle();
        }
        let fresh = self.levels.iter().any(|slot| !slot.0.fresh().is_empty());
        if !waits && !fresh {
            return;
        }
        let now = self.now;
        for queue in self.queues.iter_mut() {
            queue.work_mut().work_out_rest(now);
        }
        for level in Self::levels_above(Priority::LOWEST) {
            if self.weigh(level) {
                self.stops_for = Some(level);
                return;
            }
        }
    }

    /// Whether it pays to stop what is below a level for those that wait there.
    fn weigh(&mut self, at: Priority) -> bool {
        let Some(level) = self.level(at) else {
            return false;
        };
        let waiting = *level.waits();
        let fresh = *level.fresh();
        let asks = waiting.who.is_empty();
        if asks && fresh.is_empty() {
            return false;
        }
        let who = if asks { fresh } else { waiting.who };
        let below = self.below(at, &who, &waiting);
        let pays = below.wait > self.threshold();
        if asks {
            // Is all of it on the compute units? One count tells.
            if pays && !self.counted {
                self.questions.suspect();
            }
            return false;
        }
        if !pays {
            // It waits all the same, and for longer than what is known of explains, so that
            // something may run of which the pointers do not tell.
            let age = self.now.since(waiting.since);
            if below.doubtful || age >= below.wait.times(2) {
                let unknown = !below.doubtful;
                self.questions
                    .wonder(self.now, waiting.since, &self.limits, unknown);
            }
            return false;
        }
        self.spend(at, waiting.ruled)
    }

    /// What is below a level, seen from these.
    fn below(&mut self, at: Priority, who: &Two, waiting: &Waiting) -> Below {
        let now = self.now;
        let mut below = Below::default();
        let mut worst: Option<(&Queue, Who)> = None;
        let own = match waiting.own {
            Nanos::NEVER => Nanos::ZERO,
            own => own,
        };
        let further = u64::from(waiting.packets.saturating_sub(1));
        for queue in self.queues.iter() {
            if queue.effective() >= at || !queue.is_stoppable(now, at) {
                continue;
            }
            let Some(one) = who.other_than(queue.process()) else {
                continue;
            };
            let work = queue.work();
            below.doubtful |= work.is_doubtful(now);
            if !work.works(now) {
                continue;
            }
            // Each further packet may find a launch of it in its way.
            let wait = work.rest().since(own).after(work.mean().times(further));
            below.wait = below.wait.max(wait);
            if worst.is_none_or(|(worst, _)| queue.effective() < worst.effective()) {
                worst = Some((queue, one));
            }
        }
        if let Some((running, one)) = worst.filter(|_| !waiting.who.is_empty()) {
            self.step.inversion = self.step.inversion.or(Some(Inversion {
                waiting: one.beneficiary.queue,
                running: running.id(),
                age: now.since(waiting.since),
            }));
        }
        below
    }

    /// Spends a round trip for a level, if it can afford one. What claims spend is lost to
    /// the claims below, and what rules spend to the rules below: nothing above, and no
    /// claim by a rule, for else the middle would starve.
    pub(crate) fn spend(&mut self, at: Priority, ruled: bool) -> bool {
        let cost = self.cost.round_trip();
        let percent = match ruled {
            true => self.limits.rule_overhead,
            false => self.limits.claim_overhead,
        };
        let Some(level) = self.level(at) else {
            return false;
        };
        if !level.tank(ruled).affords(cost) {
            let wait = level.tank(ruled).wait(cost, percent);
            self.look_at(self.now.after(wait));
            return false;
        }
        for slot in self.levels.iter_mut().take(at.index().saturating_add(1)) {
            slot.0.tank_mut(ruled).spend(cost);
        }
        if let Some(level) = self.level_mut(at) {
            level.hold();
        }
        true
    }

    /// Stops what is below the level that was chosen, and those whose turn is over.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn stop_queues(&mut self) {
        if let Some(level) = self.stops_for {
            let waiting = self.level(level).map(Level::waits).copied();
            if let Some(waiting) = waiting {
                for at in 0..self.queues.len() {
                    self.stop_below(at, level, &waiting);
                }
            }
        }
        self.stop_for_turns();
    }

    /// Stops the queue at a place for those that wait at a level.
    fn stop_below(&mut self, at: usize, level: Priority, waiting: &Waiting) {
        let now = self.now;
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        if queue.effective() >= level || !queue.is_stoppable(now, level) {
            return;
        }
        let work = queue.work();
        let lately = work.moved() > Nanos::ZERO && now.since(work.moved()) < EXPECT;
        if !work.has_any() && !lately {
            return;
        }
        if let Some(who) = waiting.who.other_than(queue.process()) {
            self.stop(at, who, Reason::Inversion, waiting.since);
        }
    }

    /// Decides the stop of the queue at a place, for one that has waited since this time.
    pub(crate) fn stop(&mut self, at: usize, who: Who, reason: Reason, since: Nanos) {
        let (now, dry) = (self.now, !self.limits.enforce);
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        let decision = Decision {
            queue: queue.id(),
            action: Action::Stop,
            reason,
            beneficiary: Some(who.beneficiary.queue),
            age: now.since(since),
            apply: !dry,
        };
        let stop = Stop::new(now, reason, who.beneficiary, dry);
        if !self.push(decision) {
            return;
        }
        if let Some(queue) = self.queues.get_mut(at) {
            queue.begin_stop(stop);
        }
        self.book_preparation(who.at);
        self.hold(who.process_at);
        self.keep_bound(now.after(self.limits.max_stop));
    }
}
