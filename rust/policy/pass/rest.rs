// SPDX-License-Identifier: GPL-2.0-only
//! The rest after a look, which keeps looking from taking a processor for itself.
//!
//! It is as long as the look was. A look that was long because its thread had to wait
//! for a lock or for the processor must not make the policy late, so that the rest is
//! also bounded by the interval at which the node should be looked at, and ends where
//! a stop reaches one of its own bounds.

use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::{Nanos, Step};

/// The most intervals between two looks that a rest takes.
const INTERVALS: u64 = 10;

impl Step {
    /// Before which time nobody is to look again, after a look that took so long and
    /// has led to this step now.
    pub fn rest_until(&self, now: Nanos, took: Nanos, config: &Config<'_>) -> Nanos {
        let pressing = self.stopped > 0
            || self.waiting > 0
            || self.inversion.is_some()
            || self.bound.is_some();
        let (poll, idle) = Limits::intervals(config);
        let interval = if pressing { poll } else { idle };
        let end = now.after(took.min(interval.times(INTERVALS)));
        self.bound.map_or(end, |bound| end.min(bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
