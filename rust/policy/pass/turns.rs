// SPDX-License-Identifier: GPL-2.0-only
//! Timeslices: the processes of a level take turns while one of them waits.
//!
//! A turn lasts a timeslice. Then the process that has had none for longest has the next
//! one, its queues are started, and those of the others at the level are stopped, all in
//! one transaction. A process that wants nothing any more loses its turn at once.

use crate::level::demand::Who;
use crate::level::level::Level;
use crate::level::level::Turn;
use crate::pass::pass::Pass;
use crate::queue::queue::Queue;
use crate::terms::decision::Reason;
use crate::terms::observation::ProcessId;
use crate::terms::priority::Priority;
use crate::terms::priority::LEVELS;
use crate::terms::time::Nanos;

impl Pass<'_, '_> {
    /// Finds whose turn it is at each level.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn find_turns(&mut self) {
        for level in (0..u32::try_from(LEVELS).unwrap_or(0)).filter_map(Priority::new) {
            let Some(turns) = self.level(level) else {
                continue;
            };
            let (wants, last) = (*turns.wants(), turns.turn());
            // Turns need two.
            let first = wants.first().map(|who| who.beneficiary.process);
            let several = first.is_some_and(|first| wants.other_than(first).is_some());
            let next = match several {
                true => self.next_turn(level, last),
                false => None,
            };
            if let Some(turns) = self.level_mut(level) {
                turns.set_turn(next);
            }
        }
    }

    /// The turn after this one, or this one if it is not over.
    fn next_turn(&mut self, level: Priority, last: Option<Turn>) -> Option<Turn> {
        let now = self.now;
        let slice = |queue: &Queue| queue.rating().timeslice();
        let holder = last.and_then(|turn| {
            let wanting = self.wanting_at(level);
            let of = |queue: &&Queue| queue.process() == turn.process;
            Some((turn, wanting.into_iter().find(of).map(slice)?))
        });
        match holder {
            Some((_, Nanos::ZERO)) => return None,
            Some((turn, slice)) if now < turn.since.after(slice) => {
                self.look_at(turn.since.after(slice));
                return Some(turn);
            }
            _ => {}
        }
        if !self.turns_matter(level) {
            return None;
        }
        let process = self.longest_without(level)?;
        let keeps = last.filter(|turn| turn.process == process);
        let runs = |queue: &Queue| queue.process() == process && queue.is_busy(now);
        let first = last.is_none() && self.wanting_at(level).any(runs);
        let ruled = self.level(level).is_some_and(Level::is_ruled);
        if keeps.is_none() && !first && !self.spend_on_turn(level, ruled) {
            return last;
        }
        if let Some(at) = self.processes.find(process.0, 0) {
            if let Some(process) = self.processes.get_mut(at) {
                process.begin_turn(now);
            }
        }
        let turn = Turn {
            process,
            since: now,
            exclusive: keeps.map_or(!first, |turn| turn.exclusive),
        };
        let slice = self.wanting_at(level).find(|one| one.process() == process);
        let slice = slice.map_or(Nanos::ZERO, |queue| queue.rating().timeslice());
        self.look_at(now.after(slice));
        Some(turn)
    }

    /// The queues that want something at a level, stopped or not, and that others may be
    /// stopped for.
    fn wanting_at(&self, level: Priority) -> impl Iterator<Item = &Queue> {
        let now = self.now;
        let at = move |queue: &&Queue| queue.effective() == level && queue.contends();
        self.queues
            .iter()
            .filter(at)
            .filter(move |queue| queue.wants(now, false) && self.may_hold(queue.process_at()))
    }

    /// Whether somebody takes turns at a level and waits, or is stopped for another's turn.
    fn turns_matter(&self, level: Priority) -> bool {
        let (now, limits) = (self.now, &self.limits);
        self.wanting_at(level).any(|queue| {
            let stop = queue.phase().lasting_stop();
            let stopped = stop.is_some_and(|stop| stop.is_for_a_turn());
            let slices = queue.rating().timeslice() > Nanos::ZERO;
            slices && (stopped || queue.waits(now, limits).is_some())
        })
    }

    /// The process that wants something at a level and has had no turn for longest.
    fn longest_without(&self, level: Priority) -> Option<ProcessId> {
        let turn = |queue: &&Queue| {
            let process = self.processes.get(queue.process_at());
            let turn = process.map_or(Nanos::ZERO, |process| process.turn());
            // Whoever runs now begins, so that the first turn costs nothing.
            (turn, !queue.is_busy(self.now), queue.process())
        };
        let first = self.wanting_at(level).min_by_key(turn)?;
        Some(first.process())
    }

    /// Spends a round trip on a turn, of the level's own.
    fn spend_on_turn(&mut self, level: Priority, ruled: bool) -> bool {
        let cost = self.cost.round_trip();
        let Some(level) = self.level_mut(level) else {
            return false;
        };
        let affords = level.tank(ruled).affords(cost);
        if affords {
            level.tank_mut(ruled).spend(cost);
        }
        affords
    }

    /// Stops those at each level whose turn it is not, from the second turn on.
    pub(crate) fn stop_for_turns(&mut self) {
        for at in 0..self.queues.len() {
            let Some(queue) = self.queues.get(at) else {
                return;
            };
            let (level, process) = (queue.effective(), queue.process());
            let stoppable = queue.is_stoppable(self.now, level) && queue.is_busy(self.now);
            let turn = self.level(level).and_then(Level::turn);
            let Some(turn) = turn.filter(|turn| stoppable && turn.process != process) else {
                continue;
            };
            if queue.rating().timeslice() == Nanos::ZERO || !turn.exclusive {
                continue;
            }
            if let Some((who, since)) = self.turn_holder(level, turn) {
                self.stop(at, who, Reason::Rotation, since);
            }
        }
    }

    /// Who has the turn at a level, and since when it has waited.
    fn turn_holder(&self, level: Priority, turn: Turn) -> Option<(Who, Nanos)> {
        let mut queues = (0..self.queues.len()).filter_map(|at| Some((at, self.queues.get(at)?)));
        let (at, queue) = queues.find(|(_, queue)| {
            let holds = queue.effective() == level && queue.process() == turn.process;
            let wants = queue.contends() && queue.wants(self.now, false);
            holds && wants && self.may_hold(queue.process_at())
        })?;
        let since = queue.work().waits_since().unwrap_or(turn.since);
        let who = Who {
            beneficiary: queue.as_beneficiary(),
            at,
            process_at: queue.process_at(),
        };
        Some((who, since))
    }
}
