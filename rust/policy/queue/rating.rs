// SPDX-License-Identifier: GPL-2.0-only
//! What a queue is worth: what a rule says, else its own priority as far as it
//! counts.

use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::observation::Observation;
use crate::terms::priority::Priority;
use crate::terms::rule::RuleEffect;
use crate::terms::time::Nanos;

/// What rules and parameters say about a queue in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rating {
    effective: Priority,
    ruled: bool,
    stop_budget: Option<Nanos>,
    contends: bool,
    protected: bool,
    timeslice: Nanos,
}

impl Default for Rating {
    fn default() -> Rating {
        Rating {
            effective: Priority::NORMAL,
            ruled: false,
            stop_budget: None,
            contends: false,
            protected: false,
            timeslice: Nanos::ZERO,
        }
    }
}

impl Rating {
    /// The priority that counts.
    #[inline]
    pub(crate) fn effective(&self) -> Priority {
        self.effective
    }

    /// A rule gives it its level.
    #[inline]
    pub(crate) fn is_ruled(&self) -> bool {
        self.ruled
    }

    /// How much stopped time its tenant may cause in a second, where a rule decides
    /// that: what the rule says, or as much as it likes if the rule gives the priority
    /// and says no more. Otherwise the program asked for its priority.
    #[inline]
    pub(crate) fn stop_budget(&self) -> Option<Nanos> {
        self.stop_budget
    }

    /// It takes part.
    #[inline]
    pub(crate) fn contends(&self) -> bool {
        self.contends
    }

    /// The driver side would refuse to stop it.
    #[inline]
    pub(crate) fn is_protected(&self) -> bool {
        self.protected
    }

    #[inline]
    pub(crate) fn timeslice(&self) -> Nanos {
        self.timeslice
    }

    /// Takes over what rules and parameters say in this pass.
    #[inline]
    pub(crate) fn update(&mut self, config: &Config<'_>, limits: &Limits, seen: &Observation) {
        self.protected = seen.protected;
        match seen.rule.and_then(|id| config.rule(id)) {
            Some(rule) => self.follow_rule(config, limits, seen, rule),
            None => {
                let claims = config.user_priority;
                self.effective = claims.effective(seen.kfd, limits.highest_rule);
                self.ruled = false;
                self.contends = !seen.internal;
                self.stop_budget = None;
            }
        }
    }

    /// What a rule says takes precedence.
    fn follow_rule(
        &mut self,
        config: &Config<'_>,
        limits: &Limits,
        seen: &Observation,
        rule: &RuleEffect,
    ) {
        let own = config
            .user_priority
            .effective(seen.kfd, limits.highest_rule);
        self.effective = rule.priority.unwrap_or(own);
        self.ruled = rule.priority.is_some();
        let unlimited = rule.priority.map(|_| Nanos::NEVER);
        self.stop_budget = rule.stop_budget.or(unlimited);
        // The runtime's own queue carries work for the application's queues. It
        // takes part only where a rule gives it a priority.
        self.contends = !rule.exempt && (!seen.internal || rule.priority.is_some());
    }

    /// Takes over the timeslice, which matters only to a queue that is not idle.
    pub(crate) fn update_timeslice(&mut self, config: &Config<'_>, seen: &Observation) {
        let rule = seen.rule.and_then(|id| config.rule(id));
        self.timeslice = rule
            .and_then(|rule| rule.timeslice)
            .unwrap_or_else(|| config.timeslice(self.effective));
    }

    /// It takes no part: there is no account for its process.
    pub(crate) fn exclude(&mut self) {
        self.contends = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::observation::ProcessId;
    use crate::terms::observation::QueueId;
    use crate::terms::rule::RuleId;

    #[test]
    fn what_a_rule_gave_is_gone_with_the_rule() {
        const RULES: &[RuleEffect] = &[RuleEffect {
            priority: Priority::new(9),
            ..RuleEffect::new(RuleId(1))
        }];
        let config = Config::new().with_rules(RULES);
        let mut seen = Observation::new(QueueId(1), ProcessId(1));
        seen.rule = Some(RuleId(1));
        let mut rating = Rating::default();
        rating.update(&config, &Limits::new(&config), &seen);
        assert_eq!(rating.stop_budget(), Some(Nanos::NEVER));
        seen.rule = None;
        rating.update(&config, &Limits::new(&config), &seen);
        assert!(rating.stop_budget().is_none());
        assert!(rating.contends());
        rating.exclude();
        assert!(!rating.contends());
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
            let mut rating = Rating::default();
            rating.update(&config, &Limits::new(&config), &seen);
            assert_eq!(rating.stop_budget(), BUDGET, "{priority:?}");
            // The rule is gone.
            rating.update(&Config::new(), &Limits::new(&Config::new()), &seen);
            assert_eq!(rating.stop_budget(), None, "{priority:?}");
        }
    }
}
