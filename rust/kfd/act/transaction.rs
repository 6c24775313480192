// SPDX-License-Identifier: GPL-2.0-only

//! Queues stopped and started together.

use crate::driver::gpu::Away;
use crate::driver::gpu::Present;
use crate::driver::locked::Census;
use crate::driver::node::Node;
use crate::driver::queue::Activity;
use crate::driver::queue::QueueFacts;
use crate::driver::queue::QueueKey;
use gpreempt_policy::Action;
use gpreempt_policy::Nanos;
use gpreempt_policy::ETIME;
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
}

impl Failure {
    /// The positive errno that the policy judges it by.
    pub fn errno(self) -> u32 {
        let error = match self {
            Failure::Unmap(errno)
            | Failure::Map(errno)
            | Failure::Single(errno)
            | Failure::Restore(errno) => return errno,
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
            Failure::Away(Away::Reset) => "the GPU is being reset",
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
        matches!(self, Failure::Away(Away::Halted))
    }

    /// Whether anything was sent to the hardware, or at least tried to be.
    pub fn was_sent(self) -> bool {
        !matches!(self, Failure::Away(_) | Failure::Misfit)
    }

    /// Whether the driver makes all queues anew after it, so that nothing stays
    /// stopped: the GPU is being reset, or will be because it hangs.
    pub fn ends_in_reset(self) -> bool {
        match self {
            Failure::Away(Away::Reset) => true,
            Failure::Unmap(errno) | Failure::Restore(errno) => errno == ETIME,
            _ => false,
        }
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
