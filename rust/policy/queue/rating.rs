// SPDX-License-Identifier: GPL-2.0-only
//! What a queue is worth: what a rule says, else its own priority as far as it
//! counts.

use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::{Nanos, Observation, Priority};

/// What rules and parameters say about a queue in this pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rating {
    /// The priority that counts.
    pub(crate) effective: Priority,
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
    pub(crate) fn new(config: &Config<'_>, limits: &Limits, seen: &Observation) -> Rating {
        let rule = seen.rule.and_then(|id| config.rule(id));
        let level = rule.and_then(|rule| rule.priority);
        let claim = config
            .user_priority
            .effective(seen.kfd, limits.highest_rule);
        let effective = level.unwrap_or(claim);
        let slice = rule.and_then(|rule| rule.timeslice);
        let budget = rule.and_then(|rule| rule.stop_budget);
        Rating {
            effective,
            ruled: level.is_some(),
            stop_budget: budget.or(level.map(|_| Nanos::NEVER)),
            // The runtime's own queue carries work for the application's queues. It
            // takes part only where a rule gives it a priority.
            contends: !rule.is_some_and(|rule| rule.exempt) && (!seen.internal || level.is_some()),
            protected: seen.protected,
            timeslice: slice.unwrap_or_else(|| config.timeslice(effective)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::rule::{RuleEffect, RuleId};
    use crate::terms::{ProcessId, QueueId};

    #[test]
    fn what_a_rule_gave_is_gone_with_the_rule() {
        const RULES: &[RuleEffect] = &[RuleEffect {
            priority: Priority::new(9),
            ..RuleEffect::new(RuleId(1))
        }];
        let config = Config::new().with_rules(RULES);
        let mut seen = Observation::new(QueueId(1), ProcessId(1));
        seen.rule = Some(RuleId(1));
        let rate = |seen: &Observation| Rating::new(&config, &Limits::new(&config), seen);
        assert_eq!(rate(&seen).stop_budget, Some(Nanos::NEVER));
        assert!(rate(&seen).ruled);
        seen.rule = None;
        assert!(!rate(&seen).ruled);
        assert!(rate(&seen).stop_budget.is_none());
        assert!(rate(&seen).contends);
    }

    #[test]
    fn a_rules_own_budget_counts_with_its_priority_and_without() {
        const BUDGET: Option<Nanos> = Some(Nanos(1_000_000));
        for priority in [None, Priority::new(9)] {
            let rules = [RuleEffect {
                priority,
                stop_budget: BUDGET,
                ..RuleEffect::new(RuleId(1))
            }];
            let config = Config::new().with_rules(&rules);
            let mut seen = Observation::new(QueueId(1), ProcessId(1));
            seen.rule = Some(RuleId(1));
            let rating = Rating::new(&config, &Limits::new(&config), &seen);
            assert_eq!(rating.stop_budget, BUDGET, "{priority:?}");
            // The rule is gone.
            let rating = Rating::new(&Config::new(), &Limits::new(&Config::new()), &seen);
            assert_eq!(rating.stop_budget, None, "{priority:?}");
        }
    }
}
