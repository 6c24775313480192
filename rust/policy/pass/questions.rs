// SPDX-License-Identifier: GPL-2.0-only
//! When waves are counted: a count reads registers and is dear, so there is a reason for
//! each, and those that nobody waits for are rare.

use crate::settings::limits::Limits;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::Config;

    #[test]
    fn the_older_a_wait_the_rarer_the_question() {
        let limits = Limits::new(&Config::new());
        let since = Nanos(5_000_000_000);
        let mut questions = Questions::default();
        let mut asked = 0;
        for micros in 0..10_000 {
            let now = since.after(Nanos::from_micros(micros));
            questions.wonder(now, since, &limits, false);
            asked += u32::from(std::mem::take(&mut questions.asks));
        }
        assert!((8..20).contains(&asked), "{asked}");
        questions.settle();
        questions.wonder(since, since, &limits, false);
        assert!(questions.asks);
    }

    #[test]
    fn nobody_is_checked_twice_within_two_looks() {
        let limits = Limits::new(&Config::new());
        let mut questions = Questions::default();
        for micros in 0..2_000 {
            let now = Nanos::SECOND.after(Nanos::from_micros(micros));
            questions.check(now, limits.poll.times(2));
            let asked = std::mem::take(&mut questions.asks);
            assert_eq!(asked, micros % 200 == 0, "{micros}");
        }
    }
}
