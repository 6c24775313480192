// SPDX-License-Identifier: GPL-2.0-only
//! How much of each second was spent on something, counted from when it is first spent.

use crate::terms::time::Nanos;

/// What was spent of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// When the present second began.
    second: Nanos,
    spent: Nanos,
}

impl Budget {
    /// Something is spent from now on: a second begins if none has.
    pub(crate) fn open(&mut self, now: Nanos) {
        if now.since(self.second) >= Nanos::SECOND {
            *self = Budget {
                second: now,
                spent: Nanos::ZERO,
            };
        }
    }

    /// Books that so much was spent.
    pub(crate) fn charge(&mut self, spent: Nanos) {
        self.spent = self.spent.after(spent);
    }

    /// What is left of `budget` in the present second; a budget of a second is no limit.
    pub(crate) fn left(&self, now: Nanos, budget: Nanos) -> Nanos {
        if budget >= Nanos::SECOND {
            Nanos::NEVER
        } else if now.since(self.second) >= Nanos::SECOND {
            budget
        } else {
            budget.since(self.spent)
        }
    }

    /// Whether forgetting the account would give anything back.
    pub(crate) fn matters(&self, now: Nanos) -> bool {
        self.spent > Nanos::ZERO && now.since(self.second) < Nanos::SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Nanos = Nanos(500_000_000);
    const START: Nanos = Nanos(5_000_000_000);

    #[test]
    fn what_is_spent_is_gone_until_the_second_is_over() {
        let mut budget = Budget::default();
        assert!(!budget.matters(START));
        assert_eq!(budget.left(START, BUDGET), BUDGET);
        budget.open(START);
        assert!(!budget.matters(START));
        budget.charge(Nanos(499_999_999));
        assert_eq!(budget.left(START.after(BUDGET), BUDGET), Nanos(1));
        budget.charge(Nanos(2));
        let almost = START.after(Nanos(999_999_999));
        budget.open(almost);
        assert_eq!(budget.left(almost, BUDGET), Nanos::ZERO);
        assert!(budget.matters(almost));
        let next = START.after(Nanos::SECOND);
        assert_eq!(budget.left(next, BUDGET), BUDGET);
        assert!(!budget.matters(next));
        budget.open(next);
        budget.charge(Nanos(1));
        assert_eq!(budget.left(next, BUDGET), BUDGET.since(Nanos(1)));
    }

    #[test]
    fn a_whole_second_is_no_limit() {
        let mut budget = Budget::default();
        budget.open(START);
        budget.charge(Nanos(u64::MAX));
        assert_eq!(budget.left(START, Nanos::SECOND), Nanos::NEVER);
        assert_eq!(budget.left(START, Nanos(999_999_999)), Nanos::ZERO);
    }
}
