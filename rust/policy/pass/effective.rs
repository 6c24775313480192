// SPDX-License-Identifier: GPL-2.0-only
//! What a queue is worth: a rule's word, else its own as far as it counts.

use crate::memory::queue::Queue;
use crate::settings::config::Config;
use crate::terms::observation::Observation;
use crate::terms::rule::RuleEffect;

impl Queue {
    /// Takes over what rules and parameters say about the queue in this pass.
    #[inline]
    pub(crate) fn rate(&mut self, config: &Config<'_>, seen: &Observation) {
        self.protected = seen.protected;
        match seen.rule.and_then(|id| config.rule(id)) {
            Some(rule) => self.rate_by_rule(config, seen, rule),
            None => {
                self.effective = config.user_priority.judge(seen.kfd);
                self.reservation = None;
                self.contends = !seen.internal;
                self.granted = false;
            }
        }
    }

    /// A rule's word counts first.
    fn rate_by_rule(&mut self, config: &Config<'_>, seen: &Observation, rule: &RuleEffect) {
        let own = config.user_priority.judge(seen.kfd);
        self.effective = rule.priority.unwrap_or(own);
        self.reservation = rule.reservation;
        self.granted = rule.priority.is_some();
        // The runtime's own queue carries work for the application's queues. It
        // takes part only where a rule gives it a priority.
        self.contends = !rule.exempt && (!seen.internal || rule.priority.is_some());
    }

    /// Takes over the timeslice, which matters only to a queue that is not idle.
    pub(crate) fn rate_turns(&mut self, config: &Config<'_>, seen: &Observation) {
        let rule = seen.rule.and_then(|id| config.rule(id));
        self.timeslice = rule
            .and_then(|rule| rule.timeslice)
            .unwrap_or_else(|| config.timeslice(self.effective));
    }
}
