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

/// The longest time for which false hints cost a process the next ones.
const LONGEST: Nanos = Nanos::from_millis(60_000);

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
            let pause = limits.hint.doubled(self.false_ones, LONGEST);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::Config;

    const T: Nanos = Nanos(5_000_000_000);

    fn limits() -> Limits {
        Limits::new(&Config::new())
    }

    fn at(micros: u32) -> Nanos {
        T.after(Nanos::from_micros(micros))
    }

    /// A process that has been read once.
    fn met() -> Hint {
        let mut hint = Hint::default();
        assert_eq!(hint.see(T, &limits(), 7), None);
        hint
    }

    #[test]
    fn the_first_number_is_no_hint_and_a_change_is_one() {
        let mut hint = met();
        assert_eq!(hint.see(at(100), &limits(), 7), None);
        assert_eq!(hint.since(), None);
        assert_eq!(hint.see(at(200), &limits(), 6), Some(News::Begun));
        assert_eq!(hint.since(), Some(at(200)));
        // Another one does not prolong it.
        assert_eq!(hint.see(at(300), &limits(), 8), None);
        assert_eq!(hint.since(), Some(at(200)));
        assert!(!hint.expire(Nanos(at(1_200).0 - 1), &limits()));
        assert!(hint.expire(at(1_200), &limits()));
        assert_eq!(hint.since(), None);
        assert!(!hint.expire(at(1_300), &limits()));
    }

    #[test]
    fn a_page_begins_at_zero() {
        let mut hint = Hint::default();
        hint.see_no_page(T);
        // In the same pass another context of the program may tell more.
        assert_eq!(hint.see(T, &limits(), 5), None);
        hint.see_no_page(at(100));
        assert_eq!(hint.see(at(100), &limits(), 5), None);
        let mut hint = Hint::default();
        hint.see_no_page(T);
        hint.see_no_page(at(5_000));
        assert_eq!(hint.see(at(5_100), &limits(), 1), Some(News::Begun));
    }

    #[test]
    fn what_was_written_long_before_the_look_is_no_hint() {
        let mut hint = met();
        assert_eq!(hint.see(at(1_001), &limits(), 8), Some(News::Stale));
        assert_eq!(hint.since(), None);
        assert_eq!(hint.see(at(2_001), &limits(), 9), Some(News::Begun));
    }

    #[test]
    fn a_limit_of_zero_makes_hints_nothing() {
        let mut config = Config::new();
        assert!(config
            .set(crate::settings::parameter::Number::HintLimit, 0)
            .is_ok());
        let mut hint = met();
        assert_eq!(hint.see(at(100), &Limits::new(&config), 8), None);
        assert_eq!(hint.since(), None);
    }

    #[test]
    fn each_false_hint_doubles_the_pause_and_a_true_one_ends_that() {
        let mut hint = met();
        let mut now = at(100);
        let mut number = 7;
        for pause in [1_000, 2_000, 4_000, 8_000] {
            number += 1;
            assert_eq!(hint.see(now, &limits(), number), Some(News::Begun));
            now = now.after(Nanos::from_micros(1_000));
            assert!(hint.expire(now, &limits()));
            assert!(hint.matters(now));
            let end = now.after(Nanos::from_micros(pause));
            number += 1;
            let before = Nanos(end.0 - 1);
            assert_eq!(hint.see(before, &limits(), number), Some(News::Ignored));
            assert!(!hint.matters(end));
            now = end;
        }
        assert_eq!(hint.see(now, &limits(), 0), Some(News::Begun));
        hint.meet();
        now = now.after(Nanos(1));
        assert_eq!(hint.see(now, &limits(), 1), Some(News::Begun));
        now = now.after(Nanos::from_micros(1_000));
        assert!(hint.expire(now, &limits()));
        assert!(!hint.matters(now.after(Nanos::from_micros(1_000))));
    }

    #[test]
    fn the_pause_has_a_longest() {
        let limits = limits();
        let mut hint = met();
        let mut now = T;
        for number in 8..48 {
            now = now.after(LONGEST);
            assert_eq!(hint.see(now, &limits, number + 100), Some(News::Stale));
            now = now.after(Nanos(1));
            assert_eq!(hint.see(now, &limits, number), Some(News::Begun));
            now = now.after(limits.hint);
            assert!(hint.expire(now, &limits));
        }
        assert!(hint.matters(Nanos(now.after(LONGEST).0 - 1)));
        assert!(!hint.matters(now.after(LONGEST)));
    }

    #[test]
    fn a_process_that_did_something_has_not_lied() {
        let mut hint = met();
        assert_eq!(hint.see(at(100), &limits(), 8), Some(News::Begun));
        hint.see_life();
        assert!(hint.expire(at(1_100), &limits()));
        assert!(!hint.matters(at(1_100)));
        assert_eq!(hint.see(at(1_100), &limits(), 9), Some(News::Begun));
    }

    #[test]
    fn it_is_counted_once_as_honoured_and_once_as_without_budget() {
        let mut hint = met();
        assert!(!hint.honour() && !hint.go_broke());
        assert_eq!(hint.see(at(100), &limits(), 8), Some(News::Begun));
        assert!(hint.honour() && !hint.honour());
        assert!(hint.go_broke() && !hint.go_broke());
    }
}
