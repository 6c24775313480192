// SPDX-License-Identifier: GPL-2.0-only
//! The thrash guard: when the next stop may be.
//!
//! A transaction takes every queue of the node off the hardware, so it costs
//! all of them, the beneficiary included. Three things keep the cost in
//! proportion to the gain:
//!
//! - a floor between a transaction and the next stop, at least `cost_ratio`
//!   times what a transaction was measured to cost;
//! - a ceiling on the stops in a second;
//! - a strain that doubles the floor when a stop gained less than it cost those
//!   that it was not meant to disturb, and halves it again when one was worth
//!   it.
//!
//! Starts are never held back: a stopped queue costs more than a transaction.

use crate::settings::config::Config;
use crate::settings::parameter::Number;
use crate::terms::time::Nanos;

/// How many times the mean a transaction can be measured to take, and what the first one
/// can: a few times what hardware is expected to need.
const OUTLIER: u64 = 4;
const FIRST_MOST: Nanos = Nanos::from_micros(1_000);

/// How many times `cost_ratio` transactions last as long as the longest inversion that is
/// left to pass, and how long that is at least.
const BRIEF: u64 = 2;
const BRIEF_LEAST: Nanos = Nanos::from_micros(1_000);

/// How often the floor is doubled at most.
const STRAIN_MAX: u32 = 4;

/// The guard of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thrash {
    /// The last transaction.
    last: Option<Nanos>,
    /// When the present second began, for the ceiling.
    second: Nanos,
    /// How many stops it has had.
    stops: u32,
    /// What a transaction costs: a running mean of what was measured.
    measured: Option<Nanos>,
    /// How often the floor is doubled.
    strain: u32,
}

impl Thrash {
    pub(crate) const fn new() -> Thrash {
        Thrash {
            last: None,
            second: Nanos::ZERO,
            stops: 0,
            measured: None,
            strain: 0,
        }
    }

    /// A transaction took this long. The mean moves by an eighth, so that one
    /// slow transaction does not change the pace.
    ///
    /// What is measured may hold a wait for others: for the driver's lock, while it deals
    /// with a queue of theirs that does not yield. Nothing counts for more than a few times
    /// what was to be expected.
    pub(crate) fn took(&mut self, took: Nanos) {
        self.measured = Some(match self.measured {
            None => took.min(FIRST_MOST),
            Some(mean) => {
                let took = took.min(mean.times(OUTLIER).max(FIRST_MOST));
                let kept = mean.0.saturating_sub(mean.0 >> 3);
                Nanos(kept.saturating_add(took.0 >> 3))
            }
        });
    }

    /// What a transaction costs.
    pub(crate) fn cost(&self, config: &Config<'_>) -> Nanos {
        self.measured
            .unwrap_or_else(|| config.duration(Number::SwitchCost))
    }

    /// How long an inversion is left to pass by itself, where it does: a few transactions,
    /// for one of them disturbs all that run at that time, and not the waiting one alone.
    /// None at all where costs do not matter.
    pub(crate) fn brief(&self, config: &Config<'_>) -> Nanos {
        match u64::from(config.get(Number::CostRatio)) {
            0 => Nanos::ZERO,
            ratio => {
                let brief = self.cost(config).times(ratio.saturating_mul(BRIEF));
                brief.max(BRIEF_LEAST)
            }
        }
    }

    /// The time from a transaction to the next stop.
    fn floor(&self, config: &Config<'_>) -> Nanos {
        let ratio = u64::from(config.get(Number::CostRatio));
        let floor = config
            .duration(Number::MinInterval)
            .max(self.cost(config).times(ratio));
        floor.doubled(self.strain, Nanos::NEVER)
    }

    /// When the next stop may be; a time that has come means now.
    pub(crate) fn next_stop(&self, now: Nanos, config: &Config<'_>) -> Nanos {
        let floor = match self.last {
            None => Nanos::ZERO,
            Some(last) => last.after(self.floor(config)),
        };
        let second = self.second.after(Nanos::SECOND);
        if now < second && self.stops >= config.get(Number::MaxSwitches) {
            floor.max(second)
        } else {
            floor
        }
    }

    /// A transaction that only starts.
    pub(crate) fn started(&mut self, now: Nanos) {
        self.last = Some(now);
    }

    /// A transaction that stops.
    pub(crate) fn stopped(&mut self, now: Nanos) {
        self.last = Some(now);
        if now.since(self.second) >= Nanos::SECOND {
            self.second = now;
            self.stops = 0;
        }
        self.stops = self.stops.saturating_add(1);
    }

    /// Those that a stop was for are served: it gave them the GPU for `served`
    /// and disturbed `disturbed` queues that were as important.
    ///
    /// The stop and the start cost a transaction each, to the beneficiary and to
    /// each of those.
    pub(crate) fn learn(&mut self, config: &Config<'_>, served: Nanos, disturbed: u32) {
        let queues = u64::from(disturbed).saturating_add(1);
        let cost = self.cost(config).times(2).times(queues);
        self.strain = if served < cost {
            self.strain.saturating_add(1).min(STRAIN_MAX)
        } else {
            self.strain.saturating_sub(1)
        };
    }
}
