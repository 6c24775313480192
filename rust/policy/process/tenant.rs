// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a tenant: how much stopped time the priorities that its programs
//! claim have caused.
//!
//! Any process can claim a priority, so the harm that this can do is bounded, and one
//! tenant wins nothing by more processes. Several queues stopped at the same time count
//! once. A second of the account begins when something is first stopped for it.

use crate::parts::table::Slot;
use crate::terms::Nanos;

/// What is remembered of one tenant, or a free place for one.
pub type TenantSlot = Slot<Tenant>;

/// What is remembered of one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The pass in which one of its queues was last seen.
    pub(crate) pass: u32,
    /// Something has been stopped for it since the last pass.
    holds: bool,
    /// When the present second of its account began, and what it has spent in it.
    second: Nanos,
    spent: Nanos,
}

impl Tenant {
    /// Books the time since the last pass.
    pub(crate) fn begin_pass(&mut self, elapsed: Nanos) {
        if core::mem::take(&mut self.holds) {
            self.spent = self.spent.after(elapsed);
        }
    }

    /// The present second of its account is over.
    fn is_over(&self, now: Nanos) -> bool {
        now.since(self.second) >= Nanos::SECOND
    }

    /// Forgetting it would give it time that it has spent.
    pub(crate) fn matters(&self, now: Nanos) -> bool {
        self.spent > Nanos::ZERO && !self.is_over(now)
    }

    /// How much longer queues may be stopped for it, of this much in a second; a whole
    /// second is no limit.
    pub(crate) fn left(&self, now: Nanos, budget: Nanos) -> Nanos {
        match budget >= Nanos::SECOND {
            true => Nanos::NEVER,
            false if self.is_over(now) => budget,
            false => budget.since(self.spent),
        }
    }

    /// Something is stopped for it from now to the next pass.
    pub(crate) fn hold(&mut self, now: Nanos) {
        self.holds = true;
        if self.is_over(now) {
            (self.second, self.spent) = (now, Nanos::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Nanos = Nanos(500_000_000);
    const START: Nanos = Nanos(5_000_000_000);

    #[test]
    fn what_is_spent_is_gone_until_the_second_is_over() {
        let mut tenant = Tenant::default();
        tenant.begin_pass(BUDGET);
        assert_eq!(tenant.left(START, BUDGET), BUDGET);
        tenant.hold(START);
        assert!(!tenant.matters(START));
        tenant.begin_pass(Nanos(499_999_999));
        assert_eq!(tenant.left(START.after(BUDGET), BUDGET), Nanos(1));
        tenant.hold(START.after(BUDGET));
        tenant.begin_pass(Nanos(2));
        let almost = START.after(Nanos(999_999_999));
        assert_eq!(tenant.left(almost, BUDGET), Nanos::ZERO);
        assert!(tenant.matters(almost));
        let next = START.after(Nanos::SECOND);
        assert_eq!(tenant.left(next, BUDGET), BUDGET);
        assert!(!tenant.matters(next));
        tenant.hold(next);
        tenant.begin_pass(Nanos(1));
        assert_eq!(tenant.left(next, BUDGET), BUDGET.since(Nanos(1)));
    }
}
