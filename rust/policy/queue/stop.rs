// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a stop for as long as it lasts.

use crate::terms::decision::Reason;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// How long a queue may not be stopped again once it is seen to run, and for whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Immunity {
    length: Nanos,
    /// Not for a queue of this level or a lower one.
    level: Priority,
}

impl Immunity {
    pub(crate) fn new(length: Nanos, level: Priority) -> Immunity {
        Immunity { length, level }
    }

    /// Until when it lasts if it begins now.
    pub(crate) fn until(&self, now: Nanos) -> Nanos {
        now.after(self.length)
    }

    /// It counts against a queue of this level.
    pub(crate) fn counts_against(&self, level: Priority) -> bool {
        level <= self.level
    }
}

/// For whom a queue is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Beneficiary {
    pub(crate) queue: QueueId,
    pub(crate) process: ProcessId,
    pub(crate) level: Priority,
}

/// What a queue was stopped for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stop {
    /// When it was decided.
    since: Nanos,
    reason: Reason,
    /// For whom it lasts at present.
    beneficiary: Option<Beneficiary>,
    dry: bool,
    /// What its end gives the queue.
    immunity: Immunity,
}

impl Stop {
    /// A stop that is decided now.
    pub(crate) fn new(now: Nanos, reason: Reason, beneficiary: Beneficiary, dry: bool) -> Stop {
        Stop {
            since: now,
            reason,
            beneficiary: Some(beneficiary),
            dry,
            immunity: Immunity::default(),
        }
    }

    /// A stop that was not remembered and is found now.
    pub(crate) fn found(now: Nanos) -> Stop {
        Stop {
            since: now,
            ..Stop::default()
        }
    }

    /// When it was decided.
    #[inline]
    pub(crate) fn since(&self) -> Nanos {
        self.since
    }

    /// Whether it gives another queue of the same level its turn.
    pub(crate) fn is_for_a_turn(&self) -> bool {
        self.reason == Reason::Rotation
    }

    /// For whom it lasts at present.
    pub(crate) fn beneficiary(&self) -> Option<Beneficiary> {
        self.beneficiary
    }

    /// Nothing was touched: `mode=observe`.
    #[inline]
    pub(crate) fn is_dry(&self) -> bool {
        self.dry
    }

    pub(crate) fn immunity(&self) -> Immunity {
        self.immunity
    }

    /// It lasts for this one from now on, or its end is put down to this one.
    pub(crate) fn serve(&mut self, beneficiary: Beneficiary) {
        self.beneficiary = Some(beneficiary);
    }

    /// It ends at its bound, so that the queue is left to run for a while by all up to the
    /// level that it was stopped for.
    pub(crate) fn earn(&mut self, length: Nanos) {
        let level = self.beneficiary.map(|beneficiary| beneficiary.level);
        self.immunity = Immunity::new(length, level.unwrap_or(Priority::HIGHEST));
    }
}
