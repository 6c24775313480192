// SPDX-License-Identifier: GPL-2.0-only
//! Whether anything can be inverted at present, and so how soon to look again.
//!
//! It is enough to know the two highest queues of different sides, busy or not,
//! and the two lowest busy ones. Of equals a queue with a reservation counts as
//! higher, and one that takes turns as lower, since these can preempt equals and be
//! preempted by them.

use crate::algorithm::algorithm::Algorithm;
use crate::algorithm::standing::Standing;
use crate::memory::queue::Queue;
use crate::settings::limits::Limits;
use crate::terms::priority::Priority;

/// The two extreme standings of different sides.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    first: Option<Standing>,
    second: Option<Standing>,
}

impl Extremes {
    #[inline]
    fn offer(&mut self, new: Standing, beats: impl Fn(&Standing, &Standing) -> bool) {
        let wins = |old: &Option<Standing>| old.is_none_or(|old| beats(&new, &old));
        let same = |old: &Option<Standing>| old.is_some_and(|old| old.side() == new.side());
        if !wins(&self.second) {
            return;
        }
        if same(&self.first) {
            if wins(&self.first) {
                self.first = Some(new);
            }
        } else if wins(&self.first) {
            self.second = self.first.replace(new);
        } else {
            self.second = Some(new);
        }
    }

    /// Whether one of `others` could preempt one of these.
    fn contest(&self, others: &Extremes, algorithm: &dyn Algorithm) -> bool {
        self.iter().any(|running| {
            others
                .iter()
                .any(|other| other.side() != running.side() && algorithm.contests(other, running))
        })
    }

    fn iter(&self) -> impl Iterator<Item = &Standing> {
        self.first.iter().chain(self.second.iter())
    }
}

/// Whether a queue could preempt more than another one: it is higher, or its equal
/// with a reservation.
#[inline]
fn is_higher(new: &Standing, old: &Standing) -> bool {
    new.level() > old.level()
        || (new.level() == old.level() && new.is_reserved() && !old.is_reserved())
}

/// Whether a queue could be preempted by more than another one: it is lower, or its
/// equal that takes turns.
fn is_lower(new: &Standing, old: &Standing) -> bool {
    new.level() < old.level()
        || (new.level() == old.level() && new.takes_turns() && !old.takes_turns())
}

/// Which queues are present in a pass, as far as it matters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Presence {
    /// The lowest level that could still be among the highest two.
    bar: u8,
    /// The lowest level of all, if any queue takes part.
    floor: Option<Priority>,
    highest: Extremes,
    highest_suspect: Extremes,
    highest_lasting: Extremes,
    highest_waiting: Extremes,
    highest_unclear: Extremes,
    lowest_busy: Extremes,
    lowest_running: Extremes,
    lowest_stopped: Extremes,
}

impl Presence {
    /// A queue that takes part.
    #[inline]
    pub(crate) fn see(&mut self, queue: &Queue, limits: &Limits) {
        if self.floor.is_none_or(|floor| queue.effective() < floor) {
            self.floor = Some(queue.effective());
        }
        if queue.effective().level() >= self.bar {
            let standing = Standing::of(queue, limits);
            self.highest.offer(standing, is_higher);
            self.bar = self.highest.second.map_or(0, |second| {
                let beaten = second.is_reserved() || !limits.deadlines;
                second.level().level().saturating_add(u8::from(beaten))
            });
        }
    }

    /// A queue that takes part and may be waiting.
    pub(crate) fn suspect(&mut self, standing: Standing) {
        self.highest_suspect.offer(standing, is_higher);
    }

    /// A queue that takes part and will not soon be done with what it has to run.
    pub(crate) fn see_lasting(&mut self, standing: Standing) {
        self.highest_lasting.offer(standing, is_higher);
    }

    /// A queue that takes part and waits.
    pub(crate) fn see_waiting(&mut self, standing: Standing) {
        self.highest_waiting.offer(standing, is_higher);
    }

    /// A queue that takes part and has launched something that may have ended.
    pub(crate) fn see_unclear(&mut self, standing: Standing) {
        self.highest_unclear.offer(standing, is_higher);
    }

    /// A queue that takes part and is busy.
    pub(crate) fn see_busy(&mut self, standing: Standing) {
        self.lowest_busy.offer(standing, is_lower);
    }

    /// A queue that takes part and surely runs.
    pub(crate) fn see_running(&mut self, standing: Standing) {
        self.lowest_running.offer(standing, is_lower);
    }

    /// A queue that takes part and is stopped.
    pub(crate) fn see_stopped(&mut self, standing: Standing) {
        self.lowest_stopped.offer(standing, is_lower);
    }

    /// Whether work for one queue could lead to the stop of another.
    pub(crate) fn contested(&self, algorithm: &dyn Algorithm) -> bool {
        let below = |waiting: &Standing, level| {
            let other = waiting.plain_at(level);
            algorithm.contests(waiting, &other)
        };
        let awaited = |waiting: &Standing| self.floor.is_some_and(|level| below(waiting, level));
        self.lowest_busy.contest(&self.highest, algorithm)
            || self.highest_waiting.iter().any(awaited)
    }

    /// Whether a queue is busy that another one could preempt.
    pub(crate) fn inverted(&self, algorithm: &dyn Algorithm) -> bool {
        self.lowest_busy.contest(&self.highest_waiting, algorithm)
    }

    /// Whether a queue may want what a lower one has.
    pub(crate) fn presses(&self, algorithm: &dyn Algorithm) -> bool {
        self.lowest_busy.contest(&self.highest_suspect, algorithm)
    }

    /// Whether a queue has so much to run that another one will stay stopped for a while.
    pub(crate) fn lasts(&self, algorithm: &dyn Algorithm) -> bool {
        self.lowest_stopped
            .contest(&self.highest_lasting, algorithm)
    }

    /// Whether only wave counts can tell which queue wants the GPU or has it: a
    /// queue whose last launch may run or wait matters to another one, or one
    /// that waits matters to queues of which none is seen to run.
    pub(crate) fn unclear(&self, algorithm: &dyn Algorithm) -> bool {
        let contest = |low: &Extremes, high| low.contest(high, algorithm);
        let waits = contest(&self.lowest_busy, &self.highest_suspect);
        let runs = contest(&self.lowest_running, &self.highest_suspect);
        (waits && !runs)
            || contest(&self.lowest_busy, &self.highest_unclear)
            || contest(&self.lowest_stopped, &self.highest_unclear)
    }
}
