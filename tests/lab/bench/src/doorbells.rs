// SPDX-License-Identifier: GPL-2.0-only
//! When the doorbells of a run rang, as far as that may have made urgent requests slow.
//!
//! A best-effort client that rings in the middle of an urgent request is work that nobody
//! could stop beforehand. And an urgent doorbell that rings later than it is due is a delay
//! of the processor's: whoever schedules the GPU has no part in it.

use std::collections::BTreeSet;

use gpu_workload::latency::summary;
use gpu_workload::report::{RunReport, Sample};
use serde::{Deserialize, Serialize};

/// How many thousandths of its client's median a request takes at least that is slow, both
/// without what the client was late.
const SLOW: u64 = 1_030;

/// What the doorbells of a run say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doorbells {
    /// Urgent requests, and those during which a best-effort client rang.
    pub requests: u64,
    pub rung: u64,
    /// Slow urgent requests, and those of them during which one rang.
    pub slow: u64,
    pub slow_rung: u64,
    /// The p99 of the time for which an urgent client slept on, in GPU nanoseconds.
    pub late_p99_ns: u64,
}

impl Doorbells {
    /// Those of a run whose urgent clients have these names. None where no samples of them
    /// were kept.
    pub fn of(report: &RunReport, urgent: &BTreeSet<String>) -> Option<Doorbells> {
        let (own, others): (Vec<_>, Vec<_>) = report
            .queues
            .iter()
            .partition(|queue| urgent.contains(&queue.identity.name));
        let mut rings: Vec<u64> = others
            .iter()
            .flat_map(|queue| queue.samples.iter().map(|sample| sample.submit_ns))
            .collect();
        rings.sort_unstable();
        let mut found = Doorbells::default();
        let mut late = Vec::new();
        for queue in own {
            let median = summary(
                &queue
                    .samples
                    .iter()
                    .map(Sample::punctual)
                    .collect::<Vec<_>>(),
            )?
            .p50;
            for sample in &queue.samples {
                let rung = rings_in(&rings, sample);
                late.push(sample.late_ns);
                found.requests += 1;
                found.rung += u64::from(rung);
                if sample.punctual() * 1_000 >= median * SLOW {
                    found.slow += 1;
                    found.slow_rung += u64::from(rung);
                }
            }
        }
        found.late_p99_ns = summary(&late)?.p99;
        Some(found)
    }

    /// Those of several runs together; of times the longest.
    pub fn and(self, other: Doorbells) -> Doorbells {
        Doorbells {
            requests: self.requests + other.requests,
            rung: self.rung + other.rung,
            slow: self.slow + other.slow,
            slow_rung: self.slow_rung + other.slow_rung,
            late_p99_ns: self.late_p99_ns.max(other.late_p99_ns),
        }
    }
}

/// Whether one of these sorted times is within a request, after its doorbell.
fn rings_in(rings: &[u64], sample: &Sample) -> bool {
    let after = rings.partition_point(|&ring| ring <= sample.submit_ns);
    rings.get(after).is_some_and(|&ring| ring < sample.end_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    /// A queue of requests that arrived, rang, ended, and were so much too late.
    fn queue(name: &str, samples: &[(u64, u64, u64, u64)]) -> Value {
        let samples: Vec<Value> = samples
            .iter()
            .map(|(arrival, submit, end, late)| {
                json!({"arrival_ns": arrival, "submit_ns": submit, "start_ns": submit,
                       "end_ns": end, "late_ns": late})
            })
            .collect();
        json!({
            "name": name, "group": name, "pid": 1, "gpu_id": 1, "queue_id": 0, "priority": 1,
            "requests": {"submitted": 1, "completed": 1, "abandoned": 0}, "dispatches": 1,
            "workgroups": {"executed": 1, "lost": 0, "repeated": 0}, "resets": 0, "redone": 0,
            "latency_gpu_ns": null, "latency_guest_ns": null, "service_gpu_ns": null,
            "span_gpu_ns": 1, "clock": {"dilation": null, "uncertainty_guest_ns": 0},
            "failure": null, "samples": samples,
        })
    }

    /// Of a run of these queues, of which the one named "own" is urgent.
    fn doorbells(queues: &[Value]) -> Option<Doorbells> {
        let report = json!({"ok": true, "queues": queues, "died": []});
        let report: RunReport = serde_json::from_value(report).unwrap();
        Doorbells::of(&report, &["own".to_owned()].into())
    }

    #[test]
    fn a_request_is_rung_in_after_its_own_doorbell_and_before_its_end() {
        let own = queue(
            "own",
            &[
                (0, 200, 1_000, 0),
                (2_000, 2_200, 3_000, 5),
                (4_000, 4_200, 5_040, 10),
            ],
        );
        for (rings, rung, slow_rung) in [
            (&[200, 1_000][..], 0, 0),
            (&[201], 1, 0),
            (&[999, 2_300, 2_400], 2, 0),
            (&[150, 4_231], 1, 1),
        ] {
            let others: Vec<_> = rings.iter().map(|&ring| (0, ring, 9_000, 0)).collect();
            let expected = Doorbells {
                requests: 3,
                rung,
                slow: 1,
                slow_rung,
                late_p99_ns: 10,
            };
            let found = doorbells(&[own.clone(), queue("other", &others)]);
            assert_eq!(found, Some(expected), "{rings:?}");
        }
    }

    #[test]
    fn a_request_that_its_client_made_late_is_not_slow() {
        let own = [(0, 200, 1_000, 0), (2_000, 2_500, 3_300, 300)];
        let found = doorbells(&[queue("own", &own)]).unwrap();
        assert_eq!((found.requests, found.slow), (2, 0));
        assert_eq!(found.late_p99_ns, 300);
    }

    #[test]
    fn there_is_nothing_to_say_of_a_run_without_samples() {
        let other = queue("other", &[(0, 200, 1_000, 0)]);
        assert_eq!(doorbells(&[queue("own", &[]), other]), None);
    }
}
