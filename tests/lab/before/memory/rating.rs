// SPDX-License-Identifier: GPL-2.0-only
//! What a queue is worth: what a rule says, else its own priority as far as it
//! counts.

use crate::settings::config::Config;
use crate::terms::observation::Observation;
use crate::terms::priority::Priority;
use crate::terms::rule::Reservation;
use crate::terms::rule::RuleEffect;
use crate::terms::time::Nanos;

/// What rules and parameters say about a queue in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rating {
    effective: Priority,
    stop_budget: Option<Nanos>,
    contends: bool,
    protected: bool,
    timeslice: Nanos,
    reservation: Option<Reservation>,
}

impl Default for Rating {
    fn default() -> Rating {
        Rating {
            effective: Priority::NORMAL,
            stop_budget: None,
            contends: false,
            protected: false,
            timeslice: Nanos::ZERO,
            reservation: None,
        }
    }
}

impl Rating {
    /// The priority that counts.
    #[inline]
    pub(crate) fn effective(&self) -> Priority {
        self.effective
    }

    /// How much stopped time its process may cause in a second, where a rule decides
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

    #[inline]
    pub(crate) fn reservation(&self) -> Option<Reservation> {
        self.reservation
    }

    /// Takes over what rules and parameters say in this pass.
    #[inline]
    pub(crate) fn update(&mut self, config: &Config<'_>, seen: &Observation) {
        self.protected = seen.protected;
        match seen.rule.and_then(|id| config.rule(id)) {
            Some(rule) => self.follow_rule(config, seen, rule),
            None => {
                self.effective = config.user_priority.effective(seen.kfd);
                self.reservation = None;
                self.contends = !seen.internal;
                self.stop_budget = None;
            }
        }
    }

    /// What a rule says takes precedence.
    fn follow_rule(&mut self, config: &Config<'_>, seen: &Observation, rule: &RuleEffect) {
        let own = config.user_priority.effective(seen.kfd);
        self.effective = rule.priority.unwrap_or(own);
        self.reservation = rule.reservation;
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

    /// A rating for tests, with a reservation.
    #[cfg(test)]
    pub(crate) fn reserved(reservation: Reservation) -> Rating {
        Rating {
            reservation: Some(reservation),
            ..Rating::default()
        }
    }
}
