// SPDX-License-Identifier: GPL-2.0-only
//! Who wants something, by level: one walk, in which nothing is ranked and nothing can be
//! filled up.

use crate::level::demand::{Taker, Waiting};
use crate::pass::Pass;
use crate::queue::phase::Who;
use crate::queue::Queue;
use crate::settings::Mode;
use crate::terms::{Nanos, Reason};

impl Pass<'_> {
    /// Finds who wants something at each level, who waits, and what that changes.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn gather(&mut self) {
        self.watch_progress();
        for at in 0..self.queues.len() {
            self.gather_queue(at);
        }
        let (now, start) = (self.now, self.node.cost.start);
        for level in self.levels.iter_mut() {
            level.follow(now, start);
        }
    }

    /// Finds the processes that queues are stopped for and that make no progress.
    fn watch_progress(&mut self) {
        // Where nothing is really stopped, nobody waits for it.
        if self.tally.stopped == 0 || self.config.mode != Mode::Enforce {
            return;
        }
        let now = self.now;
        let mut ends = Nanos::NEVER;
        for process in self.processes.iter_mut() {
            // While a queue has its time against all others, progress is not expected.
            if self.tally.immune {
                process.excuse(now);
            }
            match process.stands_still_at(&self.limits) {
                Some(end) if now >= end => process.blame(now),
                end => ends = ends.min(end.unwrap_or(Nanos::NEVER)),
            }
        }
        // Before anybody is blamed its waves are counted.
        let doubted = ends.since(Nanos(self.limits.no_progress.0 / 2));
        self.node.questions.asks |= doubted <= now;
        self.look_at(doubted.max(now.after(self.limits.alert)));
        self.keep_bound(ends);
    }

    /// Books what the queue at a place wants. `None`: nothing, or nothing that may be.
    fn gather_queue(&mut self, at: usize) -> Option<()> {
        let (now, limits) = (self.now, self.limits);
        let ending = self.tally.stopped > 0;
        let wants = self.queues.get(at).filter(|one| one.rating.contends);
        let queue = wants.filter(|one| one.wants(now, ending))?;
        let (who, ruled, packets) = (queue.who(at), queue.rating.ruled, queue.work.backlog);
        // Below the lowest queue there is nothing to stop.
        let above = who.level > self.tally.floor;
        let waits = queue.waits(now, &limits).filter(|_| above);
        let fresh = above && waits.is_none() && queue.work.is_fresh(now);
        let taker = self.taker(who, queue);
        let settles = queue.settles_at(now, &limits);
        let settles = settles.filter(|_| who.level > self.tally.lowest);
        let cooling = self.is_cooling(who.process_at);
        let spent = self.budget_left(who.process_at) == Nanos::ZERO;
        let level = self.level(who.level);
        let demand = &mut level.demand;
        if cooling || spent {
            demand.stuck |= cooling;
            demand.spent |= !cooling;
            return None;
        }
        demand.wants.add(who);
        demand.ruled |= ruled;
        if let Some(taker) = taker {
            demand.takers.add(taker);
            if level.turn.is_some_and(|turn| turn.process == who.process) {
                demand.takers.holder.get_or_insert(taker);
            }
        }
        if fresh {
            demand.fresh.add(who);
        }
        if let Some(since) = waits {
            let waiting = demand.waits.get_or_insert(Waiting {
                since,
                ..Waiting::default()
            });
            waiting.who.add(who);
            waiting.ruled |= ruled;
            waiting.packets = waiting.packets.max(packets);
            waiting.since = waiting.since.min(since);
        }
        self.look_at(settles?);
        Some(())
    }

    /// What a queue is to the turns of its level, if it takes any.
    fn taker(&self, who: Who, queue: &Queue) -> Option<Taker> {
        let now = self.now;
        let takes = queue.rating.timeslice > Nanos::ZERO && queue.wants(now, false);
        let stop = queue.phase.lasting_stop();
        let process = self.processes.get(who.process_at);
        takes.then(|| Taker {
            who,
            waits_since: queue.work.waits_since,
            timeslice: queue.rating.timeslice,
            off: !(queue.runs() && queue.work.works_beside_waiting(now)),
            matters: stop.is_some_and(|stop| stop.reason == Reason::Rotation)
                || queue.waits(now, &self.limits).is_some(),
            last: process.map_or(Nanos::ZERO, |process| process.turn),
        })
    }
}
