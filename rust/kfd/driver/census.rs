// SPDX-License-Identifier: GPL-2.0-only

//! What a walk over a node's queues counts, and the names of what may not fit.

#![forbid(unsafe_code)]

use crate::driver::queue::Activity;
use crate::driver::queue::Misfit;
use crate::driver::queue::QueueFacts;
use crate::driver::queue::QueueKind;

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
    QUEUE_TYPE = 7 "a queue of an unknown type",
    QUEUE_PRIORITY = 8 "a queue priority above 15",
    QUEUE_COUNT = 9 "qpd->queue_count is not the length of its list",
    ACTIVE = 10 "active_queue_count is not the number of active queues",
    ACTIVE_CP = 11 "active_cp_queue_count is not the number of active compute queues",
    PROCESSES = 12 "processes_count is not the number of processes",
    TOTAL = 13 "total_queue_count is not the number of queues",
}

impl Census {
    /// Whether everything fits together.
    pub fn fits(&self) -> bool {
        self.faults == 0
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
            Misfit::Type => Self::QUEUE_TYPE,
            Misfit::Priority => Self::QUEUE_PRIORITY,
        });
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

    pub(crate) fn count(&mut self, queue: &QueueFacts) {
        self.queues = self.queues.saturating_add(1);
        if queue.activity == Activity::Active {
            self.active = self.active.saturating_add(1);
            if queue.kind == QueueKind::Compute {
                self.active_compute = self.active_compute.saturating_add(1);
            }
        }
    }
}
