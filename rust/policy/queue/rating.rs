// SPDX-License-Identifier: GPL-2.0-only
//! What a queue is worth: what a rule says, else its own priority as far as it
//! counts.

use crate::settings::Config;
use crate::terms::{Nanos, Observation, Priority};

/// What rules and parameters say about a queue in this pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rating {
    /// The priority that counts.
    pub(crate) level: Priority,
    /// A rule gives it its level.
    pub(crate) ruled: bool,
    /// How much stopped time its tenant may cause in a second, where a rule decides
    /// that: what the rule says, or as much as it likes if the rule gives the priority
    /// and says no more. Otherwise the program asked for its priority.
    pub(crate) stop_budget: Option<Nanos>,
    /// It takes part.
    pub(crate) contends: bool,
    /// The driver side would refuse to stop it.
    pub(crate) protected: bool,
    /// How long it has a turn; zero takes no turns.
    pub(crate) timeslice: Nanos,
}

impl Rating {
    /// What rules and parameters say in this pass.
    #[inline]
    pub(crate) fn new(config: &Config, seen: &Observation) -> Rating {
        let rule = seen.rule.unwrap_or_default();
        let (given, slice) = (rule.priority, rule.timeslice);
        let (asked, highest) = (seen.kfd, config.highest_rule);
        let claim = config.user_priority.effective(asked, highest);
        let level = given.unwrap_or(claim);
        Rating {
            level,
            ruled: given.is_some(),
            stop_budget: rule.stop_budget.or(given.map(|_| Nanos::NEVER)),
            // The runtime's own queue carries work for the application's queues. It
            // takes part only where a rule gives it a priority.
            contends: !rule.exempt && (!seen.internal || given.is_some()),
            protected: seen.protected,
            timeslice: slice.unwrap_or_else(|| config.timeslice(level)),
        }
    }
}
