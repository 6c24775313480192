// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduling algorithm decides. Everything else, when a queue waits,
//! the guards, the bounds and the recovery, is common to all of them.

use crate::algorithm::standing::Rank;
use crate::algorithm::standing::Standing;
use crate::memory::queue::Queue;
use crate::memory::stop::Stop;
use crate::terms::decision::Reason;
use crate::terms::rule::Reservation;
use crate::terms::time::Nanos;

/// What an algorithm knows beside the queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) now: Nanos,
    /// The least virtual time of a queue that wants the GPU, at present or when one
    /// last did.
    pub(crate) virtual_floor: Nanos,
    /// `fair`: how far a queue may get ahead.
    pub(crate) fair_slice: Nanos,
}

/// Whether a stopped queue stays stopped for one that wants the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// It does.
    Yes,
    /// It did, but its own turn has come.
    TurnOver,
    /// It has nothing to do with that queue.
    No,
}

/// Which queue may preempt which.
pub(crate) trait Algorithm {
    /// How much the claim of a queue weighs.
    fn rank(&self, queue: &Queue) -> Rank;

    /// Whether, and why, `running` is stopped for `waiting`.
    fn claims(&self, context: &Context, waiting: &Queue, running: &Queue) -> Option<Reason>;

    /// Whether `stopped` stays stopped for `wanting`; `stop` is the stop it is in.
    fn keeps(&self, context: &Context, wanting: &Queue, stopped: &Queue, stop: &Stop) -> Keep;

    /// Whether work for `other` could lead to a stop of `running`.
    fn contests(&self, other: &Standing, running: &Standing) -> bool;

    /// The share that it keeps for the queue. What another algorithm promised does not
    /// bind it.
    fn promises(&self, queue: &Queue) -> Option<Reservation> {
        let _ = queue;
        None
    }

    /// The queue wants the GPU after it did not.
    fn wakes(&self, context: &Context, queue: &mut Queue) {
        let _ = (context, queue);
    }

    /// The queue ran for a while.
    fn charge(&self, context: &Context, queue: &mut Queue, ran: Nanos) {
        let _ = (context, queue, ran);
    }
}
