// SPDX-License-Identifier: GPL-2.0-only
//! What an operator's rule does to the queues of the processes it matches.
//!
//! Which process a rule matches is found out by the driver side, again whenever the
//! rules, its name or its cgroup change.

use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// What a rule does; by default it changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleEffect {
    /// The effective priority, instead of the queue's own.
    pub priority: Option<Priority>,
    /// The timeslice, instead of the level's; zero takes no turns.
    pub timeslice: Option<Nanos>,
    /// How much stopped time the process may cause in a second, instead of the
    /// parameter's, and of none at all for a priority that the rule gives.
    pub stop_budget: Option<Nanos>,
    /// The queues are left alone: never stopped, and nothing is stopped for
    /// them.
    pub exempt: bool,
}
