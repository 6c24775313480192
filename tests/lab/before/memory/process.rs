// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a process.

use crate::memory::budget::Budget;
use crate::memory::hint::Hint;
use crate::memory::plan::ProcessPlan;
use crate::memory::table::Record;
use crate::memory::table::Slot;
use crate::terms::observation::ProcessId;
use crate::terms::time::Nanos;

/// What is remembered of one process, or a free place for one.
pub type ProcessSlot = Slot<Process>;

/// What is remembered of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    id: ProcessId,
    /// The pass in which one of its queues was last seen.
    pass: u32,
    /// How much stopped time it may cause in a second, where a rule decides that.
    stop_budget: Option<Nanos>,
    /// Something has been stopped for it since the last pass.
    holds: bool,
    /// The stopped time that it caused.
    budget: Budget,
    hint: Hint,
    plan: ProcessPlan,
}

impl Record for Process {
    fn key(&self) -> u64 {
        self.id.0
    }
}

impl Process {
    /// A process that was never seen before.
    pub(crate) fn new(id: ProcessId) -> Process {
        Process {
            id,
            ..Process::default()
        }
    }

    pub(crate) fn plan(&self) -> &ProcessPlan {
        &self.plan
    }

    pub(crate) fn plan_mut(&mut self) -> &mut ProcessPlan {
        &mut self.plan
    }

    /// What it says of itself.
    pub(crate) fn hint(&self) -> &Hint {
        &self.hint
    }

    pub(crate) fn hint_mut(&mut self) -> &mut Hint {
        &mut self.hint
    }

    /// Books the time since the last pass, and plans anew.
    pub(crate) fn begin_pass(&mut self, elapsed: Nanos) {
        if self.holds {
            self.budget.charge(elapsed);
        } else {
            self.budget.let_go();
        }
        self.holds = false;
        self.plan = ProcessPlan::default();
    }

    /// One of its queues was seen in this pass.
    pub(crate) fn was_seen_in(&self, pass: u32) -> bool {
        self.pass == pass
    }

    /// One of its queues is seen; a rule decides how much stopped time it may cause or
    /// none does.
    pub(crate) fn meet(&mut self, pass: u32, stop_budget: Option<Nanos>) {
        self.pass = pass;
        self.stop_budget = stop_budget;
    }

    /// Forgetting it would give it time that it has spent, or, if those count, hints
    /// that it has lost.
    pub(crate) fn matters(&self, now: Nanos, hints: bool) -> bool {
        self.budget.matters(now) || (hints && self.hint.matters(now))
    }

    /// How much longer queues may be stopped for it. `budget` is that of a process for
    /// which no rule decides it.
    pub(crate) fn budget_left(&self, now: Nanos, budget: Nanos) -> Nanos {
        self.budget.left(now, self.stop_budget.unwrap_or(budget))
    }

    /// Since when something has been stopped for it without a break.
    pub(crate) fn holding(&self) -> Option<Nanos> {
        self.budget.holding()
    }

    /// Something is stopped for it from now to the next pass.
    pub(crate) fn hold(&mut self, now: Nanos) {
        self.holds = true;
        self.budget.hold(now);
    }
}
