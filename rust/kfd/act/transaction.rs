// SPDX-License-Identifier: GPL-2.0-only

//! Queues stopped and started together.

use crate::driver::census::Census;
use crate::driver::gpu::Away;
use crate::driver::gpu::Present;
use crate::driver::node::Node;
use crate::driver::node::SchedPolicy;
use crate::driver::queue::Activity;
use crate::driver::queue::QueueFacts;
use crate::driver::queue::QueueKey;
use crate::kernel::compat::ETIME;
use gpreempt_policy::Action;
use gpreempt_policy::Failed;
use gpreempt_policy::FailureKind;
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

    /// Whether it has stopped a queue.
    fn has_stopped(&self) -> bool {
        self.action == Action::Stop && self.done != Done::Nothing
    }

    /// Whether it comes down to anything in the present state of a queue.
    fn is_due(&self, queue: &QueueFacts) -> bool {
        self.key == queue.key
            && match self.action {
                Action::Stop => queue.activity == Activity::Active && !queue.protected,
                Action::Start => queue.may_be_started(),
            }
    }
}

/// What a transaction is to do.
#[derive(Debug)]
pub enum Orders<'a> {
    /// What each request says, and nothing else.
    Each(&'a mut [Request]),
    /// To start every queue that nothing but a stop of ours keeps from running,
    /// whether anybody remembers it or not.
    StartAll {
        /// How many were started.
        started: u64,
    },
    /// To put back what should run and is off the hardware, because that has
    /// failed before.
    PutBack,
}

impl Orders<'_> {
    /// To start everything.
    pub const START_ALL: Self = Orders::StartAll { started: 0 };

    /// What is to be done to a queue in its present state.
    pub(crate) fn due(&self, queue: &QueueFacts) -> Option<Action> {
        match self {
            Orders::Each(requests) => requests
                .iter()
                .find(|request| request.is_due(queue))
                .map(|request| request.action),
            Orders::StartAll { .. } => queue.may_be_started().then_some(Action::Start),
            Orders::PutBack => None,
        }
    }

    /// What fits together on a node where there is anything to do that can be done
    /// now. Where there is not, it is no failure that nothing could be; only beside a
    /// reset nobody asks, who would have to wait for it.
    pub(crate) fn due_on(&self, node: &Node<'_>) -> Result<Option<Census>, Failure> {
        let ready = node.ready().map_err(Failure::Away);
        if ready == Err(Failure::Away(Away::Reset)) {
            return Err(Failure::Away(Away::Reset));
        }
        let mut any = matches!(self, Orders::PutBack);
        let census = node
            .lock()
            .walk(|_, queue| any |= self.due(queue).is_some());
        if any {
            ready.map(|()| Some(census))
        } else {
            Ok(None)
        }
    }

    /// Notes what was done to a queue, in whose state before that it was due.
    pub(crate) fn note(&mut self, queue: &QueueFacts, done: Done) {
        match self {
            Orders::Each(requests) => {
                let mut requests = requests.iter_mut();
                if let Some(request) = requests.find(|request| request.is_due(queue)) {
                    request.done = done;
                }
            }
            Orders::StartAll { started } => *started = started.saturating_add(1),
            Orders::PutBack => {}
        }
    }

    /// Whether a queue was stopped.
    pub(crate) fn stopped_any(&self) -> bool {
        match self {
            Orders::Each(requests) => requests.iter().any(Request::has_stopped),
            Orders::StartAll { .. } | Orders::PutBack => false,
        }
    }

    /// The request that has stopped a queue, if it is stopped still.
    pub(crate) fn that_stopped(&mut self, queue: &QueueFacts) -> Option<&mut Request> {
        match self {
            Orders::Each(requests) if queue.activity == Activity::Stopped => requests
                .iter_mut()
                .find(|request| request.has_stopped() && request.key == queue.key),
            _ => None,
        }
    }
}

/// How long the parts of a transaction took, if there was anything to do.
pub type Transacted = Result<Option<Timing>, Failure>;

/// How long the parts of a transaction took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The driver's counters do not fit its queues, and nothing was sent.
    Misfit,
    /// The driver's counters did not fit its queues when these were off the hardware,
    /// so that nothing was edited, or did not any more after an edit.
    Inexact,
    /// The edit was made, and putting the queues back failed with this errno.
    Map(u32),
    /// One of the queues could not be taken off or put back by itself, with this
    /// positive errno; others could.
    Single(u32),
    /// A process could not be put back, with this positive errno; others could.
    Restore(u32),
    /// The driver refused with this positive errno because it resets the GPU.
    Reset(u32),
}

