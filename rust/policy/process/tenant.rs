// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a tenant: how much stopped time the priorities that its programs
//! claim have caused.
//!
//! Any process can claim a priority, so the harm that this can do is bounded, and one
//! tenant wins nothing by more processes. Several queues stopped at the same time count
//! once.

use crate::parts::budget::Budget;
use crate::parts::table::Record;
use crate::parts::table::Slot;
use crate::terms::observation::TenantId;
use crate::terms::time::Nanos;

/// What is remembered of one tenant, or a free place for one.
pub type TenantSlot = Slot<Tenant>;

/// What is remembered of one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tenant {
    id: TenantId,
    /// The pass in which one of its queues was last seen.
    pass: u32,
    /// Something has been stopped for it since the last pass.
    holds: bool,
    budget: Budget,
}

impl Record for Tenant {
    fn key(&self) -> u64 {
        self.id.0
    }
}

impl Tenant {
    /// A tenant that was never seen before.
    pub(crate) fn new(id: TenantId) -> Tenant {
        Tenant {
            id,
            ..Tenant::default()
        }
    }

    /// Books the time since the last pass.
    pub(crate) fn begin_pass(&mut self, elapsed: Nanos) {
        if core::mem::take(&mut self.holds) {
            self.budget.charge(elapsed);
        }
    }

    /// One of its queues is seen in this pass.
    pub(crate) fn meet(&mut self, pass: u32) {
        self.pass = pass;
    }

    /// One of its queues was seen in this pass.
    pub(crate) fn was_seen_in(&self, pass: u32) -> bool {
        self.pass == pass
    }

    /// Forgetting it would give it time that it has spent.
    pub(crate) fn matters(&self, now: Nanos) -> bool {
        self.budget.matters(now)
    }

    /// How much longer queues may be stopped for it, of this much in a second.
    pub(crate) fn left(&self, now: Nanos, budget: Nanos) -> Nanos {
        self.budget.left(now, budget)
    }

    /// Something is stopped for it from now to the next pass.
    pub(crate) fn hold(&mut self, now: Nanos) {
        self.holds = true;
        self.budget.open(now);
    }
}
