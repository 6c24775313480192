// SPDX-License-Identifier: GPL-2.0-only
//! Which running queues are stopped, and for whom.
//!
//! From the highest level down, the first for which it pays: those that wait there would
//! wait longer for the lower queues than it takes to stop them and to start them again, and
//! the level can afford it. All lower queues of other processes are stopped with them,
//! since a transaction takes every queue of the node off the hardware anyway; those that
//! are idle at present, too, for their next work would cost another one.

use crate::level::demand::{Two, Waiting};
use crate::pass::Pass;
use crate::queue::phase::{Stop, Who};
use crate::queue::Queue;
use crate::settings::Mode;
use crate::terms::{Action, Decision, Inversion, Nanos, Priority, Reason};

/// How long after its last launch a queue is expected to have more work.
pub(crate) const EXPECT: Nanos = Nanos::from_millis(1_000);

/// How many times what a stop costs it has to save: it is paid once to stop and once to
/// start, and what was seen is old by two looks when it takes effect.
const WORTH: u64 = 2;

/// How many times what a stop has to save somebody waits before waves that were counted have
/// the last word, whatever was learned of launches: pointers are their owner's to write.
const PATIENCE: u64 = 8;

/// What lower queues are to those that wait.
#[derive(Clone, Copy, Default)]
struct Below {
    /// For how long they would be in the way.
    rest: Nanos,
    /// One of them may work though nothing speaks for it.
    doubtful: bool,
    /// So may one whose waves nobody can count, so that only a stop can tell.
    unseen: bool,
}