impl Failure {
    /// An error of the driver's on a node. `otherwise` makes a failure of its
    /// positive errno where nothing else is known about it.
    ///
    /// The driver says EIO when the reset's semaphore cannot be had at once, and for
    /// a hardware queue while it resets the GPU. A reset says so before it takes the
    /// semaphore; else debugfs holds it, or a fatal error was found that a reset has
    /// yet to answer. Without the hardware scheduler every operation takes one queue
    /// after the other and goes on after an error.
    pub fn of_driver(node: &Node<'_>, error: i32, otherwise: impl FnOnce(u32) -> Self) -> Self {
        let errno = error.unsigned_abs();
        if error == EIO.to_errno() && node.gpu().usable() == Err(Away::Reset) {
            Failure::Reset(errno)
        } else if node.sched_policy() == Some(SchedPolicy::NoHws) {
            Failure::Single(errno)
        } else {
            otherwise(errno)
        }
    }

    /// What it means: the one place where a failure is judged.
    pub fn kind(self) -> FailureKind {
        match self {
            // For debugfs or another partition, and for milliseconds.
            Failure::Away(Away::Halted) => FailureKind::Passing,
            // A reset and a suspend evict every queue, and which of them run
            // afterwards the driver computes from fields that we never write. A device
            // that goes, and KFD that is not set up, have no queues.
            Failure::Away(Away::Reset | Away::NoAccess | Away::NoKfd) | Failure::Reset(_) => {
                FailureKind::Rebuilt
            }
            // The scheduler has not taken the queues off within the driver's time limit,
            // for which the driver has asked for a reset: unmap_queues_cpsch(), which
            // evictions and restores go through too.
            Failure::Unmap(ETIME) | Failure::Restore(ETIME) => FailureKind::Rebuilt,
            // Putting queues back is not waited for, so that no time limit of it can end
            // in a reset; nor does any of a single hardware queue's.
            Failure::Unmap(_) | Failure::Map(_) | Failure::Single(_) | Failure::Restore(_) => {
                FailureKind::Broken
            }
            // Nothing changes that is known.
            Failure::Away(Away::Misfit) | Failure::Misfit | Failure::Inexact => FailureKind::Broken,
        }
    }

    /// What the policy hears.
    pub fn failed(self) -> Failed {
        Failed {
            errno: self.errno(),
            kind: self.kind(),
        }
    }

    /// The positive errno that tables and the log show.
    pub fn errno(self) -> u32 {
        let error = match self {
            Failure::Unmap(errno)
            | Failure::Map(errno)
            | Failure::Single(errno)
            | Failure::Restore(errno)
            | Failure::Reset(errno) => return errno,
            Failure::Away(Away::Reset) => EIO,
            Failure::Away(Away::NoAccess | Away::NoKfd) => ENODEV,
            Failure::Away(Away::Halted) => EBUSY,
            Failure::Away(Away::Misfit) | Failure::Misfit | Failure::Inexact => EINVAL,
        };
        error.to_errno().unsigned_abs()
    }

    /// Words for the log.
    pub fn why(self) -> &'static str {
        match self {
            Failure::Away(Away::Reset) | Failure::Reset(_) => "the GPU is being reset",
            Failure::Away(Away::NoAccess) => "the GPU is suspended or being removed",
            Failure::Away(Away::NoKfd) => "KFD is not set up",
            Failure::Away(Away::Halted) => "the hardware scheduler is halted",
            Failure::Away(Away::Misfit) => "the driver's structures do not fit together",
            Failure::Unmap(_) => "the queues could not be taken off the GPU",
            Failure::Misfit | Failure::Inexact => "the driver's counters do not fit its queues",
            Failure::Map(_) => "the queues could not be put back on the GPU",
            Failure::Single(_) => "a queue could not be taken off the GPU or put back",
            Failure::Restore(_) => "a process could not be put back on the GPU",
        }
    }

    /// Whether it passes by itself and soon, so that it is no failure of anything.
    pub fn is_passing(self) -> bool {
        self.kind() == FailureKind::Passing
    }

    /// Whether anything was sent to the hardware, or at least tried to be.
    pub fn was_sent(self) -> bool {
        !matches!(self, Failure::Away(_) | Failure::Misfit)
    }
}

/// Says in the log what does not fit.
pub fn report_misfit(gpu: &Present<'_>, node: usize, census: &Census, when: &str) {
    for fault in census.faults() {
        pr_err!(
            "{} node {}: {}: {}\n",
            gpu.device().name().to_str().unwrap_or("?"),
            node,
            when,
            fault
        );
    }
}
