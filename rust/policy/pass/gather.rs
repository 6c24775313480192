// SPDX-License-Identifier: GPL-2.0-only
//! Who wants something, by level: one walk, in which nothing is ranked and nothing can be
//! filled up.

use crate::level::demand::Who;
use crate::level::level::Level;
use crate::pass::pass::Pass;
use crate::terms::priority::Priority;
use crate::terms::priority::LEVELS;
use crate::terms::time::Nanos;

impl Pass<'_, '_> {
    /// Finds who wants something at each level, who waits, and what that changes.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn gather(&mut self) {
        self.watch_progress();
        for at in 0..self.queues.len() {
            self.gather_queue(at);
        }
        let (now, start) = (self.now, self.cost.start());
        for slot in self.levels.iter_mut() {
            slot.0.follow(now, start);
        }
    }

    /// Finds the processes that queues are stopped for and that make no progress.
    fn watch_progress(&mut self) {
        // Where nothing is really stopped, nobody waits for it.
        if self.stopped == 0 || !self.limits.enforce {
            return;
        }
        let now = self.now;
        let mut ends = Nanos::NEVER;
        let mut doubted = Nanos::NEVER;
        for process in self.processes.iter_mut() {
            // While a queue has its time against all others, progress is not expected.
            if self.immune {
                process.excuse(now);
            }
            let Some(end) = process.patience_ends(&self.limits) else {
                continue;
            };
            if now >= end {
                process.blame(now);
            } else {
                ends = ends.min(end);
                // Before anybody is blamed its waves are counted.
                let half = Nanos(self.limits.no_progress.0 / 2);
                doubted = doubted.min(Nanos(end.0.saturating_sub(half.0)));
            }
        }
        if doubted <= now {
            self.questions.suspect();
        }
        self.look_at(doubted.max(now.after(self.limits.alert)));
        self.keep_bound(ends);
    }

    /// Books what the queue at a place wants.
    fn gather_queue(&mut self, at: usize) {
        let (now, limits, ending) = (self.now, self.limits, self.stopped > 0);
        let Some(queue) = self.queues.get(at).filter(|queue| queue.contends()) else {
            return;
        };
        let level = queue.effective();
        if !queue.wants(now, ending) {
            return;
        }
        let (work, process_at) = (queue.work(), queue.process_at());
        let who = Who {
            beneficiary: queue.as_beneficiary(),
            at,
            process_at,
        };
        if !self.may_hold(process_at) {
            let cooling = self.is_cooling(process_at);
            if let Some(level) = self.level_mut(level) {
                level.deny(cooling);
            }
            return;
        }
        let waits = queue.waits(now, &limits);
        let fresh = waits.is_none() && work.is_fresh(now);
        let (packets, own) = (work.backlog().max(1), work.own_rest(now));
        let ruled = queue.rating().is_ruled();
        // Below the lowest queue there is nothing to stop.
        let above = level > self.floor;
        let settles = queue
            .settles_at(now, &limits)
            .filter(|_| level > self.lowest);
        self.settles = self.settles.min(settles.unwrap_or(Nanos::NEVER));
        let Some(level) = self.level_mut(level) else {
            return;
        };
        level.add_wanting(who, ruled);
        if !above {
            return;
        }
        if fresh {
            level.fresh_mut().add(who);
        }
        if let Some(since) = waits {
            let waiting = level.waits_mut();
            waiting.who.add(who);
            waiting.ruled |= ruled;
            waiting.packets = waiting.packets.max(packets);
            waiting.since = waiting.since.min(since);
            waiting.own = waiting.own.min(own);
        }
    }

    /// Nothing is stopped for the process at a place at present: it made no progress.
    fn is_cooling(&self, process_at: usize) -> bool {
        let process = self.processes.get(process_at);
        process.is_some_and(|one| one.is_cooling(self.now))
    }

    /// Something may be stopped for the process at a place: it makes progress, and its
    /// tenant has budget left.
    pub(crate) fn may_hold(&self, process_at: usize) -> bool {
        !self.is_cooling(process_at) && self.budget_left(process_at) > Nanos::ZERO
    }

    /// The levels above one, the highest first.
    pub(crate) fn levels_above(level: Priority) -> impl Iterator<Item = Priority> {
        let lowest = u32::from(level.level()).saturating_add(1);
        let all = lowest..u32::try_from(LEVELS).unwrap_or(0);
        all.rev().filter_map(Priority::new)
    }

    /// Whether somebody waits anywhere.
    pub(crate) fn anybody_waits(&self) -> bool {
        let waits = |level: &Level| !level.waits().who.is_empty();
        self.levels.iter().any(|slot| waits(&slot.0))
    }
}
