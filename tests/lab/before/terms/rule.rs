// SPDX-License-Identifier: GPL-2.0-only
//! What an operator's rule does to the queues of the processes it matches.
//!
//! Which process a rule matches is found out by the driver side, again whenever the
//! rules, its name or its cgroup change; the policy sees the rule's number only.

use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// The number of a rule. Of several rules that match, the lowest number wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// A share of the GPU promised in each period: `budget` of every `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// The length of a period; the deadline of what begins in it is its end.
    pub period: Nanos,
    /// The GPU time promised in a period, at most the period.
    pub budget: Nanos,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleEffect {
    /// The rule's number.
    pub id: RuleId,
    /// The effective priority, instead of the queue's own.
    pub priority: Option<Priority>,
    /// The timeslice, instead of the level's; zero takes no turns.
    pub timeslice: Option<Nanos>,
    /// The promised share, for `policy=deadline`.
    pub reservation: Option<Reservation>,
    /// How much stopped time each process may cause in a second, instead of the
    /// parameter's, and of none at all for a priority that the rule gives.
    pub stop_budget: Option<Nanos>,
    /// The queues are left alone: never stopped, and nothing is stopped for
    /// them.
    pub exempt: bool,
}

impl RuleEffect {
    /// A rule that changes nothing.
    pub const fn new(id: RuleId) -> RuleEffect {
        RuleEffect {
            id,
            priority: None,
            timeslice: None,
            reservation: None,
            stop_budget: None,
            exempt: false,
        }
    }
}
