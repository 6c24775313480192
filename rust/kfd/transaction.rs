// SPDX-License-Identifier: GPL-2.0

//! Queues stopped and started together.

use crate::gpu::Away;
use crate::locked::Census;
use crate::node::Node;
use crate::queue::Activity;
use crate::queue::QueueFacts;
use crate::queue::QueueKey;
use gpreempt_policy::Action;
use gpreempt_policy::Nanos;
use kernel::prelude::*;

/// One queue to stop or to start, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The queue.
    pub key: QueueKey,
    /// What to do.
    pub action: Action,
    /// What became of it.
    pub done: Done,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing: the queue has gone, is protected, or is in that state already.
    Nothing,
    /// It was carried out.
    Yes,
    /// It was stopped, and had neither waves nor work left to save.
    StoppedIdle,
}

impl Request {
    /// A request that nothing has become of yet.
    pub fn new(key: QueueKey, action: Action) -> Self {
        Self {
            key,
            action,
            done: Done::Nothing,
        }
    }
}

/// How long the parts of a transaction took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Waiting for the lock, and taking the queues off the hardware.
    pub unmap: Nanos,
    /// Changing what runs.
    pub edit: Nanos,
    /// Putting the queues back.
    pub map: Nanos,
}

impl Timing {
    /// The whole.
    pub fn total(&self) -> Nanos {
        self.unmap.after(self.edit).after(self.map)
    }
}

/// Why a transaction failed. Nothing was changed unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The GPU cannot be used now.
    Away(Away),
    /// The driver refused to take the queues off, with this positive errno. The
    /// lock was not taken.
    Unmap(u32),
    /// The driver's counters do not fit its queues; nothing was edited.
    Inexact,
    /// The edit was made, and putting the queues back failed with this errno.
    Map(u32),
}

impl Failure {
    /// The positive errno that the policy judges it by.
    pub fn errno(self) -> u32 {
        let error = match self {
            Failure::Unmap(errno) | Failure::Map(errno) => return errno,
            Failure::Away(Away::Reset) => EIO,
            Failure::Away(Away::NoAccess | Away::NoKfd) => ENODEV,
            Failure::Away(Away::Busy) => EBUSY,
            Failure::Away(Away::Misfit) | Failure::Inexact => EINVAL,
        };
        error.to_errno().unsigned_abs()
    }

    /// Words for the log.
    pub fn why(self) -> &'static str {
        match self {
            Failure::Away(Away::Reset) => "the GPU is being reset",
            Failure::Away(Away::NoAccess) => "the GPU is suspended or being removed",
            Failure::Away(Away::NoKfd) => "KFD is not set up",
            Failure::Away(Away::Busy) => "the partitions are in use",
            Failure::Away(Away::Misfit) => "the driver's structures do not fit together",
            Failure::Unmap(_) => "the queues could not be taken off the GPU",
            Failure::Inexact => "the driver's counters do not fit its queues",
            Failure::Map(_) => "the queues could not be put back on the GPU",
        }
    }
}

/// Says in the log what does not fit.
pub(crate) fn report_misfit(node: &Node<'_>, census: &Census, when: &str) {
    for fault in census.faults() {
        pr_err!(
            "{} node {}: {} an edit {}\n",
            node.gpu().device().name().to_str().unwrap_or("?"),
            node.index(),
            when,
            fault
        );
    }
}

/// What a request comes down to in the present state of its queue.
pub(crate) fn due(queue: &QueueFacts, action: Action) -> bool {
    match action {
        Action::Stop => queue.activity == Activity::Active && !queue.protected,
        Action::Start => queue.may_be_started(),
    }
}
