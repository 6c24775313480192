// SPDX-License-Identifier: GPL-2.0-only
//! The parameters of one step as durations, worked out once a step.

use crate::settings::choices::Granularity;
use crate::settings::choices::Mode;
use crate::settings::choices::PolicyKind;
use crate::settings::config::Config;
use crate::settings::parameter::Number;
use crate::terms::time::Nanos;

/// The parameters of one step.
pub(crate) struct Limits {
    pub(crate) enforce: bool,
    pub(crate) whole_process: bool,
    pub(crate) same_process: bool,
    /// Reservations count.
    pub(crate) deadlines: bool,
    pub(crate) poll: Nanos,
    pub(crate) idle_poll: Nanos,
    /// How long after its last launch a queue is expected to have more work.
    pub(crate) expect: Nanos,
    pub(crate) grace: Nanos,
    pub(crate) min_run: Nanos,
    pub(crate) resume_delay: Nanos,
    pub(crate) max_stop: Nanos,
    pub(crate) no_progress: Nanos,
    pub(crate) hint: Nanos,
    pub(crate) budget: Nanos,
    pub(crate) cool_down: Nanos,
    pub(crate) cool_down_max: Nanos,
    pub(crate) retry: Nanos,
    pub(crate) retry_max: Nanos,
}

impl Limits {
    pub(crate) fn new(config: &Config<'_>) -> Limits {
        let duration = |number| config.duration(number);
        let whole_process = config.granularity == Granularity::Process;
        Limits {
            enforce: config.mode == Mode::Enforce,
            whole_process,
            // A process that is stopped whole cannot be stopped for itself.
            same_process: config.same_process && !whole_process,
            deadlines: config.policy == PolicyKind::Deadline,
            poll: duration(Number::PollInterval),
            idle_poll: duration(Number::IdlePoll),
            expect: duration(Number::Expect),
            grace: duration(Number::Grace),
            min_run: duration(Number::MinRun),
            resume_delay: duration(Number::ResumeDelay),
            max_stop: duration(Number::MaxStop),
            no_progress: duration(Number::NoProgress),
            hint: duration(Number::HintLimit),
            budget: duration(Number::StopBudget),
            cool_down: duration(Number::CoolDown),
            cool_down_max: duration(Number::CoolDownMax),
            retry: duration(Number::Retry),
            retry_max: duration(Number::RetryMax),
        }
    }
}
