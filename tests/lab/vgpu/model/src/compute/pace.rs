// SPDX-License-Identifier: GPL-2.0-only
//! How fast the workgroups on a die get on beside each other.
//!
//! A workgroup of countable work asks for a part of a compute unit's throughput. While
//! those on a die ask for no more than its units have, each takes its own time. Beyond
//! that all slow down alike, so that one clock of undisturbed work serves them all, and
//! a change costs the same however many there are. That they slow down alike, wherever
//! on the die they are, is an assumption; the simulator makes the same one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::terms::GpuNanos;

/// The throughput of one compute unit.
pub const UNIT: u64 = 1000;

/// Picoseconds, so that little is lost where the clock is slow.
const PICOS: u64 = 1000;

/// A time on a die's clock of undisturbed work, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Progress(u64);

#[derive(Clone)]
pub struct Pace {
    capacity: u64,
    /// What the workgroups on the die ask for together.
    demand: u64,
    /// The clock of undisturbed work, and when it was set.
    work: Progress,
    at: GpuNanos,
    /// When workgroups end, with what tells each from an earlier one in its place.
    ends: BinaryHeap<Reverse<(Progress, u64, usize)>>,
    /// What was announced last: the number of the event, and when it is due.
    announced: Option<(u64, GpuNanos)>,
}

impl Pace {
    pub fn new(units: u64) -> Pace {
        Pace {
            capacity: units * UNIT,
            demand: 0,
            work: Progress::default(),
            at: GpuNanos::default(),
            ends: BinaryHeap::new(),
            announced: None,
        }
    }

    /// Brings the clock of work up to date.
    fn pass_to(&mut self, now: GpuNanos) {
        let elapsed = u128::from(now.since(self.at)) * u128::from(PICOS);
        let done = if self.demand <= self.capacity {
            elapsed
        } else {
            elapsed * u128::from(self.capacity) / u128::from(self.demand)
        };
        let done = u64::try_from(done).unwrap_or(u64::MAX);
        self.work = Progress(self.work.0.saturating_add(done));
        self.at = now;
    }

    /// A workgroup that asks for so much comes.
    pub fn join(&mut self, now: GpuNanos, demand: u64) {
        self.pass_to(now);
        self.demand += demand;
    }

    /// One leaves.
    pub fn leave(&mut self, now: GpuNanos, demand: u64) {
        self.pass_to(now);
        self.demand -= demand;
    }

    /// When so many nanoseconds of undisturbed work from now are done.
    pub fn end_of(&mut self, now: GpuNanos, nanos: u64) -> Progress {
        self.pass_to(now);
        Progress(self.work.0.saturating_add(nanos.saturating_mul(PICOS)))
    }

    /// How many nanoseconds of undisturbed work are missing.
    pub fn missing(&mut self, now: GpuNanos, end: Progress) -> u64 {
        self.pass_to(now);
        end.0.saturating_sub(self.work.0).div_ceil(PICOS)
    }

    /// A workgroup ends then, unless it is taken off before.
    pub fn expect(&mut self, end: Progress, serial: u64, index: usize) {
        self.ends.push(Reverse((end, serial, index)));
    }

    /// When the next workgroup ends if nothing changes, and the number for that event,
    /// unless it was announced before.
    pub fn announce(
        &mut self,
        now: GpuNanos,
        number: impl FnOnce() -> u64,
    ) -> Option<(GpuNanos, u64)> {
        let Reverse((end, ..)) = *self.ends.peek()?;
        self.pass_to(now);
        let left = u128::from(end.0.saturating_sub(self.work.0));
        let demand = u128::from(self.demand.max(self.capacity));
        let nanos = (left * demand).div_ceil(u128::from(self.capacity * PICOS));
        let due = now.after(u64::try_from(nanos).unwrap_or(u64::MAX));
        if self.announced.is_some_and(|(_, before)| before == due) {
            return None;
        }
        let number = number();
        self.announced = Some((number, due));
        Some((due, number))
    }