impl Pass<'_> {
    /// What a stop has to save, to be worth its cost.
    pub(crate) fn threshold(&self) -> Nanos {
        let stale = self.limits.alert.times(2);
        self.node.cost.stop.after(stale).times(WORTH)
    }

    /// Finds the level for which queues are stopped in this pass, if there is one.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn choose_stop(&mut self) {
        let waits = self.levels.iter().any(|one| one.demand.waits.is_some());
        let mut levels = self.levels.iter();
        if !waits && !levels.any(|level| level.demand.fresh.first.is_some()) {
            return;
        }
        for queue in self.queues.iter_mut() {
            queue.work.work_out_rest(self.now);
        }
        self.tally.stops_for = Self::levels_above(Priority::LOWEST).find(|&at| self.weigh(at));
    }

    /// Whether it pays to stop what is below a level for those that wait there.
    fn weigh(&mut self, at: Priority) -> bool {
        let demand = self.level(at).demand;
        let threshold = self.threshold();
        let Some(waiting) = demand.waits else {
            // Is all that was just launched on the compute units? One count tells.
            let fresh = demand.fresh.first.is_some() && !self.tally.counted;
            if fresh && self.below(at, &demand.fresh, None).rest > threshold {
                self.node.questions.asks = true;
            }
            return false;
        };
        let below = self.below(at, &waiting.who, Some(&waiting));
        let (waited, puzzling) = (self.now.since(waiting.since), below.rest.times(2));
        if below.rest > threshold || (below.unseen && waited > threshold.max(puzzling)) {
            return self.take(at, waiting.ruled);
        }
        // It waits all the same, and for longer than what is known of explains, so that
        // something may run of which the pointers do not tell.
        if below.doubtful || waited >= puzzling {
            let questions = &mut self.node.questions;
            questions.wonder(self.now, waiting.since, &self.limits, !below.doubtful);
        }
        false
    }

    /// What the queues below a level are to these.
    fn below(&mut self, at: Priority, who: &Two, waiting: Option<&Waiting>) -> Below {
        let now = self.now;
        let mut below = Below::default();
        let mut worst: Option<(&Queue, Who)> = None;
        let further = waiting.map_or(0, |waiting| u64::from(waiting.packets.saturating_sub(1)));
        let share = waiting.map(|waiting| Nanos(now.since(waiting.since).0 / PATIENCE));
        for queue in self.queues.iter() {
            let stoppable = queue.rating.level < at && queue.is_stoppable(now, at);
            let Some(one) = who.other_than(queue.process).filter(|_| stoppable) else {
                continue;
            };
            below.doubtful |= queue.work.is_doubtful(now);
            let unseen = queue.work.is_unseen(now);
            below.unseen |= unseen;
            if queue.work.works(now) {
                // Each further packet may find a launch of it in its way.
                let rest = queue.work.rest.after(queue.work.mean.times(further));
                let known = queue.work.mean > Nanos::ZERO;
                let shown = share.filter(|_| known && queue.work.counted > Some(0));
                below.rest = below.rest.max(rest).max(shown.unwrap_or_default());
            } else if !unseen {
                continue;
            }
            if worst.is_none_or(|(worst, _)| queue.rating.level < worst.rating.level) {
                worst = Some((queue, one));
            }
        }
        let found = worst.zip(waiting);
        let found = found.map(|((running, one), waiting)| Inversion {
            waiting: one.queue,
            running: running.id,
            age: now.since(waiting.since),
        });
        self.step.inversion = self.step.inversion.or(found);
        below
    }

    /// Has a level hold what is below it, if it can afford that.
    pub(crate) fn take(&mut self, at: Priority, ruled: bool) -> bool {
        let affords = self.spend(at, ruled);
        self.level(at).holds |= affords;
        affords
    }

    /// Spends a round trip for a level, if it can afford one. What claims spend is lost to
    /// the claims below, and what rules spend to the rules below: nothing above, and no
    /// claim by a rule, for else the middle would starve.
    pub(crate) fn spend(&mut self, at: Priority, ruled: bool) -> bool {
        let cost = self.node.cost.stop.after(self.node.cost.start);
        let wait = self.level(at).tank(ruled).wait(cost);
        if wait > Nanos::ZERO {
            self.look_at(self.now.after(wait));
            return false;
        }
        for level in self.levels.iter_mut().take(at.index().saturating_add(1)) {
            level.tank(ruled).spend(cost);
        }
        true
    }

    /// Stops what is below the level that was chosen, and those whose turn is over.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn stop_queues(&mut self) {
        let chosen = self.tally.stops_for;
        let waits = chosen.and_then(|level| Some((level, self.level(level).demand.waits?)));
        if let Some((level, waiting)) = waits {
            for at in 0..self.queues.len() {
                self.stop_below(at, level, &waiting);
            }
        }
        for at in 0..self.queues.len() {
            self.stop_for_turn(at);
        }
    }

    /// Stops the queue at a place for those that wait at a level.
    fn stop_below(&mut self, at: usize, level: Priority, waiting: &Waiting) -> Option<()> {
        let (queue, now) = (self.queues.get(at)?, self.now);
        let below = queue.rating.level < level && queue.is_stoppable(now, level);
        let moved = queue.work.moved;
        let lately = moved > Nanos::ZERO && now.since(moved) < EXPECT;
        let who = waiting.who.other_than(queue.process);
        let who = who.filter(|_| below && (queue.work.has_any() || lately));
        self.stop(at, who?, Reason::Inversion, waiting.since)
    }

    /// Decides the stop of the queue at a place, for one that has waited since this time.
    /// `None`: there is no room for it.
    pub(crate) fn stop(&mut self, at: usize, who: Who, why: Reason, since: Nanos) -> Option<()> {
        let (now, dry) = (self.now, self.config.mode != Mode::Enforce);
        self.push(Decision {
            queue: self.queues.get(at)?.id,
            action: Action::Stop,
            reason: why,
            beneficiary: Some(who.queue),
            age: now.since(since),
            apply: !dry,
        })?;
        self.queues.get_mut(at)?.begin_stop(Stop {
            since: now,
            reason: why,
            beneficiary: Some(who),
            dry,
        });
        let beneficiary = self.queues.get(who.at);
        if beneficiary.is_some_and(|one| one.announced.is_some()) {
            self.book_hint(who.process_at, true);
        }
        self.hold(who.process_at);
        self.keep_bound(now.after(self.limits.max_stop));
        Some(())
    }
}
