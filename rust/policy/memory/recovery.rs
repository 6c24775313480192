// SPDX-License-Identifier: GPL-2.0-only
//! What happens when the port fails: everything is started, the node is left
//! alone for a growing time, and after repeated failures until an operator arms
//! it again. While the GPU resets or hangs not even starts are sent.

use crate::settings::config::Config;
use crate::settings::parameter::Number;
use crate::terms::decision::Arming;
use crate::terms::time::Nanos;

/// The driver refused because the GPU is being reset.
const EIO: u32 = 5;
/// The hardware scheduler did not answer in time, for which the driver resets
/// the GPU.
pub const ETIME: u32 = 62;
/// The device has gone.
const ENODEV: u32 = 19;

/// Whether a node is preempted, and since when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Recovery {
    /// Failed transactions in a row.
    failures: u32,
    /// No stops before this time.
    alone_until: Nanos,
    /// Nothing at all before this time.
    silent_until: Nanos,
    disarmed: bool,
}

/// What a failed transaction means for the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fallback {
    /// Start everything.
    StartAll,
    /// Forget what is stopped: the driver rebuilds the queues itself.
    Forget,
}

impl Recovery {
    pub(crate) const fn new() -> Recovery {
        Recovery {
            failures: 0,
            alone_until: Nanos::ZERO,
            silent_until: Nanos::ZERO,
            disarmed: false,
        }
    }

    /// A transaction failed with this errno.
    pub(crate) fn failed(&mut self, now: Nanos, config: &Config<'_>, errno: u32) -> Fallback {
        let longest = config.duration(Number::RetryMax);
        // Failures are in a row when the node was not well for the longest time
        // in between.
        if now >= self.alone_until.after(longest) {
            self.failures = 0;
        }
        let pause = config
            .duration(Number::Retry)
            .doubled(self.failures, longest);
        self.failures = self.failures.saturating_add(1);
        self.alone_until = now.after(pause);
        if self.failures >= config.get(Number::DisarmAfter) {
            self.disarmed = true;
        }
        if matches!(errno, EIO | ETIME | ENODEV) {
            self.silent_until = self.alone_until;
            Fallback::Forget
        } else {
            Fallback::StartAll
        }
    }

    /// Forgets the failures. A silence goes on: it is for the GPU's sake.
    pub(crate) fn rearm(&mut self) {
        self.failures = 0;
        self.alone_until = Nanos::ZERO;
        self.disarmed = false;
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

    const EINVAL: u32 = 22;

    #[test]
    fn failures_in_a_row_back_off_and_disarm() {
        let config = Config::new();
        let mut recovery = Recovery::new();
        let retry = config.duration(Number::Retry);
        let mut now = Nanos(1);
        for times in 0..4 {
            assert_eq!(recovery.arming(now), Arming::Armed);
            assert_eq!(recovery.failed(now, &config, EINVAL), Fallback::StartAll);
            let end = now.after(retry.times(1 << times));
            assert_eq!(recovery.arming(now), Arming::BackingOff(end));
            now = end;
        }
        recovery.failed(now, &config, EINVAL);
        assert_eq!(recovery.arming(Nanos::NEVER), Arming::Disarmed);
        recovery.rearm();
        assert_eq!(recovery.arming(now), Arming::Armed);
    }

    #[test]
    fn failures_far_apart_are_not_in_a_row() {
        let config = Config::new();
        let mut recovery = Recovery::new();
        let mut now = Nanos(1);
        for _ in 0..100 {
            recovery.failed(now, &config, EINVAL);
            now = now
                .after(config.duration(Number::Retry))
                .after(config.duration(Number::RetryMax));
            assert_eq!(recovery.arming(now), Arming::Armed);
        }
    }

    #[test]
    fn a_reset_is_met_with_silence() {
        for errno in [EIO, ETIME, ENODEV] {
            let config = Config::new();
            let mut recovery = Recovery::new();
            assert_eq!(recovery.failed(Nanos(1), &config, errno), Fallback::Forget);
            let end = Nanos(1).after(config.duration(Number::Retry));
            recovery.rearm();
            assert_eq!(recovery.arming(Nanos(2)), Arming::Silent(end));
            assert_eq!(recovery.arming(end), Arming::Armed);
        }
    }
}
