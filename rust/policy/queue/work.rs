// SPDX-License-Identifier: GPL-2.0-only
//! What a queue has to do, as far as its pointers and its waves tell.
//!
//! The read pointer moves when a packet is launched, not when it completes. So equal
//! pointers do not mean idle, and different ones do not mean that there is anything to run:
//! the head may be a barrier, or a slot that is reserved and not written yet. How long
//! launches last is learned from the times between them, where a backlog shows that one
//! followed the other, and from waves.
//!
//! The age of a launch counts the time that its queue is offered to the hardware only.

use crate::parts::lengths::Lengths;
use crate::terms::{Head, Nanos, Observation, QueueState, Waves};

/// A launch of which waves were seen is believed to run for as long again, and for at least
/// this: one that was seen at once is no shorter than a look.
const BELIEVED: Nanos = Nanos::from_micros(50);

/// How old a launch may be whose grid was not placed wholly when its waves are counted for
/// the first time: older ones that have fewer waves are ending.
pub(crate) const FRESH: Nanos = Nanos::from_micros(200);

/// What was seen of a queue last, and what follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    /// The driver offers it to the hardware.
    pub(crate) active: bool,
    pub(crate) backlog: u32,
    head: Head,
    /// It has a packet to run at its head.
    runnable: bool,
    progress: u64,
    /// When the read pointer last moved; never at zero.
    pub(crate) moved: Nanos,
    /// When the last launch would have been if the queue had been active ever since.
    launched: Nanos,
    /// The age of the last launch when the queue ceased to be active.
    kept_age: Nanos,
    /// At which age its last launch was last seen to have waves.
    seen_running: Option<Nanos>,
    /// It is known to have no launch on the GPU.
    idle: bool,
    /// How many waves its last launch had when they were last counted.
    pub(crate) counted: Option<u32>,
    /// Its last launch was not placed wholly.
    pub(crate) lacks_room: bool,
    /// Its waves cannot be counted: they were asked for in vain.
    uncountable: bool,
    /// It has had a backlog ever since its last launch.
    queued: bool,
    /// Since when its head has been one that nothing takes.
    pub(crate) waits_since: Option<Nanos>,
    /// How long its launches last.
    lengths: Lengths<4>,
    /// What is worked out once in a pass: for how long it would still be in the way, and
    /// how long one launch of it takes.
    pub(crate) rest: Nanos,
    pub(crate) mean: Nanos,
}

impl Work {
    /// The work of a queue that is seen for the first time.
    pub(crate) fn new(now: Nanos, seen: &Observation) -> Work {
        Work {
            progress: seen.progress,
            launched: now,
            // What it launched before may run or not.
            idle: seen.progress == 0,
            ..Work::default()
        }
    }

    /// It is idle, was so in the last pass, and nothing has changed.
    pub(crate) fn still_idle(&self, seen: &Observation) -> bool {
        self.idle
            && self.active
            && self.backlog == 0
            && seen.progress == self.progress
            && matches!(seen.backlog, Some(0))
            && matches!(seen.state, QueueState::Active)
            && !matches!(seen.waves, Waves::Known(1..))
    }

    /// Takes in what is seen in this pass; `asked` says that waves were to be counted.
    /// Returns whether it makes progress.
    ///
    /// What is not known in this pass is taken to be as it was; only time spent in
    /// ignorance does not count as waiting.
    pub(crate) fn take_in(&mut self, now: Nanos, seen: &Observation, asked: bool) -> bool {
        let moved = seen.progress != self.progress;
        if moved {
            self.move_on(now, seen.progress);
        }
        self.follow_backlog(now, seen, moved);
        self.follow_state(now, seen);
        if seen.waves != Waves::Unknown || (asked && self.active) {
            self.uncountable = seen.waves == Waves::Unknown;
        }
        let runs = self.active && self.follow_waves(now, seen);
        moved || runs
    }

    /// The read pointer has moved: learns how long the launches before took.
    fn move_on(&mut self, now: Nanos, progress: u64) {
        let age = self.age(now);
        let launches = progress.checked_sub(self.progress).filter(|_| self.queued);
        if let Some(launches) = launches.filter(|_| !self.idle) {
            self.lengths
                .add(Nanos(age.0.checked_div(launches).unwrap_or(age.0)));
        } else if !self.idle && self.seen_running.is_some() {
            // Of one that was the first after a pause, or the last before it, only what
            // was counted is known.
            self.lengths.add_between(self.seen_running, age);
        }
        self.progress = progress;
        self.moved = now;
        self.launched = now;
        self.kept_age = Nanos::ZERO;
        self.seen_running = None;
        self.idle = false;
        self.counted = None;
        self.lacks_room = false;
        self.waits_since = None;
        self.queued = true;
    }

    fn follow_backlog(&mut self, now: Nanos, seen: &Observation, moved: bool) {
        self.backlog = seen.backlog.unwrap_or(self.backlog);
        self.runnable = self.backlog > 0 && self.follow_head(seen.head, moved);
        self.head = seen.head;
        self.queued &= self.backlog > 0;
        let waits = self.runnable && seen.backlog.is_some();
        self.waits_since = waits.then(|| self.waits_since.unwrap_or(now));
    }

