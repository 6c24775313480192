// SPDX-License-Identifier: GPL-2.0-only
//! Where a queue stands among the others: its side, its rank, and what of it
//! decides whether two queues can get into each other's way at all.

use crate::memory::queue::Queue;
use crate::settings::limits::Limits;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// What two queues must differ in to be rivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side(pub(crate) u64);

impl Side {
    /// A process, or a single queue where a process may rival itself.
    #[inline]
    pub(crate) fn of(queue: &Queue, limits: &Limits) -> Side {
        if limits.same_process {
            Side(queue.id().0)
        } else {
            Side(queue.process().0)
        }
    }
}

/// How much a queue's claim weighs; the greater one comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(pub(crate) u64, pub(crate) u64);

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    side: Side,
    level: Priority,
    /// It takes turns with its equals.
    turns: bool,
    reserved: bool,
}

impl Standing {
    #[inline]
    pub(crate) fn of(queue: &Queue, limits: &Limits) -> Standing {
        Standing {
            side: Side::of(queue, limits),
            level: queue.effective(),
            turns: queue.rating().timeslice() > Nanos::ZERO,
            reserved: queue.rating().reservation().is_some(),
        }
    }

    /// The standing of a queue of the same side at another level that neither
    /// takes turns nor has a reservation.
    pub(crate) fn plain_at(&self, level: Priority) -> Standing {
        Standing {
            level,
            turns: false,
            reserved: false,
            ..*self
        }
    }

    #[inline]
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    #[inline]
    pub(crate) fn level(&self) -> Priority {
        self.level
    }

    pub(crate) fn takes_turns(&self) -> bool {
        self.turns
    }

    /// It has a reservation.
    pub(crate) fn is_reserved(&self) -> bool {
        self.reserved
    }
}
