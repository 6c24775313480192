// SPDX-License-Identifier: GPL-2.0-only

//! What a run brings.

use crate::gpu::{Nanos, TransactionCost};

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How many of its client came before it: beside whom it runs changes nothing of it.
    pub number: u64,
    /// It came after the warm-up.
    pub measured: bool,
    pub doorbell: Nanos,
    /// Doorbell to completion, or to the end of the run.
    pub latency: Nanos,
    pub done: bool,
    /// How long it takes without anything else.
    pub alone: Nanos,
}

impl Request {
    /// Whether its latency says something: it is done, or should be.
    pub fn counts(&self) -> bool {
        self.measured && (self.done || self.latency > self.alone)
    }
}

#[derive(Clone, Debug, Default)]
pub struct ClientResult {
    pub name: String,
    pub urgent: bool,
    pub ruled: bool,
    pub priority: u8,
    pub completed: u64,
    /// Doorbell to completion.
    pub latencies: Vec<Nanos>,
    /// All of its requests, those behind the others that are not done.
    pub requests: Vec<Request>,
    /// What its workgroups had of the node: so long they would have had all of it.
    pub node_time: Nanos,
    /// GPU time of the completed requests, each as if it were alone.
    pub work: Nanos,
    /// Share of what the client offered that was completed.
    pub served: f64,
}

impl ClientResult {
    /// The latencies that count: of a request that is not done, its age, once that is more
    /// than it takes alone. Whoever serves nobody would have the best latencies otherwise.
    pub fn counted(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.requests
            .iter()
            .filter(|request| request.counts())
            .map(|request| request.latency)
    }
}

/// Means over the urgent requests: what a request loses, and to what.
#[derive(Clone, Copy, Debug, Default)]
pub struct Split {
    pub requests: u64,
    /// Requests during which at least one transaction took place.
    pub disturbed: u64,
    pub transactions: u64,
    /// Doorbell to the command of the first transaction.
    pub detection: Nanos,
    pub cost: TransactionCost,
}

#[derive(Clone, Debug, Default)]
pub struct RunResult {
    pub clients: Vec<ClientResult>,
    pub duration: Nanos,
    pub transactions: u64,
    pub cost: TransactionCost,
    pub stops: u64,
    pub longest_stop: Nanos,
    pub stopped: Nanos,
    pub looks: u64,
    pub look_time: Nanos,
    pub slice_switches: u64,
    pub workgroups_lost: u64,
    pub utilisation: f64,
    /// Urgent requests that were not done when the run ended.
    pub unfinished: u64,
    pub split: Split,
}
