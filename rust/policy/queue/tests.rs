// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `queue.rs`.

use super::*;
use crate::terms::QueueState;

const NOW: Nanos = Nanos(5_000_000_000);
const LATER: Nanos = Nanos(5_000_100_000);

fn seen(state: QueueState) -> Observation {
    Observation {
        state,
        waves: Waves::Known(0),
        ..Observation::new(QueueId(1), ProcessId(1))
    }
}

/// A stop for a queue of level 11.
fn stop() -> Stop {
    Stop {
        since: NOW,
        reason: Reason::Inversion,
        beneficiary: Some(Who {
            queue: QueueId(9),
            process: ProcessId(9),
            level: Priority::new(11).unwrap(),
            at: 0,
            process_at: 0,
        }),
        dry: false,
    }
}

/// A queue that was seen so.
fn seen_so(seen: &Observation) -> Queue {
    let mut queue = Queue::new(NOW, 1, seen);
    queue.meet(1, &Config::new(), seen);
    queue.take_in(NOW, seen, false);
    queue
}

/// A queue that is idle and stopped.
fn stopped() -> Queue {
    let mut queue = seen_so(&seen(QueueState::Active));
    queue.begin_stop(stop());
    queue
}

fn limits() -> Limits {
    Limits::new(&Config::new())
}

#[test]
fn what_is_told_of_it_is_booked() {
    let mut queue = stopped();
    queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
    assert_eq!(queue.view(LATER).verdict, Verdict::Stopped);
    assert_eq!(queue.view(LATER).beneficiary, Some(QueueId(9)));
    let mut forgotten = queue;
    forgotten.forget_stop(LATER);
    assert_eq!(forgotten.view(LATER).stopped, Nanos(100_000));
    let (healed, _) = queue.take_in(LATER, &seen(QueueState::Active), false);
    assert!(healed);
    assert_eq!(queue.view(LATER).stopped, Nanos(100_000));
    assert_eq!(queue.view(LATER).stops, 1);
}

#[test]
fn it_waits_from_the_grace_on_and_not_in_the_look_that_finds_it() {
    let limits = limits();
    let mut active = seen(QueueState::Active);
    let mut queue = seen_so(&active);
    active.backlog = Some(1);
    queue.take_in(NOW, &active, false);
    assert_eq!(queue.waits(NOW, &limits), None);
    assert_eq!(
        queue.settles_at(NOW, &limits),
        Some(NOW.after(limits.grace))
    );
    let before = Nanos(NOW.0 + limits.grace.0 - 1);
    assert_eq!(queue.waits(before, &limits), None);
    let then = NOW.after(limits.grace);
    assert_eq!(queue.waits(then, &limits), Some(NOW));
    assert_eq!(queue.settles_at(then, &limits), None);
    // Nor without a grace.
    let mut none = Config::new();
    none.numbers.grace_us = 0;
    assert_eq!(queue.waits(NOW, &Limits::new(&none)), None);
}

#[test]
fn without_a_place_for_its_process_it_takes_no_part() {
    let mut queue = seen_so(&seen(QueueState::Active));
    queue.join(0);
    assert!(queue.rating.contends);
    queue.join(usize::MAX);
    assert!(!queue.rating.contends);
}

#[test]
fn none_counted_are_none_beside_an_equal_that_has_some() {
    let launched = Observation {
        progress: 7,
        ..seen(QueueState::Active)
    };
    for (busiest, over) in [
        (None, true),
        (Some(6), true),
        (Some(7), true),
        (Some(8), false),
    ] {
        let mut queue = seen_so(&launched);
        queue.settle_count(NOW, busiest.and_then(Priority::new));
        assert_eq!(queue.stays_idle(&launched), over, "{busiest:?}");
    }
}

#[test]
fn a_start_is_tried_again_after_the_first_pause_whatever_the_stop_took() {
    let mut queue = stopped();
    queue.refuse(NOW, false);
    queue.begin_stop(stop());
    queue.take_in(LATER, &seen(QueueState::Unknown), false);
    queue.begin_start(LATER, &limits(), Reason::Calm);
    assert_eq!(queue.retry_at, LATER.after(RETRY));
}

#[test]
fn a_stop_that_is_forgotten_gives_no_time() {
    let mut queue = stopped();
    queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
    queue.begin_start(NOW, &limits(), Reason::Bound);
    queue.forget_stop(NOW);
    queue.begin_stop(stop());
    queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
    queue.take_in(LATER, &seen(QueueState::Active), false);
    assert!(!queue.is_immune(LATER, Priority::LOWEST));
}