    /// Whether its head is a packet to run.
    ///
    /// The packet processor marks a packet that it takes as invalid before it moves the
    /// read pointer. So only a slot that two looks in a row find invalid is one that is
    /// not written yet; until then the queue has what it had.
    fn follow_head(&self, head: Head, moved: bool) -> bool {
        match head {
            Head::Runnable | Head::Unknown => true,
            Head::Barrier => false,
            Head::Invalid => self.runnable && (moved || self.head != Head::Invalid),
        }
    }

    fn follow_state(&mut self, now: Nanos, seen: &Observation) {
        let active = match seen.state {
            QueueState::Active => true,
            QueueState::Unknown => self.active,
            QueueState::StoppedByUs | QueueState::Held => false,
        };
        if active && !self.active {
            self.launched = Nanos(now.0.saturating_sub(self.kept_age.0));
        } else if !active && self.active {
            self.kept_age = now.since(self.launched);
        }
        self.active = active;
        // That none are saved is not that none are left: a grid may be between two rounds.
        // But then its packet is in the ring; of one whose waves could not be counted, and
        // that has none there, nothing else ever tells.
        self.idle |=
            !active && self.uncountable && self.backlog == 0 && seen.waves == Waves::Known(0);
        if !active && matches!(seen.waves, Waves::Known(1..)) {
            self.seen_running = Some(self.kept_age);
            self.idle = false;
        }
    }

    /// Takes in the waves on the compute units. Returns whether there are any.
    fn follow_waves(&mut self, now: Nanos, seen: &Observation) -> bool {
        let Waves::Known(waves @ 1..) = seen.waves else {
            return false;
        };
        let age = self.age(now);
        let short = seen.grid.is_some_and(|grid| waves < grid);
        self.lacks_room = match self.counted {
            None => short && age < FRESH,
            Some(before) => short && self.lacks_room && waves >= before,
        };
        self.seen_running = Some(age);
        self.idle = false;
        self.counted = Some(waves);
        true
    }

    /// Its waves were counted, there are none, and nothing more important has any that
    /// could keep them away: its last launch is over.
    pub(crate) fn finish(&mut self, now: Nanos) {
        if self.active && !self.runnable && !self.idle {
            self.lengths.add_between(self.seen_running, self.age(now));
            self.idle = true;
            self.queued = false;
            self.lacks_room = false;
            self.counted = Some(0);
        }
    }

    /// How long its last launch has been on the GPU.
    fn age(&self, now: Nanos) -> Nanos {
        match self.active {
            true => now.since(self.launched),
            false => self.kept_age,
        }
    }

    /// Its last launch is believed to run.
    fn is_believed(&self, now: Nanos) -> bool {
        let age = self.age(now);
        let seen = |at: Nanos| age < at.times(2).after(BELIEVED);
        self.seen_running.is_some_and(seen) || self.lengths.likely_beyond(age)
    }

    /// It may have something on the GPU, or has something to run.
    pub(crate) fn has_any(&self) -> bool {
        self.backlog > 0 || !self.idle
    }

    /// It is known, or likely, to run or to be able to.
    pub(crate) fn works(&self, now: Nanos) -> bool {
        self.runnable || self.works_beside_waiting(now)
    }

    /// While its head waits, its last launch is known, or likely, to run.
    pub(crate) fn works_beside_waiting(&self, now: Nanos) -> bool {
        !self.idle && self.is_believed(now)
    }

    /// Its last launch may run, and nothing speaks for it.
    pub(crate) fn is_doubtful(&self, now: Nanos) -> bool {
        self.may_be_ending() && !self.is_believed(now)
    }

    /// The same of one whose waves cannot be counted: only a stop can tell.
    pub(crate) fn is_unseen(&self, now: Nanos) -> bool {
        self.uncountable && self.active && !self.runnable && !self.idle && !self.is_believed(now)
    }

    /// It wants the GPU. `ending`: a last launch whose end was not seen counts.
    pub(crate) fn wants(&self, now: Nanos, ending: bool) -> bool {
        self.runnable || (!self.idle && ((ending && !self.uncountable) || self.is_believed(now)))
    }

    /// It has a last launch whose end only its waves can tell.
    pub(crate) fn may_be_ending(&self) -> bool {
        self.active && !self.runnable && !self.idle && !self.uncountable
    }

    /// All that it has was launched a moment ago, and whether all of it is on the compute
    /// units is not known.
    pub(crate) fn is_fresh(&self, now: Nanos) -> bool {
        self.may_be_ending() && self.counted.is_none() && self.age(now) < FRESH
    }

    /// Works out for how long it would be in the way of another queue.
    pub(crate) fn work_out_rest(&mut self, now: Nanos) {
        self.mean = self.lengths.mean().unwrap_or(Nanos::ZERO);
        self.rest = if !self.works(now) {
            Nanos::ZERO
        } else if self.backlog > 0 && !self.queued && (self.idle || !self.is_believed(now)) {
            // It has just got something, and nothing of it may run yet.
            let waited = now.since(self.waits_since.unwrap_or(now));
            self.mean.max(waited)
        } else {
            self.lengths.rest(self.age(now))
        };
    }
}

#[cfg(test)]
mod tests;
