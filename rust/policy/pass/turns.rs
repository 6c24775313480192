// SPDX-License-Identifier: GPL-2.0-only
//! Timeslices: the processes of a level take turns while one of them waits.
//!
//! A turn lasts a timeslice. Then the process that has had none for longest has the next
//! one, its queues are started, and those of the others at the level are stopped, all in
//! one transaction. A process that wants nothing any more loses its turn at once.

use crate::level::Turn;
use crate::pass::Pass;
use crate::queue::phase::Who;
use crate::terms::{Nanos, Priority, Reason};

impl Pass<'_> {
    /// Finds whose turn it is at each level.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn find_turns(&mut self) {
        for at in Priority::all() {
            self.level(at).turn = self.next_turn(at);
        }
    }

    /// The turn after this one, or this one if it is not over.
    fn next_turn(&mut self, at: Priority) -> Option<Turn> {
        let level = self.level(at);
        let (takers, last, ruled) = (level.demand.takers, level.turn, level.demand.ruled);
        // A process that wants nothing has lost its turn, and turns need two.
        let now = self.now;
        let several = takers.all.second.is_some();
        let last = last.zip(takers.holder).filter(|_| several);
        if let Some((turn, holder)) = last {
            let end = turn.since.after(holder.timeslice);
            if now < end {
                self.look_at(end);
                return Some(turn);
            }
        }
        let taker = takers.next.filter(|_| several && takers.matter)?;
        let last = last.map(|(turn, _)| turn);
        let keeps = last.filter(|turn| turn.process == taker.who.process);
        let first = last.is_none() && !taker.off;
        if keeps.is_none() && !first && !self.spend(at, ruled) {
            return last;
        }
        self.processes.get_mut(taker.who.process_at)?.turn = now;
        self.level(at).demand.takers.holder = Some(taker);
        self.look_at(now.after(taker.timeslice));
        Some(Turn {
            process: taker.who.process,
            since: now,
            exclusive: keeps.map_or(!first, |turn| turn.exclusive),
        })
    }

    /// For whom the queue at a place is stopped, or stays so, because it is not its turn: who
    /// has the turn at its level, and since when that has waited.
    pub(crate) fn other_turn(&mut self, at: usize) -> Option<(Who, Nanos)> {
        let queue = self.queues.get(at)?;
        let (process, slice) = (queue.process, queue.rating.timeslice);
        let level = self.level(queue.rating.level);
        let turn = level.turn.filter(|turn| turn.exclusive)?;
        let holder = level.demand.takers.holder?;
        let other = holder.who.process != process && slice > Nanos::ZERO;
        other.then_some((holder.who, holder.waits_since.unwrap_or(turn.since)))
    }

    /// Stops the queue at a place if it runs and it is not its turn, from the second turn on.
    pub(crate) fn stop_for_turn(&mut self, at: usize) -> Option<()> {
        let queue = self.queues.get(at)?;
        let runs = queue.is_busy(self.now) && queue.is_stoppable(self.now, queue.rating.level);
        let (who, since) = self.other_turn(at).filter(|_| runs)?;
        self.stop(at, who, Reason::Rotation, since)
    }
}
