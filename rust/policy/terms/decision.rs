// SPDX-License-Identifier: GPL-2.0-only
//! What the policy says: decisions with their reasons, and what it hears back.

use crate::terms::observation::{ProcessId, QueueId};
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

words! {
    /// What is to be done with a queue.
    #[derive(Default)]
    pub enum Action {
        /// Save its waves and take it off the hardware.
        Stop "stop",
        /// Offer it to the hardware again.
        #[default]
        Start "start",
    }
}

words! {
    /// Why a queue is stopped or started; the reasons of stops come first.
    #[derive(Default)]
    pub enum Reason {
        /// Stop: a queue of higher priority waits.
        Inversion "inversion",
        /// Stop: a queue of the same priority waits and this one has used up its
        /// timeslice.
        Rotation "rotation",
        /// Start: nothing that may hold the queue has wanted the GPU for a while.
        Calm "calm",
        /// Start: the turn of the queues it was stopped for is over.
        Turn "turn",
        /// Start: it has been stopped as long as any queue may be.
        Bound "bound",
        /// Start: the queues it was stopped for make no progress, as if they waited
        /// for it.
        NoProgress "no-progress",
        /// Start: the process it was stopped for has caused as much stopped time as
        /// it may.
        Budget "budget",
        /// Start: a rule exempts it now, or its process can no longer be a victim.
        Exempt "exempt",
        /// Start: the mode changed.
        Release "release",
        /// Start: the port failed, so everything is started.
        Failure "failure",
        /// Start: it is stopped, and it is not known why.
        #[default]
        Orphan "orphan",
    }
}

/// One queue to stop or to start.
///
/// All decisions of a step belong in one transaction. The default one fills a buffer.
#[must_use = "a decision that is not carried out changes nothing"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decision {
    /// The queue.
    pub queue: QueueId,
    /// What to do with it.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// The queue it is stopped for, or was stopped for.
    pub beneficiary: Option<QueueId>,
    /// How long the condition has lasted: for a stop, how long the beneficiary
    /// has waited; for a start, how long the queue was stopped.
    pub age: Nanos,
    /// Carry it out. Otherwise it is what would be done in `mode=enforce`:
    /// count and trace it, touch nothing.
    pub apply: bool,
}

/// What became of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// It was carried out.
    Done,
    /// Nothing had to or could be done: the queue has gone, is protected, or is
    /// in that state already.
    NothingToDo,
    /// The transaction failed.
    Failed(FailureKind),
}

/// What a failed transaction leaves behind. The port alone knows its errors, and says what
/// each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// It passes by itself and soon, so that nothing is wrong: as if there had
    /// been nothing to do.
    Passing,
    /// The driver makes all queues anew, or there are none any more: nothing
    /// stays stopped, and nothing is to be sent meanwhile.
    Rebuilt,
    /// Nothing but another transaction starts what is stopped.
    Broken,
}

/// What became of the decision about a queue in the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The queue.
    pub queue: QueueId,
    /// What became of the decision.
    pub report: Report,
}

/// Whether a node is preempted at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arming {
    /// Decisions are made.
    #[default]
    Armed,
    /// The port failed: everything is started, and the node is left alone until
    /// this time.
    BackingOff(Nanos),
    /// The GPU resets or hangs: nothing at all is sent until this time.
    Silent(Nanos),
    /// The port failed too often: everything is started, and the node is left
    /// alone until an operator arms it again.
    Disarmed,
}

/// A waiting queue with a running one that it may preempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inversion {
    /// The queue that waits.
    pub waiting: QueueId,
    /// A queue that runs instead, the lowest of them.
    pub running: QueueId,
    /// How long it has waited.
    pub age: Nanos,
}

/// What became of the hints of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HintCounts {
    /// New ones.
    pub seen: usize,
    /// Those for which a queue is stopped, each counted when the first one is.
    pub honoured: usize,
    /// Those whose request did not come in time, or that were found too late.
    pub expired: usize,
    /// Those whose process had no budget left.
    pub over_budget: usize,
    /// New ones that do not count, because too many before them were false.
    pub ignored: usize,
}

/// Counts one more.
pub(crate) fn count(counter: &mut usize) {
    *counter = counter.saturating_add(1);
}

/// The result of one step.
#[must_use = "it says how many decisions there are and when to look again"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// The number of decisions written to the output, starts first.
    pub decisions: usize,
    /// When to look again at the latest. `None`: not before a queue is created
    /// or the configuration changes.
    pub next_look: Option<Nanos>,
    /// When the first of the stops reaches one of its bounds.
    pub bound: Option<Nanos>,
    /// An inversion is suspected or queues are stopped: the next observation
    /// should say how many waves each queue has.
    pub ask_waves: bool,
    /// The worst inversion of this pass, even when a guard forbids ending it.
    pub inversion: Option<Inversion>,
    /// Queues that are stopped by us, or on their way there or back. Zero means
    /// that it is safe to let go of the node.
    pub stopped: usize,
    /// Queues that wait and make no progress.
    pub waiting: usize,
    /// Queues that run.
    pub running: usize,
    /// Queues beyond the storage's capacity. They are exempt.
    pub untracked: usize,
    /// Stopped queues that something other than the policy started.
    pub healed: usize,
    /// The output was too small; the rest follows in the next step.
    pub truncated: bool,
    /// What became of hints.
    pub hints: HintCounts,
    /// Whether the node is preempted.
    pub arming: Arming,
}

words! {
    /// What the policy makes of a queue at present.
    pub enum Verdict {
        /// It has nothing to do.
        Idle "idle",
        /// It runs, or may be running.
        Running "running",
        /// It has work and makes no progress.
        Waiting "waiting",
        /// It is stopped by us, or on its way there.
        Stopped "stopped",
        /// It is to be started and not running yet.
        Starting "starting",
        /// Something other than the policy keeps it from running.
        Held "held",
    }
}

/// One queue, for a table to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueView {
    /// The queue.
    pub queue: QueueId,
    /// Its process.
    pub process: ProcessId,
    /// The priority that counts.
    pub effective: Priority,
    /// It takes part: neither exempt nor the runtime's internal queue.
    pub contends: bool,
    /// What the policy makes of it.
    pub verdict: Verdict,
    /// Since when it has been so.
    pub since: Nanos,
    /// The queue it is stopped for.
    pub beneficiary: Option<QueueId>,
    /// How often it was stopped.
    pub stops: u64,
    /// How long it was stopped in all.
    pub stopped: Nanos,
    /// How long it was seen running in all.
    pub ran: Nanos,
}
