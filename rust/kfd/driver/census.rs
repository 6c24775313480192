// SPDX-License-Identifier: GPL-2.0-only

//! What a walk over a node's queues counts, and the names of what may not fit.
//!
//! Where anything does not fit, nothing is stopped. What is stopped may be started all the
//! same: that changes a queue's flag and the driver's counters together, so that these are
//! as wrong afterwards as they were before. See [`Census::may_start`].

#![forbid(unsafe_code)]

use crate::driver::queue::{Misfit, QueueKind};

/// What a walk over a node found, and what did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Processes with queues.
    pub processes: u32,
    /// Queues of all kinds.
    pub queues: u32,
    /// Queues that the driver has run.
    pub active: u32,
    /// Those of them that are for waves.
    pub active_compute: u32,
    /// What did not fit: bits of [`Census::FAULTS`].
    faults: u32,
    /// By how much the driver's counters are above what was counted, as far as they could
    /// be read.
    above: [Option<u32>; 4],
}

/// Names for what may not fit, each a bit.
macro_rules! faults {
    ($($name:ident = $bit:literal $text:literal,)*) => {
        impl Census {
            $(pub(crate) const $name: u32 = 1 << $bit;)*

            /// The names of what may not fit.
            pub const FAULTS: &'static [(u32, &'static str)] = &[$((1 << $bit, $text),)*];
        }
    };
}

faults! {
    UNREADABLE = 0 "memory that cannot be read",
    ENDLESS = 1 "a list that goes round in circles",
    DQM = 2 "qpd->dqm is another queue manager",
    PQM = 3 "qpd->pqm->process is another process",
    PDD_DEV = 4 "pdd->dev is another node",
    QUEUE_DEVICE = 5 "queue->device is another node",
    QUEUE_PROCESS = 6 "queue->process is another process",
    QUEUE_COUNT = 7 "qpd->queue_count is not the length of its list",
    ACTIVE = 8 "active_queue_count is not the number of active queues",
    ACTIVE_CP = 9 "active_cp_queue_count is not the number of active compute queues",
    PROCESSES = 10 "processes_count is not the number of processes",
    TOTAL = 11 "total_queue_count is not the number of queues",
    BELOW = 12 "the driver counts less than there is in its lists",
}

impl Census {
    /// Whether everything fits together.
    pub fn fits(&self) -> bool {
        self.faults == 0
    }

    /// Whether the lists were seen to their ends. There may be more where they were not.
    pub(crate) fn is_whole(&self) -> bool {
        self.faults & (Self::UNREADABLE | Self::ENDLESS) == 0
    }

    /// Whether what is stopped may be started, if nothing else.
    ///
    /// For each run list the driver walks over the same lists, and it makes room by the
    /// same counters. Where a list breaks off or goes round in circles, or more is in the
    /// lists than is counted, it would run into nothing or write beyond that room, and we
    /// may not have it do so.
    pub(crate) fn may_start(&self) -> bool {
        self.is_whole() && self.faults & Self::BELOW == 0
    }

    /// Whether nothing does not fit that has fitted before, and the counters are off by as
    /// much as they were.
    pub(crate) fn is_as_good_as(&self, before: &Self) -> bool {
        self.faults == before.faults && self.above == before.above
    }

    /// The names of what does not fit.
    pub fn faults(&self) -> impl Iterator<Item = &'static str> + '_ {
        Self::FAULTS
            .iter()
            .filter(|(bit, _)| self.faults & bit != 0)
            .map(|(_, name)| *name)
    }

    pub(crate) fn fault(&mut self, bit: u32) {
        self.faults |= bit;
    }

    pub(crate) fn misfit(&mut self, misfit: Misfit) {
        self.fault(match misfit {
            Misfit::Unreadable => Self::UNREADABLE,
            Misfit::Device => Self::QUEUE_DEVICE,
            Misfit::Process => Self::QUEUE_PROCESS,
        });
    }

    /// Compares what was counted with a counter of the driver's, the fault of which is
    /// given.
    pub(crate) fn compare(&mut self, which: usize, counted: u32, driver: Option<u32>, fault: u32) {
        let above = driver.map(|driver| driver.wrapping_sub(counted));
        if above != Some(0) {
            self.fault(fault);
        }
        if driver.is_none_or(|driver| driver < counted) {
            self.fault(Self::BELOW);
        }
        if let Some(before) = self.above.get_mut(which) {
            *before = above;
        }
    }

    /// What is expected when a queue is set running, or the driver is told not to.
    pub(crate) fn expect(&mut self, kind: QueueKind, active: bool) {
        let change = |count: &mut u32| {
            *count = if active {
                count.wrapping_add(1)
            } else {
                count.wrapping_sub(1)
            };
        };
        change(&mut self.active);
        if kind == QueueKind::Compute {
            change(&mut self.active_compute);
        }
    }

    /// Counts a queue as the driver does, whether it fits or not.
    pub(crate) fn count(&mut self, kind: QueueKind, active: bool) {
        self.queues = self.queues.saturating_add(1);
        if active {
            self.active = self.active.saturating_add(1);
            if kind == QueueKind::Compute {
                self.active_compute = self.active_compute.saturating_add(1);
            }
        }
    }
}
