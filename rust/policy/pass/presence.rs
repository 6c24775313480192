// SPDX-License-Identifier: GPL-2.0-only
//! Whether anything can be inverted at present, and so how soon to look again.
//!
//! It is enough to know the two highest queues of different sides, busy or not,
//! and the two lowest busy ones.

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
    fn offer(&mut self, new: Standing, beats: impl Fn(Priority, Priority) -> bool) {
        let wins = |old: &Option<Standing>| old.is_none_or(|old| beats(new.level(), old.level()));
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

/// Which queues are present in a pass, as far as it matters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Presence {
    /// The lowest level that could still be among the highest two.
    bar: u8,
    /// The lowest level of all, if any queue takes part.
    floor: Option<Priority>,
    highest: Extremes,
    highest_suspect: Extremes,
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
            self.highest.offer(standing, |new, old| new > old);
            let second = self.highest.second;
            self.bar = second.map_or(0, |second| second.level().level().saturating_add(1));
        }
    }

    /// A queue that takes part and may be waiting.
    pub(crate) fn suspect(&mut self, standing: Standing) {
        self.highest_suspect.offer(standing, |new, old| new > old);
    }

    /// A queue that takes part and waits.
    pub(crate) fn see_waiting(&mut self, standing: Standing) {
        self.highest_waiting.offer(standing, |new, old| new > old);
    }

    /// A queue that takes part and has launched something that may have ended.
    pub(crate) fn see_unclear(&mut self, standing: Standing) {
        self.highest_unclear.offer(standing, |new, old| new > old);
    }

    /// A queue that takes part and is busy.
    pub(crate) fn see_busy(&mut self, standing: Standing) {
        self.lowest_busy.offer(standing, |new, old| new < old);
    }

    /// A queue that takes part and surely runs.
    pub(crate) fn see_running(&mut self, standing: Standing) {
        self.lowest_running.offer(standing, |new, old| new < old);
    }

    /// A queue that takes part and is stopped.
    pub(crate) fn see_stopped(&mut self, standing: Standing) {
        self.lowest_stopped.offer(standing, |new, old| new < old);
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
