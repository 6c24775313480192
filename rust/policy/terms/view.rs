// SPDX-License-Identifier: GPL-2.0-only
//! What tables read of a queue.

use crate::terms::observation::{ProcessId, QueueId};
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

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
