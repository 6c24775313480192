// SPDX-License-Identifier: GPL-2.0-only
//! What is seen of one compute queue in one pass.

use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// The name of a queue, given by the module at first sight and never given
/// again, so that a new queue in an old queue's place is a new queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u64);

/// The name of a process, given by the module and never given again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u64);

/// The name of a tenant: whoever shares one budget and one part of the room. Given by the
/// module; equal names are one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(pub u64);

/// The waves that a queue has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Waves {
    /// They were not asked for, or could not be counted.
    #[default]
    Unknown,
    /// This many. Of a stopped queue those that are saved; one where it is known
    /// only that there are any.
    Known(u32),
}

words! {
    /// The packet at the read pointer.
    #[derive(Default)]
    pub enum Head {
        /// It could not be read, or the queue's format is not known.
        #[default]
        Unknown "unknown",
        /// A packet that wants compute units.
        Runnable "runnable",
        /// A packet that waits for a signal.
        Barrier "barrier",
        /// A slot that is reserved and not written yet.
        Invalid "invalid",
    }
}

/// What the driver side says about a queue: what keeps it from running, if
/// anything does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueueState {
    /// It could not be told in this pass.
    #[default]
    Unknown,
    /// The driver offers it to the hardware.
    Active,
    /// It is inactive because a decision of ours was carried out.
    StoppedByUs,
    /// It is inactive for another reason: evicted, suspended by a debugger,
    /// in reset, being destroyed.
    Held,
}

/// What a rule does; by default it changes nothing. Which process a rule matches is found
/// out by the driver side, again whenever the rules, its name or its cgroup change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleEffect {
    /// The effective priority, instead of the queue's own.
    pub priority: Option<Priority>,
    /// The timeslice, instead of the level's; zero takes no turns.
    pub timeslice: Option<Nanos>,
    /// How much stopped time the process may cause in a second, instead of the
    /// parameter's, and of none at all for a priority that the rule gives.
    pub stop_budget: Option<Nanos>,
    /// The queues are left alone: never stopped, and nothing is stopped for
    /// them.
    pub exempt: bool,
}

/// What is seen of one compute queue in one pass.
///
/// A queue of the node that no observation names has gone; its state is
/// forgotten. The order of the observations does not matter, but naming the
/// queues in the same order in each pass is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observation {
    /// The queue.
    pub queue: QueueId,
    /// The process that owns it.
    pub process: ProcessId,
    /// The tenant that the process belongs to.
    pub tenant: TenantId,
    /// The priority that the process gave it.
    pub kfd: Priority,
    /// What the rule does that matches the process, if one does.
    pub rule: Option<RuleEffect>,
    /// Packets (or ring words) submitted and not yet consumed. `None` when the
    /// pointers could not be read in this pass.
    pub backlog: Option<u32>,
    /// The read pointer, or any number that changes exactly when it moves.
    /// Zero means that nothing was ever consumed.
    pub progress: u64,
    /// The waves on the compute units, or those saved while we have it stopped.
    pub waves: Waves,
    /// How many of the waves that are counted the last launch has when all of it is placed,
    /// where its packet can still be read.
    pub grid: Option<u32>,
    /// The packet at the read pointer.
    pub head: Head,
    /// Whether it runs.
    pub state: QueueState,
    /// The number with which its process says that it prepares a request, if it has
    /// such a page: each change says so.
    pub hint: Option<u32>,
    /// It is the queue that the ROCm runtime keeps for itself beside the
    /// application's queues.
    pub internal: bool,
    /// The driver side would refuse to stop it: debugged, in reset, cooperative
    /// launch, and so on.
    pub protected: bool,
}

impl Observation {
    /// An idle, active queue of the normal priority that has never run.
    pub const fn new(queue: QueueId, process: ProcessId) -> Observation {
        Observation {
            queue,
            process,
            tenant: TenantId(process.0),
            kfd: Priority::NORMAL,
            rule: None,
            backlog: Some(0),
            progress: 0,
            waves: Waves::Unknown,
            grid: None,
            head: Head::Unknown,
            state: QueueState::Active,
            hint: None,
            internal: false,
            protected: false,
        }
    }
}
