// SPDX-License-Identifier: GPL-2.0-only
//! What happens when the port fails: everything is started, the node is left
//! alone for a growing time, and after repeated failures until an operator arms
//! it again. Where the driver makes all queues anew, not even starts are sent.

use crate::settings::Config;
use crate::terms::{Arming, FailureKind, Nanos};

/// How long a node is left alone after a failed transaction; twice as long each time it
/// fails again.
pub const RETRY_FIRST: Nanos = Nanos::from_millis(10);

/// The longest time that a node is left alone before the next try.
pub const RETRY_LONGEST: Nanos = Nanos::from_millis(10_000);

/// Whether a node is preempted, and since when it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Recovery {
    /// Failed transactions in a row.
    failures: u32,
    /// No stops before this time.
    alone_until: Nanos,
    /// Nothing at all before this time.
    silent_until: Nanos,
    disarmed: bool,
}

impl Recovery {
    /// A transaction failed. Returns until when the node is left alone.
    pub(crate) fn failed(&mut self, now: Nanos, config: &Config, kind: FailureKind) -> Nanos {
        // Failures are in a row when the node was not well for the longest time
        // in between.
        if now >= self.alone_until.after(RETRY_LONGEST) {
            self.failures = 0;
        }
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

    #[test]
    fn failures_far_apart_are_not_in_a_row() {
        let config = Config::new();
        let mut recovery = Recovery::default();
        let mut now = Nanos(1);
        for _ in 0..100 {
            recovery.failed(now, &config, FailureKind::Broken);
            now = now.after(RETRY_FIRST).after(RETRY_LONGEST);
            assert_eq!(recovery.arming(now), Arming::Armed);
        }
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
