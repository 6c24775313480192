// SPDX-License-Identifier: GPL-2.0-only
//! What happens when the port fails: everything is started, the node is left
//! alone for a growing time, and after repeated failures until an operator arms
//! it again. Where the driver makes all queues anew, not even starts are sent.

use crate::settings::config::Config;
use crate::settings::parameter::Number;
use crate::terms::decision::Arming;
use crate::terms::decision::FailureKind;
use crate::terms::decision::Report;
use crate::terms::time::Nanos;

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

impl Fallback {
    /// What a failure means, if it is one of anything.
    pub(crate) fn after(report: Report) -> Option<Fallback> {
        match report {
            Report::Failed(failed) => match failed.kind {
                FailureKind::Passing => None,
                FailureKind::Rebuilt => Some(Fallback::Forget),
                FailureKind::Broken => Some(Fallback::StartAll),
            },
            Report::Done | Report::NothingToDo => None,
        }
    }
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

    /// A transaction failed, which means this for the queues.
    pub(crate) fn failed(&mut self, now: Nanos, config: &Config<'_>, fallback: Fallback) {
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
        match fallback {
            Fallback::Forget => self.silent_until = self.alone_until,
            Fallback::StartAll => {}
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
