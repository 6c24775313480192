// SPDX-License-Identifier: GPL-2.0-only
//! How soon to look again: how much processor time looking is worth at present.
//!
//! How long an urgent request waits begins with the time until a look finds it, so
//! while one may come at any moment and a lower queue runs, looks are made often. To
//! look that often is wasted where none has come for a while, and a look takes the
//! longer the more queues there are.

use crate::settings::limits::Limits;
use crate::terms::time::Nanos;

/// How many times as often looks are made while an urgent request may come.
const HASTE: u64 = 5;

/// The shortest time between two looks.
const SHORTEST: Nanos = Nanos::from_micros(20);

/// The least time between two looks for each queue, in haste and otherwise.
const HASTY_EACH: Nanos = Nanos(1_000);
const EACH: Nanos = Nanos(500);

/// What is remembered for the pace of looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pace {
    /// When a queue last wanted what a lower one had.
    urgent: Option<Nanos>,
}

impl Pace {
    pub(crate) const fn new() -> Pace {
        Pace { urgent: None }
    }

    /// A queue wants what a lower one has, or one is stopped for it.
    pub(crate) fn see_urgent(&mut self, now: Nanos) {
        self.urgent = Some(now);
    }

    /// Whether an urgent request may come at any moment.
    pub(crate) fn is_lively(&self, now: Nanos, limits: &Limits) -> bool {
        self.urgent
            .is_some_and(|urgent| now.since(urgent) < limits.expect)
    }

    /// The time to the next look at so many queues, in haste or not.
    pub(crate) fn interval(limits: &Limits, queues: usize, haste: bool) -> Nanos {
        let queues = u64::try_from(queues).unwrap_or(u64::MAX);
        let leisurely = limits.poll.max(EACH.times(queues));
        if !haste {
            return leisurely;
        }
        let hasty = Nanos(limits.poll.0 / HASTE).max(SHORTEST);
        hasty.max(HASTY_EACH.times(queues)).min(leisurely)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::Config;
    use crate::settings::parameter::Number;

    #[test]
    fn looks_are_further_apart_the_more_queues_there_are() {
        let mut config = Config::new();
        for (poll, queues, haste, micros) in [
            (100, 1, true, 20),
            (100, 20, true, 20),
            (100, 21, true, 21),
            (100, 100, true, 100),
            (100, 101, true, 100),
            (100, 200, false, 100),
            (100, 202, false, 101),
            (100, 1_024, true, 512),
            (100, 1_024, false, 512),
            (20, 1, true, 20),
            (1_000, 1, true, 200),
            (1_000, 1, false, 1_000),
        ] {
            assert_eq!(config.set(Number::PollInterval, poll), Ok(()));
            let interval = Pace::interval(&Limits::new(&config), queues, haste);
            assert_eq!(
                interval,
                Nanos::from_micros(micros),
                "{poll} {queues} {haste}"
            );
        }
    }

    #[test]
    fn an_urgent_request_is_expected_for_as_long_as_the_parameter_says() {
        let now = Nanos(5_000_000_000);
        let mut config = Config::new();
        for (millis, last) in [(1, 999_999), (1_000, 999_999_999)] {
            assert_eq!(config.set(Number::Expect, millis), Ok(()));
            let limits = Limits::new(&config);
            let mut pace = Pace::new();
            assert!(!pace.is_lively(now, &limits));
            pace.see_urgent(now);
            assert!(pace.is_lively(now.after(Nanos(last)), &limits));
            assert!(!pace.is_lively(now.after(Nanos(last + 1)), &limits));
        }
        assert_eq!(config.set(Number::Expect, 0), Ok(()));
        let mut pace = Pace::new();
        pace.see_urgent(now);
        assert!(!pace.is_lively(now, &Limits::new(&config)));
    }
}
