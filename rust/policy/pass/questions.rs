// SPDX-License-Identifier: GPL-2.0-only
//! When waves are counted: a count reads registers and is dear, so there is a reason for
//! each, and those that nobody waits for are rare.

use crate::settings::Limits;
use crate::terms::Nanos;

/// What has been asked lately, and what is asked in the next look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Questions {
    /// The waves of the next look are counted.
    pub(crate) asks: bool,
    /// Since when somebody has waited though nothing is known to be in its way.
    puzzled_since: Option<Nanos>,
    /// How old that was at the last count.
    asked_at: Nanos,
    /// When waves were last counted though nobody waited.
    checked: Nanos,
}

impl Questions {
    /// Somebody has waited since this time, and nothing is known to be in its way: the
    /// older the wait, the rarer the question. `unknown`: nothing is even in doubt, as
    /// where somebody hides its pointers, or where the wait is for its own queues.
    pub(crate) fn wonder(&mut self, now: Nanos, since: Nanos, limits: &Limits, unknown: bool) {
        let began = *self.puzzled_since.get_or_insert(since);
        let age = now.since(began);
        if age >= self.asked_at.times(2) {
            self.asked_at = age.max(limits.grace).max(Nanos::from_micros(1));
            match unknown {
                true => self.check(now, limits.poll.times(2)),
                false => self.asks = true,
            }
        }
    }

    /// Nobody waits.
    pub(crate) fn settle(&mut self) {
        self.puzzled_since = None;
        self.asked_at = Nanos::ZERO;
    }

    /// What is known of queues is in doubt, though nobody waits: once in this time.
    pub(crate) fn check(&mut self, now: Nanos, every: Nanos) {
        if now.since(self.checked) >= every {
            self.checked = now;
            self.asks = true;
        }
    }
}
