// SPDX-License-Identifier: GPL-2.0-only

//! From the raw numbers of some runs to the figures that are compared.

use crate::gpu::Nanos;
use crate::simulation::{ClientResult, RunResult};
use serde::{Deserialize, Serialize};

/// The nearest-rank percentile of sorted values.
pub fn percentile(sorted: &[Nanos], percent: f64) -> Nanos {
    if sorted.is_empty() {
        return 0;
    }
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Jain's index: 1 when all are equal, 1/n when one has everything.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (values.len() as f64 * squares)
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub mean_us: f64,
    pub requests: usize,
}

impl Latency {
    fn of(mut values: Vec<Nanos>) -> Self {
        values.sort_unstable();
        let us = |nanos: Nanos| nanos as f64 / 1_000.0;
        let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
        Self {
            p50_us: us(percentile(&values, 50.0)),
            p99_us: us(percentile(&values, 99.0)),
            p999_us: us(percentile(&values, 99.9)),
            mean_us: sum as f64 / 1_000.0 / values.len().max(1) as f64,
            requests: values.len(),
        }
    }
}

/// Means of one urgent request, in microseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SplitSummary {
    pub disturbed_share: f64,
    pub transactions: f64,
    /// Doorbell to command, of the requests that were disturbed.
    pub detection_us: f64,
    pub command_us: f64,
    pub save_us: f64,
    pub fence_us: f64,
    pub registers_us: f64,
    pub map_us: f64,
    pub restore_us: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientSummary {
    pub name: String,
    pub urgent: bool,
    pub latency: Latency,
    pub per_second: f64,
    pub served: f64,
}

/// All seeds of one workload under one controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub workload: String,
    pub policy: String,
    pub gpu: String,
    pub urgent: Latency,
    pub unfinished: u64,
    pub clients: Vec<ClientSummary>,
    /// Requests a second, of all and of the best-effort clients.
    pub per_second: f64,
    pub best_effort_per_second: f64,
    /// GPU seconds of completed requests (each as if alone) in a second.
    pub work: f64,
    pub transactions_per_second: f64,
    pub transaction_us: f64,
    pub stops: u64,
    pub longest_stop_ms: f64,
    pub jain: f64,
    pub look_share: f64,
    pub utilisation: f64,
    pub workgroups_lost: u64,
    pub split: SplitSummary,
}

impl Summary {
    pub fn of(workload: &str, policy: &str, gpu: &str, runs: &[RunResult]) -> Self {
        let seconds: f64 = runs.iter().map(|r| r.duration as f64 / 1e9).sum();
        let mut clients = Vec::new();
        let mut fractions = Vec::new();
        let mut urgent = Vec::new();
        let (mut requests, mut best_effort, mut work) = (0_u64, 0_u64, 0_u64);
        for index in 0..runs.first().map_or(0, |r| r.clients.len()) {
            let of = || runs.iter().map(|r| &r.clients[index]);
            let latencies: Vec<Nanos> = of().flat_map(ClientResult::counted).collect();
            let completed: u64 = of().map(|c| c.completed).sum();
            let served = of().map(|c| c.served).sum::<f64>() / runs.len() as f64;
            work += of().map(|c| c.work).sum::<Nanos>();
            requests += completed;
            let first = &runs[0].clients[index];
            if first.urgent {
                urgent.extend_from_slice(&latencies);
            } else {
                best_effort += completed;
                fractions.push(served);
            }
            clients.push(ClientSummary {
                name: first.name.clone(),
                urgent: first.urgent,
                latency: Latency::of(latencies),
                per_second: completed as f64 / seconds,
                served,
            });
        }
        let sum = |f: fn(&RunResult) -> u64| runs.iter().map(f).sum::<u64>();
        let transactions = sum(|r| r.transactions);
        let per_transaction = |nanos: u64| nanos as f64 / 1e3 / transactions.max(1) as f64;
        let counted = sum(|r| r.split.requests).max(1) as f64;
        let disturbed = sum(|r| r.split.disturbed);
        let mean = |nanos: u64| nanos as f64 / 1e3 / counted;
        Self {
            workload: workload.into(),
            policy: policy.into(),
            gpu: gpu.into(),
            urgent: Latency::of(urgent),
            unfinished: sum(|r| r.unfinished),
            clients,
            per_second: requests as f64 / seconds,
            best_effort_per_second: best_effort as f64 / seconds,
            work: work as f64 / 1e9 / seconds,
            transactions_per_second: transactions as f64 / seconds,
            transaction_us: per_transaction(sum(|r| r.cost.command + r.cost.standstill())),
            stops: sum(|r| r.stops),
            longest_stop_ms: runs.iter().map(|r| r.longest_stop).max().unwrap_or(0) as f64 / 1e6,
            jain: jain(&fractions),
            look_share: sum(|r| r.look_time) as f64 / 1e9 / seconds,
            utilisation: runs.iter().map(|r| r.utilisation).sum::<f64>() / runs.len() as f64,
            workgroups_lost: sum(|r| r.workgroups_lost),
            split: SplitSummary {
                disturbed_share: disturbed as f64 / counted,
                transactions: sum(|r| r.split.transactions) as f64 / counted,
                detection_us: sum(|r| r.split.detection) as f64 / 1e3 / disturbed.max(1) as f64,
                command_us: mean(sum(|r| r.split.cost.command)),
                save_us: mean(sum(|r| r.split.cost.save)),
                fence_us: mean(sum(|r| r.split.cost.fence)),
                registers_us: mean(sum(|r| r.split.cost.registers)),
                map_us: mean(sum(|r| r.split.cost.map)),
                restore_us: mean(sum(|r| r.split.cost.restore)),
            },
        }
    }

    /// The urgent p99 of this run over that of `alone`: of all urgent requests
    /// together, and of the client that fares worst.
    pub fn p99_over(&self, alone: &Self) -> (f64, f64) {
        let worst = self
            .clients
            .iter()
            .filter(|c| c.urgent)
            .map(|client| {
                let same = alone
                    .clients
                    .iter()
                    .find(|c| c.urgent && c.name == client.name)
                    .expect("alone has the urgent clients");
                client.latency.p99_us / same.latency.p99_us
            })
            .fold(0.0, f64::max);
        (self.urgent.p99_us / alone.urgent.p99_us, worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<Nanos> = (1..=100).collect();
        assert_eq!(percentile(&values, 50.0), 50);
        assert_eq!(percentile(&values, 99.0), 99);
        assert_eq!(percentile(&values, 99.9), 100);
        assert_eq!(percentile(&values, 0.0), 1);
        assert_eq!(percentile(&[7], 99.9), 7);
        assert_eq!(percentile(&[], 50.0), 0);
    }

    #[test]
    fn jain_is_one_for_equals_and_a_share_for_one() {
        assert!((jain(&[2.0, 2.0, 2.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!((jain(&[0.0, 0.0]) - 1.0).abs() < 1e-12);
    }
}
