// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `work.rs`.

use super::*;
use crate::settings::config::Config;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;

const T: Nanos = Nanos(5_000_000_000);
const NONE: Waves = Waves::Known(0);
fn seen(backlog: u32, progress: u64, waves: Waves) -> Observation {
    Observation {
        backlog: Some(backlog),
        progress,
        waves,
        head: Head::Runnable,
        ..Observation::new(QueueId(1), ProcessId(1))
    }
}

/// The work of a queue that looked so at these times after `T`.
fn after(looks: &[(u64, Observation)]) -> Work {
    let limits = Limits::new(&Config::new());
    let mut work = Work::new(T, &seen(0, 0, NONE));
    let looks = looks
        .iter()
        .map(|(time, look)| (T.after(Nanos(*time)), look));
    looks.for_each(|(now, look)| work.take_in(now, &limits, look, true));
    work
}

#[test]
fn it_stays_idle_as_long_as_nothing_changes() {
    let untold = Observation {
        state: QueueState::Unknown,
        ..seen(0, 0, NONE)
    };
    let mut work = after(&[(0, untold)]);
    assert!(!work.is_active());
    for (change, idle) in [
        (seen(0, 0, NONE), true),
        (seen(0, 0, Waves::Unknown), true),
        (seen(0, 0, Waves::Known(1)), false),
        (seen(0, 1, NONE), false),
        (seen(1, 0, NONE), false),
    ] {
        assert_eq!(work.still_idle(&change), idle, "{change:?}");
    }
    work.stay_idle(&seen(0, 0, Waves::Unknown));
    assert!(work.is_active());
    assert_eq!(work.waves(), Waves::Unknown);
}

#[test]
fn each_launch_is_uncounted_for_two_looks() {
    let launch = |progress| seen(0, progress, Waves::Unknown);
    let mut looks = vec![(1, launch(1)), (2, launch(2)), (3, launch(3))];
    for uncounted in [true, true, false] {
        assert_eq!(after(&looks).is_uncounted(), uncounted);
        looks.push((4, launch(3)));
    }
    assert!(!after(&[(1, seen(3, 1, Waves::Unknown))]).is_uncounted());
}

#[test]
fn a_doubt_ends_with_any_sign_of_life() {
    for (life, doubts) in [
        (seen(1, 2, NONE), 0),
        (seen(1, 1, Waves::Known(1)), 0),
        (seen(1, 1, NONE), 1),
        (seen(0, 2, NONE), 1),
    ] {
        let mut work = after(&[(1, seen(0, 1, NONE))]);
        work.settle_doubt(T.after(Nanos(7)));
        assert_eq!((work.doubts, work.pending_since()), (1, T.after(Nanos(7))));
        work.take_in(T.after(Nanos(9)), &Limits::new(&Config::new()), &life, true);
        assert_eq!(work.doubts, doubts, "{life:?}");
    }
}

#[test]
fn a_launch_that_shows_nothing_is_forgotten_in_time() {
    let end = Limits::new(&Config::new()).no_progress.0;
    for (time, launched) in [(end, true), (end + 1, false)] {
        let work = after(&[(1, seen(0, 1, NONE)), (time, seen(0, 1, NONE))]);
        assert_eq!(work.has_launched(), launched);
        assert_eq!(work.moved(), T.after(Nanos(1)));
    }
}

#[test]
fn it_stalls_when_it_has_not_moved_for_the_grace() {
    let grace = Limits::new(&Config::new()).grace.0;
    let begin = [(0, seen(4, 1, NONE)), (grace / 2, seen(4, 1, NONE))];
    let mut looks = begin.to_vec();
    looks.push((grace, seen(4, 1, NONE)));
    assert!(after(&looks).is_stalled());
    looks.push((grace + 1, seen(4, 2, NONE)));
    assert!(after(&looks).is_waiting() && !after(&looks).is_stalled());
    looks.push((grace + 2, seen(4, 2, NONE)));
    let mut work = after(&looks);
    assert!(work.is_waiting() && !work.is_stalled());
    work.begin_grace(T.after(Nanos(grace + 3)));
    assert!(work.is_pending() && !work.is_waiting() && !work.was_looked_at());
}

#[test]
fn what_moved_within_the_grace_runs() {
    let limits = Limits::new(&Config::new());
    let (busy, idle) = (
        after(&[(0, seen(4, 1, NONE))]),
        after(&[(0, seen(0, 1, NONE))]),
    );
    for (since, runs, occupies) in [(-1, true, true), (0, false, true), (1, false, false)] {
        let now = Nanos(T.after(limits.grace).0.saturating_add_signed(since));
        assert_eq!(busy.surely_runs(now, &limits), runs, "{since}");
        assert_eq!(busy.may_occupy(now, &limits), occupies, "{since}");
    }
    let launched = after(&[(0, seen(0, 1, Waves::Known(1)))]);
    assert!(!idle.surely_runs(T, &limits) && !launched.surely_runs(T, &limits));
    let mut barrier = seen(0, 0, NONE);
    barrier.head = Head::Barrier;
    assert!(!after(&[(0, barrier)]).is_blocked());
    barrier.backlog = Some(1);
    assert!(after(&[(0, barrier)]).is_blocked());
}

#[test]
fn a_launch_without_wave_counts_may_run_for_as_long_as_those_before_it() {
    let unknown = |backlog, progress| seen(backlog, progress, Waves::Unknown);
    let micros = 1_000;
    for (looks, end) in [
        // Three packets in 90 us, and five in 500.
        (vec![(10, unknown(3, 1)), (100, unknown(0, 4))], Some(130)),
        (vec![(10, unknown(5, 1)), (510, unknown(0, 6))], Some(610)),
        // No longer than is waited as a rule.
        (vec![(10, unknown(1, 1)), (410, unknown(0, 2))], Some(710)),
        // How long the first one waited, or when it came after a pause, tells nothing.
        (vec![(10, unknown(1, 0)), (210, unknown(0, 1))], Some(210)),
        (vec![(10, unknown(0, 1)), (210, unknown(0, 2))], Some(210)),
        (
            vec![
                (10, unknown(0, 1)),
                (200, unknown(1, 1)),
                (230, unknown(0, 2)),
            ],
            Some(230),
        ),
        // It has more to run, its waves are counted, or it has launched nothing.
        (vec![(10, unknown(3, 1)), (100, unknown(1, 3))], None),
        (vec![(10, unknown(3, 1)), (100, seen(0, 4, NONE))], None),
        (
            vec![(10, unknown(3, 1)), (100, seen(0, 4, Waves::Known(1)))],
            None,
        ),
        (vec![(10, unknown(3, 0))], None),
    ] {
        let looks: Vec<_> = looks
            .into_iter()
            .map(|(at, look)| (at * micros, look))
            .collect();
        let expected = end.map(|end: u64| T.after(Nanos(end * micros)));
        let limits = Limits::new(&Config::new());
        assert_eq!(after(&looks).may_run_until(&limits), expected, "{looks:?}");
    }
}
