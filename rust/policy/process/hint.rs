// SPDX-License-Identifier: GPL-2.0-only
//! What a process says of itself: that it prepares a request.
//!
//! A hint is a number that the process changes, and nothing else of it is believed:
//! not a time, not a queue, not a length. It counts from the look that first finds the
//! number changed until a queue of the process has something new, and no longer than
//! its limit. A hint with no request behind it costs its process the next ones: no
//! hint counts for as long as the limit, then for twice as long, and so on, until a
//! request comes in time.

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
    pub(crate) fn see(&mut self, now: Nanos, limit: Nanos, number: u32, counts: &mut HintCounts) {
        let Some((before, looked)) = self.last.replace((number, now)) else {
            return;
        };
        let told = number == before || looked == now;
        if told || self.now.is_some() || limit == Nanos::ZERO {
            return;
        }
        count(&mut counts.seen);
        if now < self.until {
            // Those before it had no request behind them.
            count(&mut counts.ignored);
        } else if now.since(looked) > limit {
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
    pub(crate) fn expire(&mut self, now: Nanos, limit: Nanos, counts: &mut HintCounts) {
        let over = |hint: &mut Claimed| now.since(hint.since) >= limit;
        let Some(hint) = self.now.take_if(over) else {
            return;
        };
        count(&mut counts.expired);
        if !hint.alive {
            self.until = now.after(limit.doubled(self.false_ones, LONGEST));
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
    use crate::settings::{Config, Limits};

    const T: Nanos = Nanos(5_000_000_000);

    /// Whether the number that is read at this time is a hint that counts.
    fn begins(hint: &mut Hint, now: Nanos, number: u32) -> bool {
        let limits = Limits::new(&Config::new());
        hint.see(now, limits.hint, number, &mut HintCounts::default());
        hint.since() == Some(now)
    }

    #[test]
    fn a_page_begins_at_zero() {
        let at = |micros| T.after(Nanos::from_micros(micros));
        let mut hint = Hint::default();
        hint.see_no_page(T);
        // In the same pass another context of the program may tell more.
        assert!(!begins(&mut hint, T, 5));
        hint.see_no_page(at(100));
        assert!(!begins(&mut hint, at(100), 5));
        let mut hint = Hint::default();
        hint.see_no_page(T);
        hint.see_no_page(at(5_000));
        assert!(begins(&mut hint, at(5_100), 1));
    }

    #[test]
    fn the_pause_has_a_longest() {
        let limits = Limits::new(&Config::new());
        let mut hint = Hint::default();
        let mut now = T;
        for number in 8..48 {
            now = now.after(LONGEST);
            assert!(!begins(&mut hint, now, number + 100));
            now = now.after(Nanos(1));
            assert!(begins(&mut hint, now, number));
            now = now.after(limits.hint);
            hint.expire(now, limits.hint, &mut HintCounts::default());
        }
        assert!(hint.matters(Nanos(now.after(LONGEST).0 - 1)));
        assert!(!hint.matters(now.after(LONGEST)));
    }
}
