// SPDX-License-Identifier: GPL-2.0-only
//! How much stopped time a process may cause.
//!
//! Any process can ask for a priority, so the harm that this can do is bounded:
//! in each second, counted from the first stop, queues may be stopped for a
//! process for as long as the budget and no longer. Several queues stopped at the
//! same time count once.

use crate::terms::time::Nanos;

/// The account of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// When the present second began.
    second: Nanos,
    /// What of it was spent.
    spent: Nanos,
    /// Since when something has been stopped for the process without a break.
    holding: Option<Nanos>,
}

impl Budget {
    /// Something is stopped for the process from now to the next pass.
    pub(crate) fn hold(&mut self, now: Nanos) {
        self.renew(now);
        if self.holding.is_none() {
            self.holding = Some(now);
        }
    }

    /// Nothing is stopped for the process any more.
    pub(crate) fn let_go(&mut self) {
        self.holding = None;
    }

    /// Since when something has been stopped for the process.
    pub(crate) fn holding(&self) -> Option<Nanos> {
        self.holding
    }

    /// Books the time since the last pass.
    pub(crate) fn charge(&mut self, elapsed: Nanos) {
        if self.holding.is_some() {
            self.spent = self.spent.after(elapsed);
        }
    }

    /// What is left of `budget` in the present second; a budget of a second is
    /// no limit.
    pub(crate) fn left(&self, now: Nanos, budget: Nanos) -> Nanos {
        if budget >= Nanos::SECOND {
            Nanos::NEVER
        } else if now.since(self.second) >= Nanos::SECOND {
            budget
        } else {
            budget.since(self.spent)
        }
    }

    /// Whether forgetting the account would give the process anything.
    pub(crate) fn matters(&self, now: Nanos) -> bool {
        self.holding.is_some()
            || (self.spent > Nanos::ZERO && now.since(self.second) < Nanos::SECOND)
    }

    fn renew(&mut self, now: Nanos) {
        if now.since(self.second) >= Nanos::SECOND {
            self.second = now;
            self.spent = Nanos::ZERO;
        }
    }
}
