// SPDX-License-Identifier: GPL-2.0-only
//! The rest after a look.

use gpreempt_policy::{Config, Nanos, Step};

const NOW: Nanos = Nanos(5_000_000_000);

/// How long the rest is after this step and a look of so many microseconds, with
/// looks 100 us apart while it matters and 1,000 us apart otherwise.
fn rest(step: Step, took: u32) -> Nanos {
    let mut config = Config::new();
    config.numbers.poll_interval_us = 100;
    let end = step.rest_until(NOW, Nanos::from_micros(took), &config);
    end.since(NOW)
}

#[test]
fn a_rest_is_as_long_as_the_look_up_to_ten_intervals() {
    let stopped = Step {
        stopped: 1,
        ..Step::default()
    };
    let waiting = Step {
        waiting: 1,
        ..Step::default()
    };
    for (step, longest) in [
        (Step::default(), 10_000),
        (stopped, 1_000),
        (waiting, 1_000),
    ] {
        assert_eq!(rest(step, 0), Nanos::ZERO);
        assert_eq!(rest(step, 70), Nanos::from_micros(70));
        assert_eq!(rest(step, longest - 1), Nanos::from_micros(longest - 1));
        assert_eq!(rest(step, longest + 1), Nanos::from_micros(longest));
        assert_eq!(rest(step, u32::MAX), Nanos::from_micros(longest));
    }
}

#[test]
fn a_rest_ends_where_a_stop_reaches_a_bound() {
    let step = Step {
        bound: Some(NOW.after(Nanos::from_micros(300))),
        ..Step::default()
    };
    assert_eq!(rest(step, 299), Nanos::from_micros(299));
    assert_eq!(rest(step, 500), Nanos::from_micros(300));
}
