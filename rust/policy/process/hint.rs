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
use crate::terms::{count, HintCounts, Nanos};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Claimed {
    since: Nanos,
    /// The process has done something since then.
    alive: bool,
    /// Something was stopped for it.
    honoured: bool,
    /// Its process had no budget left for it.
    broke: bool,
}

impl Hint {
    /// It has no page as far as one of its queues tells: a page begins at zero.
    pub(crate) fn see_no_page(&mut self, now: Nanos) {
        if self.last.is_none_or(|(number, _)| number == 0) {
            self.last = Some((0, now));
        }
    }

    /// Takes in the number that was read, and counts a new hint. What is read in the first
    /// pass is where it counts from.
    pub(crate) fn see(
        &mut self,
        now: Nanos,
        limits: &Limits,
        number: u32,
        counts: &mut HintCounts,
    ) {
        let Some((before, looked)) = self.last.replace((number, now)) else {
            return;
        };
        let told = number == before || looked == now;
        if told || self.now.is_some() || limits.hint == Nanos::ZERO {
            return;
        }
        count(&mut counts.seen);
        if now < self.until {
            // Those before it had no request behind them.
            count(&mut counts.ignored);
        } else if now.since(looked) > limits.hint {
            // It may be older than its limit.
            count(&mut counts.expired);
        } else {
            self.now = Some(Claimed {
                since: now,
                ..Claimed::default()
            });
        }
    }

    /// Since when a hint has counted.
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

    /// Ends a hint that has reached its limit.
    pub(crate) fn expire(&mut self, now: Nanos, limits: &Limits, counts: &mut HintCounts) {
        let over = |hint: &mut Claimed| now.since(hint.since) >= limits.hint;
        let Some(hint) = self.now.take_if(over) else {
            return;
        };
        count(&mut counts.expired);
        if !hint.alive {
            self.until = now.after(limits.hint.doubled(self.false_ones, LONGEST));
            self.false_ones = self.false_ones.saturating_add(1);
        }
    }

