// SPDX-License-Identifier: GPL-2.0-only
//! What a process says of itself: that it prepares a request.
//!
//! A hint is a number that the process changes, and nothing else of it is believed:
//! not a time, not a queue, not a length. It counts from the look that first finds the
//! number changed until a queue of the process has something new, and no longer than
//! its limit. A hint with no request behind it costs its process the next ones: no
//! hint counts for as long as the limit, then for twice as long, and so on, until a
//! request comes in time.

use crate::settings::limits::Limits;
use crate::terms::time::Nanos;

/// The hints of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Hint {
    /// The number at the last look that could read it, and when that was.
    last: Option<(u32, Nanos)>,
    /// The hint that counts now.
    now: Option<Claimed>,
    /// How many in a row had no request behind them.
    false_ones: u32,
    /// No hint counts before this time.
    until: Nanos,
}

/// A hint that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Claimed {
    since: Nanos,
    /// The process has done something since then.
    alive: bool,
    /// Something was stopped for it.
    honoured: bool,
    /// Its process had no budget left for it.
    broke: bool,
}

/// What has become of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// There is a new one, and it counts.
    Begun,
    /// There is a new one that does not count, because of those before it.
    Ignored,
    /// There is a new one that may be older than its limit.
    Stale,
}

impl Hint {
    /// It has no page as far as one of its queues tells: a page begins at zero.
    pub(crate) fn see_no_page(&mut self, now: Nanos) {
        if self.last.is_none_or(|(number, _)| number == 0) {
            self.last = Some((0, now));
        }
    }

    /// Takes in the number that was read. What is read in the first pass is where it
    /// counts from.
    pub(crate) fn see(&mut self, now: Nanos, limits: &Limits, number: u32) -> Option<News> {
        let last = self.last.replace((number, now));
        let (before, looked) = last?;
        let told = number == before || looked == now;
        if told || self.now.is_some() || limits.hint == Nanos::ZERO {
            return None;
        }
        if now < self.until {
            return Some(News::Ignored);
        }
        if now.since(looked) > limits.hint {
            return Some(News::Stale);
        }
        self.now = Some(Claimed {
            since: now,
            alive: false,
            honoured: false,
            broke: false,
        });
        Some(News::Begun)
    }

    /// Since when a hint has counted.
    #[inline]
    pub(crate) fn since(&self) -> Option<Nanos> {
        self.now.map(|hint| hint.since)
    }

    /// A queue of the process did something after the hint.
    pub(crate) fn see_life(&mut self) {
        if let Some(hint) = &mut self.now {
            hint.alive = true;
        }
    }

    /// The request is there.
    pub(crate) fn meet(&mut self) {
        self.now = None;
        self.false_ones = 0;
    }

    /// Ends a hint that has reached its limit. `true`: there was one.
    pub(crate) fn expire(&mut self, now: Nanos, limits: &Limits) -> bool {
        let over = |hint: &Claimed| now.since(hint.since) >= limits.hint;
        let Some(hint) = self.now.filter(over) else {
            return false;
        };
        self.now = None;
        if !hint.alive {
            let pause = limits.hint.doubled(self.false_ones, limits.cool_down_max);
            self.until = now.after(pause);
            self.false_ones = self.false_ones.saturating_add(1);
        }
        true
    }

    /// Something is stopped for it. `true`: for the first time.
    pub(crate) fn honour(&mut self) -> bool {
        self.now
            .as_mut()
            .is_some_and(|hint| !core::mem::replace(&mut hint.honoured, true))
    }

    /// Its process has no budget left for it. `true`: that is so for the first time.
    pub(crate) fn go_broke(&mut self) -> bool {
        self.now
            .as_mut()
            .is_some_and(|hint| !core::mem::replace(&mut hint.broke, true))
    }

    /// Forgetting it would give the process hints that it has lost.
    pub(crate) fn matters(&self, now: Nanos) -> bool {
        now < self.until
    }
}
