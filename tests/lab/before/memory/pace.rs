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
