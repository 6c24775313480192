// SPDX-License-Identifier: GPL-2.0-only

//! What the parts of docs/simulation have in common: the nodes, how policies are compared,
//! and the points of the micro-benchmarks.

use crate::gpu::Gpu;
use crate::policies::{measure, Effort, Policy};
use crate::report::Comparison;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// The nodes of the documented tables: a whole GPU and one of its partitions.
pub fn nodes() -> [Gpu; 2] {
    [Gpu::mi300x_spx(), Gpu::mi300x_cpx()]
}

/// Compares the policies on one workload, for as long as its p99 needs.
pub fn compare(gpu: &Gpu, workload: &Workload, policies: &[Policy], effort: Effort) -> Comparison {
    let effort = effort.enough_for(workload);
    Comparison {
        alone: measure(gpu, workload, &Policy::Alone, effort),
        none: measure(gpu, workload, &Policy::None, effort),
        others: policies
            .iter()
            .map(|policy| measure(gpu, workload, policy, effort))
            .collect(),
    }
}

/// The policies of the micro-benchmarks.
pub const MICRO_POLICIES: [&str; 7] = [
    "none",
    "classes",
    "user-1ms",
    "reset",
    "strict",
    "reactive",
    "clairvoyant",
];

/// What one policy did to one workload of a micro-benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MicroPoint {
    pub policy: String,
    /// What the micro-benchmark varies.
    pub value: f64,
    pub p99_over_alone: f64,
    pub throughput: f64,
}
