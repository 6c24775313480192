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

fn beneficiary(level: u32) -> Who {
    Who {
        queue: QueueId(9),
        process: ProcessId(9),
        level: Priority::new(level).unwrap(),
        at: 0,
        process_at: 0,
    }
}

fn stop(since: Nanos, level: u32, dry: bool) -> Stop {
    Stop {
        since,
        reason: Reason::Inversion,
        beneficiary: Some(beneficiary(level)),
        dry,
    }
}

/// A queue that is idle, and stopped for one of level 11.
fn stopped(config: &Config<'_>, limits: &Limits) -> Queue {
    let active = seen(QueueState::Active);
    let mut queue = Queue::new(NOW, 1, &active);
    queue.meet(1, config, limits, &active);
    queue.take_in(NOW, &active, false);
    queue.begin_stop(stop(NOW, 11, false));
    queue
}

#[test]
fn a_stop_that_was_not_carried_out_is_put_off_and_longer_each_time() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let active = seen(QueueState::Active);
    let mut queue = stopped(&config, &limits);
    assert!(!queue.stays_idle(&active));
    queue.refuse_stop(LATER);
    assert!(queue.phase == Phase::Free && queue.stays_idle(&active));
    assert_eq!(queue.retry_at, LATER.after(RETRY));
    assert!(!queue.is_stoppable(LATER, Priority::HIGHEST));
    assert!(queue.is_stoppable(LATER.after(RETRY), Priority::HIGHEST));
    // It is heard once.
    queue.refuse_stop(LATER);
    assert_eq!(queue.retry_at, LATER.after(RETRY));
    queue.begin_stop(stop(LATER, 11, false));
    queue.refuse_stop(LATER);
    assert_eq!(queue.retry_at, LATER.after(RETRY.times(2)));
}

#[test]
fn a_stop_that_ends_at_its_bound_gives_time_against_all_up_to_its_level() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = stopped(&config, &limits);
    queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
    queue.begin_start(LATER, &limits, Reason::Bound);
    queue.take_in(LATER, &seen(QueueState::Active), false);
    let end = LATER.after(limits.min_run);
    for (level, immune) in [(0, true), (11, true), (12, false), (15, false)] {
        let level = Priority::new(level).unwrap();
        assert_eq!(queue.is_immune(LATER, level), immune);
        assert!(!queue.is_immune(end, level));
    }
    assert!(queue.is_immune(LATER, Priority::LOWEST) && !queue.is_immune(end, Priority::LOWEST));
}

#[test]
fn a_stop_that_ends_otherwise_gives_none() {
    let config = Config::new();
    let limits = Limits::new(&config);
    for reason in [
        Reason::Calm,
        Reason::Turn,
        Reason::NoProgress,
        Reason::Budget,
    ] {
        let mut queue = stopped(&config, &limits);
        queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
        queue.begin_start(LATER, &limits, reason);
        queue.take_in(LATER, &seen(QueueState::Active), false);
        assert!(!queue.is_immune(LATER, Priority::LOWEST));
    }
}

#[test]
fn what_is_told_of_it_is_booked() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = stopped(&config, &limits);
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
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut active = seen(QueueState::Active);
    let mut queue = Queue::new(NOW, 1, &active);
    queue.meet(1, &config, &limits, &active);
    queue.take_in(NOW, &active, false);
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
    let mut none = config;
    none.numbers.grace_us = 0;
    assert_eq!(queue.waits(NOW, &Limits::new(&none)), None);
}

#[test]
fn without_a_place_for_its_process_it_takes_no_part() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let active = seen(QueueState::Active);
    let mut queue = Queue::new(NOW, 1, &active);
    queue.meet(1, &config, &limits, &active);
    queue.join(0);
    assert!(queue.contends());
    queue.join(usize::MAX);
    assert!(!queue.contends());
}

#[test]
fn none_counted_are_none_beside_an_equal_that_has_some() {
    let config = Config::new();
    let limits = Limits::new(&config);
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
        let mut queue = Queue::new(NOW, 1, &launched);
        queue.meet(1, &config, &limits, &launched);
        queue.take_in(NOW, &launched, false);
        queue.settle_count(NOW, busiest.and_then(Priority::new));
        assert_eq!(queue.stays_idle(&launched), over, "{busiest:?}");
    }
}

#[test]
fn a_start_is_tried_again_after_the_first_pause_whatever_the_stop_took() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = stopped(&config, &limits);
    queue.refuse_stop(NOW);
    queue.begin_stop(stop(NOW, 11, false));
    queue.take_in(LATER, &seen(QueueState::Unknown), false);
    queue.begin_start(LATER, &limits, Reason::Calm);
    assert_eq!(queue.retry_at, LATER.after(RETRY));
}

#[test]
fn a_stop_that_is_forgotten_gives_no_time() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = stopped(&config, &limits);
    queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
    queue.begin_start(NOW, &limits, Reason::Bound);
    queue.forget_stop(NOW);
    queue.begin_stop(stop(NOW, 11, false));
    queue.take_in(NOW, &seen(QueueState::StoppedByUs), false);
    queue.take_in(LATER, &seen(QueueState::Active), false);
    assert!(!queue.is_immune(LATER, Priority::LOWEST));
}
