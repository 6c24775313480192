// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `work.rs`.

use super::*;
use crate::terms::{ProcessId, QueueId};

const START: Nanos = Nanos(5_000_000_000);

fn at(micros: u32) -> Nanos {
    START.after(Nanos::from_micros(micros))
}

fn seen(progress: u64, backlog: u32) -> Observation {
    Observation {
        progress,
        backlog: Some(backlog),
        head: if backlog > 0 {
            Head::Runnable
        } else {
            Head::Unknown
        },
        ..Observation::new(QueueId(1), ProcessId(1))
    }
}

fn counted(progress: u64, backlog: u32, waves: u32, grid: u32) -> Observation {
    Observation {
        waves: Waves::Known(waves),
        grid: Some(grid),
        ..seen(progress, backlog)
    }
}

/// A queue whose launches followed each other every so many microseconds.
fn steady(each: u32, launches: u32) -> Work {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(0, 100), false);
    for launch in 0..=launches {
        work.take_in(at(launch * each), &seen(u64::from(launch) + 1, 100), false);
    }
    work
}

#[test]
fn none_saved_is_not_none_left() {
    let mut work = steady(400, 4);
    let stopped = |waves| Observation {
        state: QueueState::StoppedByUs,
        waves: Waves::Known(waves),
        ..seen(5, 0)
    };
    work.take_in(at(1_700), &stopped(0), false);
    work.finish(at(1_700));
    assert!(work.has_any());
    assert_eq!(work.seen_running, None);
    work.take_in(at(1_800), &stopped(3), false);
    assert_eq!(work.seen_running, Some(Nanos(100_000)));
}

#[test]
fn a_launch_that_was_not_placed_wholly_lacks_room_until_it_gets_more() {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(0, 1), false);
    work.take_in(at(20), &counted(1, 0, 0, 8), false);
    assert!(work.is_fresh(at(20)));
    work.take_in(at(40), &counted(1, 0, 3, 8), false);
    assert!(work.lacks_room && !work.is_fresh(at(40)));
    work.take_in(at(60), &counted(1, 0, 3, 8), false);
    assert!(work.lacks_room);
    work.take_in(at(80), &counted(1, 0, 2, 8), false);
    assert!(!work.lacks_room);
    work.take_in(at(90), &counted(1, 0, 2, 8), false);
    assert!(!work.lacks_room);
    // All of it is placed; it is too old; its grid is not known.
    for (micros, waves, grid) in [(40, 8, Some(8)), (300, 3, Some(8)), (40, 3, None)] {
        let mut work = Work::new(START, &seen(0, 0));
        work.take_in(START, &seen(1, 0), false);
        let seen = Observation {
            grid,
            ..counted(1, 0, waves, 8)
        };
        work.take_in(at(micros), &seen, false);
        assert!(!work.lacks_room, "{micros} {waves} {grid:?}");
    }
}

#[test]
fn saved_waves_show_that_an_idle_queue_had_something() {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(0, 0), false);
    let stopped = Observation {
        state: QueueState::StoppedByUs,
        ..counted(0, 0, 3, 3)
    };
    work.take_in(at(20), &stopped, false);
    assert!(work.has_any());
}

#[test]
fn a_new_launch_is_judged_by_nothing_that_was_seen_of_the_last_one() {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(1, 0), false);
    work.take_in(at(100), &counted(1, 0, 3, 8), false);
    assert!(work.lacks_room);
    work.take_in(at(120), &seen(2, 0), false);
    assert!(!work.lacks_room);
    assert!(work.is_doubtful(at(320)));
    // One of a stopped queue begins when that runs.
    let stopped = |progress| Observation {
        state: QueueState::StoppedByUs,
        ..seen(progress, 0)
    };
    work.take_in(at(400), &stopped(2), false);
    work.take_in(at(500), &stopped(3), false);
    work.take_in(at(600), &seen(3, 0), false);
    assert_eq!(work.age(at(700)), Nanos(100_000));
}

#[test]
fn what_was_counted_is_learned_when_a_launch_is_over() {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(1, 0), false);
    work.take_in(at(20), &counted(1, 0, 3, 8), false);
    assert!(work.lacks_room);
    work.take_in(at(40), &counted(1, 0, 0, 8), false);
    work.finish(at(40));
    assert!(work.lengths.mean().is_some());
    assert!(!work.lacks_room);
    // What has waves after all is placed as far as it will be.
    work.take_in(at(60), &counted(1, 0, 3, 8), false);
    assert!(!work.lacks_room);
}

#[test]
fn what_comes_behind_a_barrier_has_just_come() {
    let mut work = steady(400, 8);
    let barrier = |waves| Observation {
        head: Head::Barrier,
        ..counted(9, 1, waves, 1)
    };
    work.take_in(at(3_300), &barrier(1), false);
    work.take_in(at(3_600), &barrier(0), false);
    work.finish(at(3_600));
    work.take_in(at(9_000), &seen(9, 1), false);
    work.work_out_rest(at(9_000));
    assert!(work.rest < Nanos(500_000), "{:?}", work.rest);
}

#[test]
fn work_that_comes_while_a_launch_runs_does_not_hide_it() {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(1, 0), false);
    work.take_in(at(1_000), &counted(1, 0, 4, 4), false);
    work.take_in(at(1_000), &counted(1, 1, 4, 4), false);
    work.work_out_rest(at(1_000));
    assert_eq!(work.rest, Nanos(1_000_000));
    // Once that is over, it has only just got something, however young the last one was.
    let mut work = steady(400, 8);
    work.take_in(at(3_300), &counted(9, 0, 0, 1), false);
    work.finish(at(3_300));
    work.take_in(at(3_350), &seen(9, 1), false);
    work.work_out_rest(at(3_350));
    assert_eq!(work.rest, work.mean);
}

#[test]
fn a_launch_is_fresh_for_less_than_200_us() {
    let mut work = Work::new(START, &seen(0, 0));
    work.take_in(START, &seen(1, 0), false);
    assert!(work.is_fresh(Nanos(at(200).0 - 1)) && !work.is_fresh(at(200)));
}
