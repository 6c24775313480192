// SPDX-License-Identifier: GPL-2.0-only

//! What watches the node and acts on it.  A controller is woken, looks (which
//! takes time), decides from what it saw at the start of the look, and acts at
//! its end.

use crate::engine::{Engine, QueueIndex};
use crate::gpu::{Nanos, TransactionCost};
use crate::kernel::PipeClass;

/// What is fixed about a queue.
#[derive(Clone, Debug)]
pub struct QueueInfo {
    pub process: u64,
    pub priority: u8,
    pub urgent: bool,
    /// It has its priority from an operator's rule.
    pub ruled: bool,
    /// Its next request is not submitted before the last one is done.
    pub one_at_a_time: bool,
    pub idempotent: bool,
    /// Period and budget, where the workload has deadlines.
    pub deadline: Option<(Nanos, Nanos)>,
}

/// That a client will submit a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Doorbell {
    pub at: Nanos,
    pub priority: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Transaction {
        /// Time before the command, for a system call.
        lead: Nanos,
        stop: Vec<QueueIndex>,
        start: Vec<QueueIndex>,
    },
    Kill(QueueIndex),
    Revive {
        lead: Nanos,
        queue: QueueIndex,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Time from the sample to the first act.
    pub cost: Nanos,
    pub acts: Vec<Act>,
    pub next: Next,
}

/// When to look again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Next {
    /// Only when told.
    #[default]
    Told,
    /// This long after the last act.
    After(Nanos),
    /// At this time, or after the last act if that is later.
    At(Nanos),
}

pub trait Controller {
    /// The class that the hardware sees for a queue.
    fn class(&self, info: &QueueInfo) -> PipeClass {
        PipeClass::of_priority(info.priority)
    }

    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look;

    /// A transaction of the last look has ended.
    fn transaction_done(&mut self, _now: Nanos, _cost: &TransactionCost) {}

    /// Doorbells of clients with rules that will ring, in their order, for a controller
    /// that may know the future: before a run all that do not depend on it, and each
    /// other one as soon as it is certain.
    fn foretell(&mut self, _doorbells: Vec<Doorbell>) {}

    /// The process of an urgent queue says that it begins to prepare a request.
    fn prepares(&mut self, _queue: QueueIndex) {}

    /// Whether its timers fire when they are due, as no timer of a real system does.
    fn is_punctual(&self) -> bool {
        false
    }

    /// A doorbell rang or a request ended: when to look because of it, for a
    /// controller that sits in the submission path and is told at once.
    fn told(&mut self, _now: Nanos, _queue: QueueIndex) -> Option<Nanos> {
        None
    }
}

/// Nobody watches.  Today's ROCm creates every stream at normal priority, so
/// the hardware sees one class.
pub struct NoPreemption;

impl Controller for NoPreemption {
    fn class(&self, _info: &QueueInfo) -> PipeClass {
        PipeClass::Medium
    }

    fn look(&mut self, _engine: &Engine, _queues: &[QueueInfo]) -> Look {
        Look::default()
    }
}

/// KFD's three pipe classes, and nothing else.
pub struct PipeClasses;

impl Controller for PipeClasses {
    fn look(&mut self, _engine: &Engine, _queues: &[QueueInfo]) -> Look {
        Look::default()
    }
}
