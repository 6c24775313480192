// SPDX-License-Identifier: GPL-2.0-only
//! What a run of a load gave: latencies, throughput, and what became of the work.

use std::collections::{BTreeMap, BTreeSet};

use gpu_workload::latency::{summary, Summary};
use gpu_workload::report::{QueueReport, RunReport, Sample};
use serde::{Deserialize, Serialize};

use crate::split::Split;

/// What one run gave. Times are GPU nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// Arrival to completion of every urgent request, by client.
    pub latencies: BTreeMap<String, Vec<u64>>,
    /// Requests a second of each client.
    pub rates: BTreeMap<String, f64>,
    pub lost: u64,
    pub repeated: u64,
    /// Workgroups that were done in vain, of all that were done.
    pub redone: u64,
    pub executed: u64,
    /// Packets that took queues off the GPU, and all packets.
    pub transactions: u64,
    pub packets: u64,
    /// Processor time of the scheduler for each second of the guest.
    pub processor: Option<f64>,
    pub preemptions: Vec<Split>,
    /// For how long urgent requests arrived.
    pub duration_ns: u64,
}

impl Measurement {
    /// Those of all urgent clients.
    pub fn all_latencies(&self) -> Vec<u64> {
        self.latencies.values().flatten().copied().collect()
    }

    /// Of all urgent requests together.
    pub fn latency(&self) -> Option<Summary> {
        summary(&self.all_latencies())
    }

    /// Requests a second, of all clients.
    pub fn throughput(&self) -> f64 {
        self.rates.values().sum()
    }
}

/// What the load itself says.
pub fn account(report: &RunReport, clients: &BTreeSet<String>) -> Measurement {
    let mut measurement = Measurement::default();
    for queue in &report.queues {
        let name = queue.identity.name.clone();
        if clients.contains(&name) {
            let times = queue.samples.iter().map(Sample::latency);
            measurement.latencies.insert(name.clone(), times.collect());
        }
        measurement.rates.insert(name, rate(queue));
        measurement.lost += queue.workgroups.lost;
        measurement.repeated += queue.workgroups.repeated;
        measurement.redone += queue.redone;
        measurement.executed += queue.workgroups.executed;
    }
    measurement
}

/// Requests that a queue finished in a second of GPU time.
pub fn rate(queue: &QueueReport) -> f64 {
    queue.requests.completed as f64 * 1e9 / queue.span_gpu_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    #[test]
    fn the_load_s_own_account_is_read() {
        let queue = |name: &str, priority: u32, samples: Value| {
            json!({
                "name": name, "group": name, "pid": 1, "gpu_id": 1, "queue_id": 0,
                "priority": priority,
                "requests": {"submitted": 4, "completed": 4, "abandoned": 0},
                "dispatches": 4, "workgroups": {"executed": 40, "lost": 1, "repeated": 2},
                "resets": 0, "redone": 3, "latency_gpu_ns": null, "latency_guest_ns": null,
                "service_gpu_ns": null, "span_gpu_ns": 2_000_000_000_u64,
                "clock": {"dilation": null, "uncertainty_guest_ns": 0}, "failure": null,
                "samples": samples,
            })
        };
        let sample = |arrival: u64, end: u64| json!({"arrival_ns": arrival, "submit_ns": arrival, "start_ns": arrival, "end_ns": end});
        let urgent = queue("u", 11, json!([sample(10, 30), sample(50, 90)]));
        let other = queue("o", 10, json!([sample(0, 100)]));
        let report: RunReport =
            serde_json::from_value(json!({"ok": true, "queues": [urgent, other], "died": []}))
                .unwrap();
        let measurement = account(&report, &["u".to_owned()].into());
        assert_eq!(measurement.latencies["u"], [20, 40]);
        assert_eq!(measurement.latencies.len(), 1);
        assert_eq!(measurement.rates["o"], 2.0);
        assert_eq!(measurement.throughput(), 4.0);
        let sums = (
            measurement.lost,
            measurement.repeated,
            measurement.redone,
            measurement.executed,
        );
        assert_eq!(sums, (2, 4, 6, 80));
        assert_eq!(measurement.latency().unwrap().max, 40);
    }
}
