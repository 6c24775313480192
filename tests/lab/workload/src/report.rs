// SPDX-License-Identifier: GPL-2.0-only
//! What a run says on its standard output: one JSON object a line.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::counters::Tally;
use crate::latency::Summary;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// All queues exist; work starts now.
    Ready {
        queues: Vec<QueueIdentity>,
    },
    Report(RunReport),
}

/// A queue, by the names that the driver and the module know it by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QueueIdentity {
    pub name: String,
    pub group: String,
    pub pid: u32,
    pub gpu_id: u32,
    pub queue_id: u32,
    pub priority: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// Nothing was lost, repeated or stuck, and every process ended well.
    pub ok: bool,
    pub queues: Vec<QueueReport>,
    /// Processes that ended before they reported, and how.
    pub died: Vec<Death>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Death {
    pub group: String,
    pub reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct QueueReport {
    #[serde(flatten)]
    pub identity: QueueIdentity,
    pub requests: Requests,
    pub dispatches: u64,
    pub workgroups: Tally,
    /// How often the queue was destroyed with its work and made again, and how
    /// many workgroups of work were wasted by that.
    pub resets: u64,
    pub redone: u64,
    /// Arrival to completion, by the GPU's clock.
    pub latency_gpu_ns: Option<Summary>,
    /// Arrival until the program knew of the completion, by the guest's clock.
    pub latency_guest_ns: Option<Summary>,
    /// Start to end of each request's last dispatch, by the GPU's clock.
    pub service_gpu_ns: Option<Summary>,
    /// First arrival to last completion, by the GPU's clock.
    pub span_gpu_ns: u64,
    pub clock: ClockReport,
    /// Why the queue ended early.
    pub failure: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    pub submitted: u64,
    pub completed: u64,
    /// Given up with the queue.
    pub abandoned: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClockReport {
    /// Guest nanoseconds for one GPU nanosecond, as measured.
    pub dilation: Option<f64>,
    /// How far off, in guest time, a guest time's GPU time may be.
    pub uncertainty_guest_ns: u64,
    /// Moments by both clocks, where the run keeps samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
}

/// One request's times, by the GPU's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub arrival_ns: u64,
    /// When the client announced it, where it gave a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_ns: Option<u64>,
    pub submit_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
}

impl Sample {
    /// From arrival to completion.
    pub fn latency(&self) -> u64 {
        self.end_ns.saturating_sub(self.arrival_ns)
    }
}

impl QueueReport {
    pub fn is_clean(&self) -> bool {
        self.failure.is_none() && self.workgroups.lost == 0 && self.workgroups.repeated == 0
    }
}