    /// Something is stopped for it, or its process has no budget left for that.
    pub(crate) fn serve(&mut self, paid: bool, counts: &mut HintCounts) {
        let Some(hint) = &mut self.now else {
            return;
        };
        let (known, counter) = match paid {
            true => (&mut hint.honoured, &mut counts.honoured),
            false => (&mut hint.broke, &mut counts.over_budget),
        };
        if !core::mem::replace(known, true) {
            count(counter);
        }
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

    /// What has become of a hint.
    #[derive(Debug, PartialEq)]
    enum News {
        Nothing,
        Begun,
        Ignored,
        Stale,
    }

    fn see(hint: &mut Hint, now: Nanos, limits: &Limits, number: u32) -> News {
        let mut counts = HintCounts::default();
        let before = hint.since();
        hint.see(now, limits, number, &mut counts);
        let begun = hint.since() != before;
        let news = match (begun, counts.ignored, counts.expired) {
            (true, 0, 0) => News::Begun,
            (false, 1, 0) => News::Ignored,
            (false, 0, 1) => News::Stale,
            _ => News::Nothing,
        };
        assert_eq!(counts.seen, usize::from(news != News::Nothing));
        news
    }

    fn expire(hint: &mut Hint, now: Nanos, limits: &Limits) -> bool {
        let mut counts = HintCounts::default();
        hint.expire(now, limits, &mut counts);
        counts.expired > 0
    }

    /// A process that has been read once.
    fn met() -> Hint {
        let mut hint = Hint::default();
        assert_eq!(see(&mut hint, T, &limits(), 7), News::Nothing);
        hint
    }

    #[test]
    fn the_first_number_is_no_hint_and_a_change_is_one() {
        let mut hint = met();
        assert_eq!(see(&mut hint, at(100), &limits(), 7), News::Nothing);
        assert_eq!(hint.since(), None);
        assert_eq!(see(&mut hint, at(200), &limits(), 6), News::Begun);
        assert_eq!(hint.since(), Some(at(200)));
        // Another one does not prolong it.
        assert_eq!(see(&mut hint, at(300), &limits(), 8), News::Nothing);
        assert_eq!(hint.since(), Some(at(200)));
        assert!(!expire(&mut hint, Nanos(at(1_200).0 - 1), &limits()));
        assert!(expire(&mut hint, at(1_200), &limits()));
        assert_eq!(hint.since(), None);
        assert!(!expire(&mut hint, at(1_300), &limits()));
    }

    #[test]
    fn a_page_begins_at_zero() {
        let mut hint = Hint::default();
        hint.see_no_page(T);
        // In the same pass another context of the program may tell more.
        assert_eq!(see(&mut hint, T, &limits(), 5), News::Nothing);
        hint.see_no_page(at(100));
        assert_eq!(see(&mut hint, at(100), &limits(), 5), News::Nothing);
        let mut hint = Hint::default();
        hint.see_no_page(T);
        hint.see_no_page(at(5_000));
        assert_eq!(see(&mut hint, at(5_100), &limits(), 1), News::Begun);
    }

    #[test]
    fn what_was_written_long_before_the_look_is_no_hint() {
        let mut hint = met();
        assert_eq!(see(&mut hint, at(1_001), &limits(), 8), News::Stale);
        assert_eq!(hint.since(), None);
        assert_eq!(see(&mut hint, at(2_001), &limits(), 9), News::Begun);
    }

    #[test]
    fn a_limit_of_zero_makes_hints_nothing() {
        let mut config = Config::new();
        config.numbers.hint_limit_us = 0;
        let mut hint = met();
        assert_eq!(
            see(&mut hint, at(100), &Limits::new(&config), 8),
            News::Nothing
        );
        assert_eq!(hint.since(), None);
    }

    #[test]
    fn each_false_hint_doubles_the_pause_and_a_true_one_ends_that() {
        let mut hint = met();
        let mut now = at(100);
        let mut number = 7;
        for pause in [1_000, 2_000, 4_000, 8_000] {
            number += 1;
            assert_eq!(see(&mut hint, now, &limits(), number), News::Begun);
            now = now.after(Nanos::from_micros(1_000));
            assert!(expire(&mut hint, now, &limits()));
            assert!(hint.matters(now));
            let end = now.after(Nanos::from_micros(pause));
            number += 1;
            let before = Nanos(end.0 - 1);
            assert_eq!(see(&mut hint, before, &limits(), number), News::Ignored);
            assert!(!hint.matters(end));
            now = end;
        }
        assert_eq!(see(&mut hint, now, &limits(), 0), News::Begun);
        hint.meet();
        now = now.after(Nanos(1));
        assert_eq!(see(&mut hint, now, &limits(), 1), News::Begun);
        now = now.after(Nanos::from_micros(1_000));
        assert!(expire(&mut hint, now, &limits()));
        assert!(!hint.matters(now.after(Nanos::from_micros(1_000))));
    }

    #[test]
    fn the_pause_has_a_longest() {
        let limits = limits();
        let mut hint = met();
        let mut now = T;
        for number in 8..48 {
            now = now.after(LONGEST);
            assert_eq!(see(&mut hint, now, &limits, number + 100), News::Stale);
            now = now.after(Nanos(1));
            assert_eq!(see(&mut hint, now, &limits, number), News::Begun);
            now = now.after(limits.hint);
            assert!(expire(&mut hint, now, &limits));
        }
        assert!(hint.matters(Nanos(now.after(LONGEST).0 - 1)));
        assert!(!hint.matters(now.after(LONGEST)));
    }

    #[test]
    fn a_process_that_did_something_has_not_lied() {
        let mut hint = met();
        assert_eq!(see(&mut hint, at(100), &limits(), 8), News::Begun);
        hint.see_life();
        assert!(expire(&mut hint, at(1_100), &limits()));
        assert!(!hint.matters(at(1_100)));
        assert_eq!(see(&mut hint, at(1_100), &limits(), 9), News::Begun);
    }

    #[test]
    fn it_is_counted_once_as_honoured_and_once_as_without_budget() {
        let mut hint = met();
        let mut counts = HintCounts::default();
        hint.serve(true, &mut counts);
        assert_eq!(counts, HintCounts::default());
        assert_eq!(see(&mut hint, at(100), &limits(), 8), News::Begun);
        for paid in [true, true, false, false] {
            hint.serve(paid, &mut counts);
        }
        assert_eq!((counts.honoured, counts.over_budget), (1, 1));
    }
}
