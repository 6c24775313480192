// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a node beside its queues.

use crate::process::recovery::Recovery;
use crate::settings::{Limits, Mode};
use crate::terms::{Action, Nanos};

/// What is remembered of a node beside its queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The time of the last pass.
    pub(crate) last: Option<Nanos>,
    /// The number of the last pass; it may wrap.
    pub(crate) pass: u32,
    /// How many queues, processes and tenants the storage holds.
    pub(crate) queues: usize,
    pub(crate) processes: usize,
    pub(crate) tenants: usize,
    pub(crate) cost: Cost,
    pub(crate) questions: Questions,
    pub(crate) recovery: Recovery,
    /// The mode of the last pass.
    pub(crate) mode: Option<Mode>,
    /// Everything is to be started before anything else: the mode has changed.
    pub(crate) releasing: bool,
}

/// What a transaction is taken to cost before one was measured.
const FIRST: Nanos = Nanos::from_micros(100);

/// One that took longer was held up by something else, and counts as this.
const LONGEST: Nanos = Nanos::from_millis(10);

/// In this time half of what is known of a stop's cost is forgotten: whoever has held some up
/// would otherwise have all be too dear for ever, since one that is not made is not measured.
const FORGET: Nanos = Nanos::from_millis(1_000);

/// What transactions that stop queues cost, and those that start some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cost {
    pub(crate) stop: Nanos,
    pub(crate) start: Nanos,
    /// What the last transaction did, as far as it was not heard what it took.
    pub(crate) last: Option<Action>,
    /// When some of what is known was last forgotten.
    aged: Nanos,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost {
            stop: FIRST,
            start: FIRST,
            last: None,
            aged: Nanos::ZERO,
        }
    }
}

impl Cost {
    /// Time has passed.
    pub(crate) fn age(&mut self, now: Nanos) {
        if now.since(self.aged) >= FORGET {
            (self.aged, self.stop) = (now, Nanos(self.stop.after(FIRST).0 / 2));
        }
    }

    /// The last transaction took so long: a quarter of what is known from now on.
    pub(crate) fn took(&mut self, took: Nanos) {
        let known = match self.last.take() {
            Some(Action::Stop) => &mut self.stop,
            Some(Action::Start) => &mut self.start,
            None => return,
        };
        let sum = known.times(3).after(took.min(LONGEST));
        *known = Nanos(sum.0 / 4);
    }
}

/// What has been asked lately, and what is asked in the next look: wave counts, of which
/// there is a reason for each, and those that nobody waits for are rare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Questions {
    /// The waves of the next look are counted.
    pub(crate) asks: bool,
    /// When waves were last counted because something was in doubt.
    checked: Nanos,
}

impl Questions {
    /// Somebody has waited since this time, and nothing is known to be in its way: the
    /// older the wait, the rarer the question, but an old wait of another level makes none rarer.
    /// `unknown`: nothing is even in doubt, as where somebody hides its pointers, or where
    /// the wait is for its own queues.
    pub(crate) fn wonder(&mut self, now: Nanos, since: Nanos, limits: &Limits, unknown: bool) {
        let least = if unknown {
            limits.poll.times(2)
        } else {
            limits.grace
        };
        self.check(now, Nanos(now.since(since).0 / 2).max(least));
    }

    /// What is known of queues is in doubt: once in this time.
    pub(crate) fn check(&mut self, now: Nanos, every: Nanos) {
        if now.since(self.checked) >= every {
            self.checked = now;
            self.asks = true;
        }
    }
}
