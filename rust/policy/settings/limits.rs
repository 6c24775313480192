// SPDX-License-Identifier: GPL-2.0-only
//! The parameters of one step as durations, with what follows from them, worked out once a
//! step.

use crate::settings::config::Config;
use crate::terms::Nanos;

/// How many times as often one looks while an urgent request may come.
const ALERT: u64 = 5;

/// How many times as seldom one looks while nothing can be inverted.
const IDLE: u64 = 10;

/// How many times as seldom again one looks where nothing has had any work for a while, and
/// no less than once a second for that reason: each look at 24 queues takes some 8 us.
const QUIET: u64 = 10;

/// How many times as much of the time claims may spend where no rule gives a level: nobody
/// is named whom they could disturb.
const WITHOUT_RULES: u64 = 24;

/// The parameters of one step.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Time between two looks: where something may be inverted soon, where it may be at
    /// all, where it cannot be, and where nothing has had any work for a while.
    pub(crate) alert: Nanos,
    pub(crate) poll: Nanos,
    pub(crate) idle: Nanos,
    pub(crate) quiet: Nanos,
    pub(crate) grace: Nanos,
    pub(crate) max_stop: Nanos,
    pub(crate) min_run: Nanos,
    pub(crate) no_progress: Nanos,
    pub(crate) hint: Nanos,
    pub(crate) budget: Nanos,
    /// The shares of the time that transactions may take, in percent.
    pub(crate) rule_overhead: u64,
    pub(crate) claim_overhead: u64,
}

impl Limits {
    /// The time between two looks: where something may be inverted, and where it cannot be.
    pub(crate) fn intervals(config: &Config) -> (Nanos, Nanos) {
        let poll = Nanos::from_micros(config.numbers.poll_interval_us);
        (poll, poll.times(IDLE))
    }

    pub(crate) fn new(config: &Config) -> Limits {
        let numbers = &config.numbers;
        let (poll, idle) = Limits::intervals(config);
        let claims = u64::from(numbers.claim_overhead_percent);
        Limits {
            alert: Nanos(poll.0 / ALERT),
            poll,
            idle,
            quiet: idle.max(idle.times(QUIET).min(Nanos::SECOND)),
            grace: Nanos::from_micros(numbers.grace_us),
            max_stop: Nanos::from_millis(numbers.max_stop_ms),
            min_run: Nanos::from_micros(numbers.min_run_us),
            no_progress: Nanos::from_millis(numbers.noprogress_ms),
            hint: Nanos::from_micros(numbers.hint_limit_us),
            budget: Nanos::from_millis(numbers.stop_budget_ms),
            rule_overhead: u64::from(numbers.rule_overhead_percent),
            claim_overhead: match config.highest_rule {
                Some(_) => claims,
                None => claims.saturating_mul(WITHOUT_RULES).min(100),
            },
        }
    }
}