    /// An announced event has come. Returns the workgroup that ends, if the event is
    /// not stale and one does.
    pub fn take_due(&mut self, now: GpuNanos, number: u64) -> Option<(usize, u64)> {
        self.announced = match self.announced {
            Some((announced, _)) if announced == number => None,
            _ => return None,
        };
        self.pass_to(now);
        let Reverse((end, serial, index)) = *self.ends.peek()?;
        if end > self.work {
            return None;
        }
        self.ends.pop();
        Some((index, serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: GpuNanos = GpuNanos(1_000);

    /// When each of these workgroups ends: what it asks for, and its time.
    fn ends(pace: &mut Pace, workgroups: &[(u64, u64)]) -> Vec<(usize, u64)> {
        for (index, &(demand, nanos)) in workgroups.iter().enumerate() {
            pace.join(START, demand);
            let end = pace.end_of(START, nanos);
            pace.expect(end, index as u64, index);
        }
        let (mut now, mut number, mut ends) = (START, 0, Vec::new());
        while let Some((due, announced)) = pace.announce(now, || {
            number += 1;
            number
        }) {
            now = due;
            if let Some((index, _)) = pace.take_due(now, announced) {
                pace.leave(now, workgroups[index].0);
                ends.push((index, now.since(START)));
            }
        }
        ends
    }

    #[test]
    fn what_the_units_have_room_for_takes_its_own_time() {
        let mut pace = Pace::new(2);
        assert_eq!(
            ends(&mut pace, &[(UNIT, 700), (UNIT / 2, 500), (UNIT / 2, 500)]),
            [(1, 500), (2, 500), (0, 700)]
        );
    }

    #[test]
    fn what_asks_for_nothing_slows_nobody_down() {
        let mut pace = Pace::new(1);
        assert_eq!(
            ends(&mut pace, &[(0, 500), (UNIT, 500), (0, 900)]),
            [(0, 500), (1, 500), (2, 900)]
        );
    }

    #[test]
    fn all_slow_down_alike_until_one_has_ended() {
        let mut pace = Pace::new(1);
        // Three times as much as there is until 900; then twice as much, with 100 left of
        // the second and 200 of the third.
        let three = [(UNIT, 300), (UNIT, 400), (UNIT, 500)];
        assert_eq!(ends(&mut pace, &three), [(0, 900), (1, 1100), (2, 1200)]);
    }

    #[test]
    fn what_is_taken_off_has_the_rest_of_its_work_left() {
        let mut pace = Pace::new(1);
        pace.join(START, UNIT);
        pace.join(START, UNIT);
        let end = pace.end_of(START, 500);
        assert_eq!(pace.missing(START.after(300), end), 350);
        pace.leave(START.after(300), UNIT);
        assert_eq!(pace.missing(START.after(400), end), 250);
        assert_eq!(pace.missing(START.after(9_000), end), 0);
    }

    #[test]
    fn an_end_that_moves_is_announced_anew_and_the_old_event_is_stale() {
        let mut pace = Pace::new(1);
        pace.join(START, UNIT);
        let end = pace.end_of(START, 500);
        pace.expect(end, 7, 3);
        assert_eq!(pace.announce(START, || 1), Some((START.after(500), 1)));
        assert_eq!(pace.announce(START.after(9), || 2), None);
        pace.join(START.after(100), UNIT);
        let late = START.after(900);
        assert_eq!(pace.announce(START.after(100), || 3), Some((late, 3)));
        assert_eq!(pace.take_due(START.after(500), 1), None);
        assert_eq!(pace.take_due(late, 3), Some((3, 7)));
        assert_eq!(pace.announce(late, || 4), None);
    }

    #[test]
    fn work_without_end_does_not_overflow() {
        let mut pace = Pace::new(1);
        pace.join(START, UNIT);
        let end = pace.end_of(START, u64::MAX - 1);
        pace.expect(end, 0, 0);
        pace.join(START, 31 * UNIT);
        let (due, number) = pace.announce(START, || 1).expect("an end");
        assert!(due > START.after(1 << 58));
        assert_eq!(pace.take_due(START.after(1 << 40), number), None);
    }

    proptest! {
        /// No work is done for nothing, and the units are never idle while there is some.
        #[test]
        fn the_units_do_what_they_can_and_no_more(
            workgroups in proptest::collection::vec((1..=UNIT, 1..100_000u64), 1..20),
            units in 1..4u64,
        ) {
            let ends = ends(&mut Pace::new(units), &workgroups);
            prop_assert_eq!(ends.len(), workgroups.len());
            let all: u64 = workgroups.iter().map(|(demand, nanos)| demand * nanos).sum();
            let last = ends.iter().map(|(_, end)| *end).max().unwrap_or(0);
            // Each end is rounded up to a nanosecond.
            let slack = (ends.len() as u64 + 1) * units * UNIT;
            prop_assert!(last * units * UNIT + slack >= all);
            for (index, end) in ends {
                prop_assert!(end >= workgroups[index].1);
            }
        }
    }
}
