// SPDX-License-Identifier: GPL-2.0-only
//! What happens when the port fails: everything is started, the node is left
//! alone for a growing time, and after repeated failures until an operator arms
//! it again. Where the driver makes all queues anew, not even starts are sent.

use crate::settings::Config;
use crate::terms::{Arming, FailureKind, Nanos};

/// How long a node is left alone after a failed transaction; twice as long each time it
/// fails again.
pub const RETRY_FIRST: Nanos = Nanos::from_millis(10);

/// The longest time that a node is left alone before the next try, and for how long stops
/// have to work until failures are forgotten.
pub const RETRY_LONGEST: Nanos = Nanos::from_millis(10_000);

/// Whether a node is preempted, and since when it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Recovery {
    /// Failed transactions in a row.
    failures: u32,
    /// When it was heard of the first stop that worked after the last failure.
    works_since: Option<Nanos>,
    /// No stops before this time.
    alone_until: Nanos,
    /// Nothing at all before this time.
    silent_until: Nanos,
    disarmed: bool,
}

impl Recovery {
    /// A stop was carried out that was decided at this time. Only stops tell failures apart:
    /// time alone does not, in which the driver waits for firmware and resets the GPU, or
    /// nobody is stopped.
    pub(crate) fn stopped(&mut self, decided: Nanos, now: Nanos) {
        let since = *self.works_since.get_or_insert(now);
        if decided >= since.after(RETRY_LONGEST) {
            self.failures = 0;
        }
    }

    /// A transaction failed. Returns until when the node is left alone.
    pub(crate) fn failed(&mut self, now: Nanos, config: &Config, kind: FailureKind) -> Nanos {
        self.works_since = None;
        let pause = RETRY_FIRST.doubled(self.failures, RETRY_LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.alone_until = now.after(pause);
        self.disarmed |= self.failures >= config.numbers.disarm_after;
        if kind == FailureKind::Rebuilt {
            self.silent_until = self.alone_until;
        }
        self.alone_until
    }

    /// Forgets the failures. A silence goes on: it is for the GPU's sake.
    pub(crate) fn rearm(&mut self) {
        (self.failures, self.alone_until, self.disarmed) = Default::default();
    }

    /// The pause after the last failure is over, armed or not.
    pub(crate) fn may_retry(&self, now: Nanos) -> bool {
        now >= self.alone_until && now >= self.silent_until
    }

    pub(crate) fn arming(&self, now: Nanos) -> Arming {
        if now < self.silent_until {
            Arming::Silent(self.silent_until)
        } else if self.disarmed {
            Arming::Disarmed
        } else if now < self.alone_until {
            Arming::BackingOff(self.alone_until)
        } else {
            Arming::Armed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has a node fail again and again, each time after something else, and returns how
    /// many failures disarm it. `None`: more than a hundred.
    fn disarming(mut between: impl FnMut(&mut Recovery, Nanos) -> Nanos) -> Option<u32> {
        let config = Config::new();
        let mut recovery = Recovery::default();
        let mut now = Nanos(1);
        (1..=100).find(|_| {
            now = recovery.failed(now, &config, FailureKind::Rebuilt);
            let disarmed = recovery.arming(now) == Arming::Disarmed;
            now = between(&mut recovery, now);
            disarmed
        })
    }

    #[test]
    fn time_alone_does_not_tell_failures_apart() {
        let most = Some(Config::new().numbers.disarm_after);
        for time in [Nanos::ZERO, RETRY_LONGEST, Nanos::SECOND.times(3_600)] {
            assert_eq!(disarming(|_, now| now.after(time)), most, "{time:?}");
        }
    }

    #[test]
    fn failures_are_not_in_a_row_when_stops_have_worked_for_long() {
        let most = Some(Config::new().numbers.disarm_after);
        let almost = Nanos(RETRY_LONGEST.0 - 1);
        for (works, expected) in [(RETRY_LONGEST, None), (almost, most), (Nanos::ZERO, most)] {
            let found = disarming(|recovery, now| {
                recovery.stopped(now, now);
                recovery.stopped(now.after(works), now.after(works));
                now.after(works)
            });
            assert_eq!(found, expected, "{works:?}");
        }
    }

    /// A stop that worked before a failure says nothing of the time after it.
    #[test]
    fn stops_on_both_sides_of_a_failure_do_not_add_up() {
        let found = disarming(|recovery, now| {
            recovery.stopped(now, now);
            now.after(RETRY_LONGEST)
        });
        assert_eq!(found, Some(Config::new().numbers.disarm_after));
    }

    /// The driver may wait for firmware between the decision and the report, of the first
    /// stop and of the last.
    #[test]
    fn how_long_stops_take_does_not_tell_failures_apart() {
        let found = disarming(|recovery, now| {
            recovery.stopped(now, now.after(RETRY_LONGEST));
            recovery.stopped(now.after(RETRY_LONGEST), now.after(RETRY_LONGEST.times(2)));
            now.after(RETRY_LONGEST.times(2))
        });
        assert_eq!(found, Some(Config::new().numbers.disarm_after));
    }

    #[test]
    fn nothing_is_tried_again_before_the_pause_is_over() {
        let config = Config::new();
        for fallback in [FailureKind::Broken, FailureKind::Rebuilt] {
            let mut recovery = Recovery::default();
            assert!(recovery.may_retry(Nanos::ZERO));
            recovery.failed(Nanos(1), &config, fallback);
            let end = Nanos(1).after(RETRY_FIRST);
            assert!(!recovery.may_retry(Nanos(end.0 - 1)), "{fallback:?}");
            assert!(recovery.may_retry(end), "{fallback:?}");
            recovery.rearm();
            // A silence goes on.
            assert_eq!(
                recovery.may_retry(Nanos(2)),
                fallback == FailureKind::Broken
            );
        }
    }
}
