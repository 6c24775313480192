// SPDX-License-Identifier: GPL-2.0
//! What a queue is worth: a rule's word, else its own as far as it counts.

use crate::config::Config;
use crate::observation::Observation;
use crate::queue::Queue;

impl Queue {
    /// Takes over what rules and parameters say about the queue in this pass.
    #[inline]
    pub(crate) fn rate(&mut self, config: &Config<'_>, seen: &Observation) {
        self.protected = seen.protected;
        let rule = seen.rule.and_then(|id| config.rule(id));
        self.effective = rule
            .and_then(|rule| rule.priority)
            .unwrap_or_else(|| config.user_priority.judge(seen.kfd));
        self.timeslice = rule
            .and_then(|rule| rule.timeslice)
            .unwrap_or_else(|| config.timeslice(self.effective));
        self.reservation = rule.and_then(|rule| rule.reservation);
        // The runtime's own queue carries work for the application's queues. It
        // takes part only where a rule gives it a priority.
        let ranked = rule.is_some_and(|rule| rule.priority.is_some());
        let exempt = rule.is_some_and(|rule| rule.exempt);
        self.contends = !exempt && (!seen.internal || ranked);
    }
}
