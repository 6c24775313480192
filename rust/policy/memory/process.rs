// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a process.

use crate::memory::budget::Budget;
use crate::memory::table::Record;
use crate::memory::table::Slot;
use crate::terms::decision::Reason;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::time::Nanos;

/// What is remembered of one process, or a free place for one.
pub type ProcessSlot = Slot<Process>;

/// What is remembered of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    pub(crate) id: ProcessId,
    /// The pass in which one of its queues was last seen.
    pub(crate) pass: u32,
    /// The stopped time that it caused.
    pub(crate) budget: Budget,
    /// An operator's rule gives it its priority, so that no budget applies.
    pub(crate) granted: bool,
    /// Something is stopped for it in this pass.
    pub(crate) holds: bool,
    /// In this pass it was found to make no progress although queues are
    /// stopped for it.
    pub(crate) stuck: bool,
    /// Whole processes are stopped: since when this one really has been.
    pub(crate) stopped_since: Option<Nanos>,
    /// Whole processes are stopped: a queue is that had something to do.
    pub(crate) led: bool,
    /// Whole processes are stopped: whom this one stays stopped for.
    pub(crate) held_for: Option<(QueueId, ProcessId)>,
    /// Whole processes are stopped: why this one is started in this pass, and
    /// whom it was stopped for.
    pub(crate) starts: Option<(Reason, Option<QueueId>)>,
    /// Whole processes are stopped: why, and for the queue at which place, this
    /// one would be.
    pub(crate) stops: Option<(Reason, usize)>,
    /// Another process was stopped for it in this pass.
    pub(crate) favoured: bool,
    /// Whole processes are stopped: this one is in this pass.
    pub(crate) stopping: bool,
    /// Whole processes are stopped: one of its busy queues may not be.
    pub(crate) refuses: bool,
    /// Whole processes are stopped: how many of its queues would be.
    pub(crate) active: usize,
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

    /// Forgets what held for the last pass only.
    pub(crate) fn begin_pass(&mut self, elapsed: Nanos) {
        if self.holds {
            self.budget.charge(elapsed);
        } else {
            self.budget.release();
        }
        self.holds = false;
        self.stuck = false;
        self.stopped_since = None;
        self.led = false;
        self.held_for = None;
        self.starts = None;
        self.stops = None;
        self.favoured = false;
        self.stopping = false;
        self.refuses = false;
        self.active = 0;
    }

    /// How much longer queues may be stopped for it.
    pub(crate) fn budget_left(&self, now: Nanos, budget: Nanos) -> Nanos {
        if self.granted {
            Nanos::NEVER
        } else {
            self.budget.left(now, budget)
        }
    }

    /// Something is stopped for it from now to the next pass.
    pub(crate) fn hold(&mut self, now: Nanos) {
        self.holds = true;
        self.budget.hold(now);
    }
}
