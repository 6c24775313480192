// SPDX-License-Identifier: GPL-2.0-only

//! What the product records of a node: which decisions stay, under which numbers,
//! and how durations are counted.

use crate::fake::expect;
use crate::node::histogram::{Histogram, BUCKETS};
use crate::node::record::{Event, Events, Outcome, EVENTS};
use gpreempt_policy::{Action, Nanos, Reason};
use kernel::prelude::*;

/// A decision that says when it was made and nothing else.
fn made_at(time: u64) -> Event {
    Event {
        time: Nanos(time),
        pid: 0,
        queue_id: 0,
        priority: 7,
        effective: 7,
        action: Action::Stop,
        reason: Reason::Inversion,
        age: Nanos::ZERO,
        outcome: Outcome::Done,
        beneficiary: None,
    }
}

/// Makes decisions at the times 1, 2 and so on, and expects those from one on.
fn expect_kept(made: u64, first: u64) -> Result {
    let mut events = Events::new()?;
    for time in 1..=made {
        events.add(made_at(time));
    }
    let mut expected = first..=made;
    for (number, event) in events.iter() {
        expect((Some(number), event.time), (expected.next(), Nanos(number)))?;
    }
    expect(expected.next(), None)
}

#[kunit_tests(amd_gpreempt_record)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_numbered_from_one() -> Result {
        expect_kept(0, 1)?;
        expect_kept(1, 1)?;
        expect_kept(5, 1)
    }

    #[test]
    fn the_oldest_decision_makes_room_for_a_new_one() -> Result {
        let full = EVENTS as u64;
        expect_kept(full, 1)?;
        expect_kept(full + 1, 2)?;
        expect_kept(2 * full - 1, full)?;
        expect_kept(3 * full + 7, 2 * full + 8)
    }

    #[test]
    fn durations_are_counted_by_their_order_of_magnitude() -> Result {
        let mut histogram = Histogram::new();
        for duration in [0, 1, 2, 3, 4, 1023, 1024] {
            histogram.add(Nanos(duration));
        }
        let expected = [(1, 2), (2, 2), (4, 1), (512, 1), (1024, 1)];
        expect(histogram.buckets().eq(expected), true)?;
        expect((histogram.count, histogram.sum), (7, 2057))?;
        expect(histogram.longest, 1024)
    }

    #[test]
    fn a_duration_beyond_the_last_bucket_is_in_it() -> Result {
        let mut histogram = Histogram::new();
        histogram.add(Nanos(u64::MAX));
        histogram.add(Nanos(u64::MAX));
        expect(histogram.buckets().eq([(1 << (BUCKETS - 1), 2)]), true)?;
        expect((histogram.sum, histogram.longest), (u64::MAX, u64::MAX))
    }
}
