// SPDX-License-Identifier: GPL-2.0-only
//! What a run of a load gave: latencies, throughput, and what became of the work.

use std::collections::{BTreeMap, BTreeSet};

use gpu_workload::latency::{summary, Summary};
use gpu_workload::report::{QueueReport, RunReport, Sample};
use serde::{Deserialize, Serialize};

use crate::doorbells::Doorbells;
use crate::split::Split;

/// What one run gave. Times are GPU nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// Arrival to completion of every urgent request, by client.
    pub latencies: BTreeMap<String, Vec<u64>>,
    /// For how long the client slept on before it rang for each of them: the processor's
    /// part of the latency. Results from before this was kept have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub late: BTreeMap<String, Vec<u64>>,
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
    /// Results from before these were kept have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbells: Option<Doorbells>,
    /// For how long urgent requests arrived.
    pub duration_ns: u64,
}

impl Measurement {
    /// Of all urgent requests together.
    pub fn latency(&self) -> Option<Summary> {
        let all: Vec<u64> = self.latencies.values().flatten().copied().collect();
        summary(&all)
    }

    /// The same without what the processor was late, where that is known.
    pub fn punctual(&self) -> Option<Summary> {
        let all: Option<Vec<Vec<u64>>> = self
            .latencies
            .iter()
            .map(|(client, times)| punctual(times, self.late.get(client)?))
            .collect();
        summary(&all?.concat())
    }

    /// Requests a second, of all clients.
    pub fn throughput(&self) -> f64 {
        self.rates.values().sum()
    }
}

/// Latencies without what the processor was late, of which there is one for each.
pub fn punctual(latencies: &[u64], late: &[u64]) -> Option<Vec<u64>> {
    let pairs = latencies.iter().zip(late);
    let times = pairs.map(|(latency, late)| latency.saturating_sub(*late));
    (latencies.len() == late.len()).then(|| times.collect())
}

/// What the load itself says.
pub fn account(report: &RunReport, clients: &BTreeSet<String>) -> Measurement {
    let mut measurement = Measurement::default();
    for queue in &report.queues {
        let name = queue.identity.name.clone();
        if clients.contains(&name) {
            let times = queue.samples.iter().map(Sample::latency);
            measurement.latencies.insert(name.clone(), times.collect());
            let late = queue.samples.iter().map(|sample| sample.late_ns);
            measurement.late.insert(name.clone(), late.collect());
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
        let sample = |arrival: u64, end: u64, late: u64| json!({"arrival_ns": arrival, "submit_ns": arrival, "start_ns": arrival, "end_ns": end, "late_ns": late});
        let urgent = queue("u", 11, json!([sample(10, 30, 3), sample(50, 90, 50)]));
        let other = queue("o", 10, json!([sample(0, 100, 0)]));
        let report: RunReport =
            serde_json::from_value(json!({"ok": true, "queues": [urgent, other], "died": []}))
                .unwrap();
        let mut measurement = account(&report, &["u".to_owned()].into());
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
        assert_eq!(measurement.late["u"], [3, 50]);
        assert_eq!(measurement.punctual().unwrap().max, 17);
        measurement.late.get_mut("u").unwrap().pop();
        assert_eq!(measurement.punctual(), None);
        measurement.late.clear();
        assert_eq!(measurement.punctual(), None);
    }
}
