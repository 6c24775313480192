// SPDX-License-Identifier: GPL-2.0-only
//! Timeslices: the processes of a level take turns while one of them waits.
//!
//! A turn lasts a timeslice. Then the process that has had none for longest has the next
//! one, its queues are started, and those of the others at the level are stopped, all in
//! one transaction. A process that wants nothing any more loses its turn at once.

use crate::level::demand::Who;
use crate::level::level::Turn;
use crate::pass::pass::Pass;
use crate::queue::phase::Beneficiary;
use crate::queue::queue::Queue;
use crate::terms::{Nanos, Priority, ProcessId, Reason, LEVELS};

impl Pass<'_, '_> {
    /// Finds whose turn it is at each level.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn find_turns(&mut self) {
        for level in (0..u32::try_from(LEVELS).unwrap_or(0)).filter_map(Priority::new) {
            let Some(one) = self.level(level) else {
                continue;
            };
            let (wants, last) = (one.demand.wants, one.turn);
            // Turns need two.
            let first = wants.first.map(|who| who.beneficiary.process);
            let several = first.is_some_and(|first| wants.other_than(first).is_some());
            let next = match several {
                true => self.next_turn(level, last),
                false => None,
            };
            if let Some(one) = self.level(level) {
                one.turn = next;
            }
        }
    }

    /// The turn after this one, or this one if it is not over.
    fn next_turn(&mut self, level: Priority, last: Option<Turn>) -> Option<Turn> {
        let now = self.now;
        let slice_of = |pass: &Self, process: ProcessId| {
            let mut turns = pass.taking_turns_at(level);
            let one = turns.find(|(_, queue)| queue.process == process);
            one.map(|(_, queue)| queue.rating.timeslice)
        };
        let slice = last.and_then(|turn| slice_of(self, turn.process));
        if let (Some(turn), Some(slice)) = (last, slice) {
            let end = turn.since.after(slice);
            if now < end {
                self.look_at(end);
                return last;
            }
        }
        if !self.turns_matter(level) {
            return None;
        }
        let process = self.longest_without(level)?;
        let keeps = last.filter(|turn| turn.process == process);
        let runs = |(_, queue): (usize, &Queue)| queue.process == process && queue.is_on_units(now);
        let first = last.is_none() && self.taking_turns_at(level).any(runs);
        if keeps.is_none() && !first && !self.spend_on_turn(level) {
            // Who wants nothing has lost its turn all the same.
            return last.filter(|_| slice.is_some());
        }
        if let Some(at) = self.processes.find(process.0, 0) {
            if let Some(process) = self.processes.get_mut(at) {
                process.turn = now;
            }
        }
        self.look_at(now.after(slice_of(self, process).unwrap_or(Nanos::ZERO)));
        Some(Turn {
            process,
            since: now,
            exclusive: keeps.map_or(!first, |turn| turn.exclusive),
        })
    }

    /// The queues that want something at a level and take turns there, stopped or not, and
    /// that others may be stopped for, each with its place.
    fn taking_turns_at(&self, level: Priority) -> impl Iterator<Item = (usize, &Queue)> {
        let all = (0..).zip(self.queues.iter());
        all.filter(move |(_, queue)| {
            queue.level() == level
                && queue.rating.timeslice > Nanos::ZERO
                && queue.contends()
                && queue.wants(self.now, false)
                && self.may_hold(queue.process_at)
        })
    }

    /// Whether two processes take turns at a level and one of them waits, or is stopped for
    /// another's turn.
    fn turns_matter(&self, level: Priority) -> bool {
        let process = |(_, queue): (usize, &Queue)| queue.process;
        let first = self.taking_turns_at(level).next().map(process);
        let mut all = self.taking_turns_at(level);
        let several = all.any(|one| Some(process(one)) != first);
        several
            && self.taking_turns_at(level).any(|(_, queue)| {
                let stop = queue.phase.lasting_stop();
                let stopped = stop.is_some_and(|stop| stop.reason == Reason::Rotation);
                stopped || queue.waits(self.now, &self.limits).is_some()
            })
    }

    /// The process that takes turns at a level and has had none for longest.
    fn longest_without(&self, level: Priority) -> Option<ProcessId> {
        let turn = |queue: &Queue| {
            let process = self.processes.get(queue.process_at);
            // Whoever runs now begins, so that the first turn costs nothing.
            let last = process.map_or(Nanos::ZERO, |process| process.turn);
            (last, !queue.is_on_units(self.now), queue.process)
        };
        let turns = self.taking_turns_at(level).map(|(_, queue)| turn(queue));
        turns.min().map(|(_, _, process)| process)
    }

    /// Spends a round trip on a turn, of the level's own.
    fn spend_on_turn(&mut self, level: Priority) -> bool {
        let cost = self.node.cost.round_trip();
        let Some(level) = self.level(level) else {
            return false;
        };
        let tank = level.tank(level.demand.ruled);
        let affords = tank.affords(cost);
        if affords {
            tank.spend(cost);
        }
        affords
    }

    /// Who has the turn at a level that the queue at a place shares, if that is another
    /// process.
    pub(crate) fn holds_the_turn(
        &mut self,
        at: usize,
        level: Priority,
    ) -> Option<(Beneficiary, usize)> {
        let queue = self.queues.get(at)?;
        let (process, slice) = (queue.process, queue.rating.timeslice);
        let one = self.level(level)?;
        let turn = one.turn.filter(|turn| turn.exclusive)?;
        let who = one.demand.wants.other_than(process)?;
        let another = turn.process != process && slice > Nanos::ZERO;
        another.then_some((who.beneficiary, who.process_at))
    }

    /// Stops those at each level whose turn it is not, from the second turn on.
    pub(crate) fn stop_for_turns(&mut self) {
        for at in 0..self.queues.len() {
            let Some(queue) = self.queues.get(at) else {
                return;
            };
            let (level, process) = (queue.level(), queue.process);
            let stoppable = queue.is_stoppable(self.now, level) && queue.is_busy(self.now);
            if !stoppable || queue.rating.timeslice == Nanos::ZERO {
                continue;
            }
            let turn = self.level(level).and_then(|level| level.turn);
            let turn = turn.filter(|turn| turn.exclusive && turn.process != process);
            if let Some((who, since)) = turn.and_then(|turn| self.turn_holder(level, turn)) {
                self.stop(at, who, Reason::Rotation, since);
            }
        }
    }

    /// Who has the turn at a level, and since when it has waited.
    fn turn_holder(&self, level: Priority, turn: Turn) -> Option<(Who, Nanos)> {
        let mut turns = self.taking_turns_at(level);
        let (at, queue) = turns.find(|(_, queue)| queue.process == turn.process)?;
        let who = Who {
            beneficiary: queue.as_beneficiary(),
            at,
            process_at: queue.process_at,
        };
        Some((who, queue.work.waits_since.unwrap_or(turn.since)))
    }
}
