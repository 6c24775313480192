// SPDX-License-Identifier: GPL-2.0-only
//! The module's own histograms, as debugfs shows them, and what was added to
//! them between two readings.

use anyhow::{Context, Result};
use e2e_runner::guest::Guest;
use serde_json::Value;

const FILE: &str = "/sys/kernel/debug/amd_gpreempt/latency.json";

/// One histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    pub count: u64,
    /// The least duration of each bucket, and how many are in it.
    buckets: Vec<(u64, u64)>,
}

impl Histogram {
    fn parse(value: &Value) -> Option<Histogram> {
        let buckets = value["buckets"].as_array()?.iter();
        Some(Histogram {
            count: value["count"].as_u64()?,
            buckets: buckets
                .map(|pair| Some((pair[0].as_u64()?, pair[1].as_u64()?)))
                .collect::<Option<_>>()?,
        })
    }

    /// What was added since an earlier reading.
    fn since(&self, earlier: &Histogram) -> Histogram {
        let before = |least| {
            let mut buckets = earlier.buckets.iter();
            buckets.find(|bucket| bucket.0 == least).map_or(0, |b| b.1)
        };
        Histogram {
            count: self.count - earlier.count,
            buckets: self
                .buckets
                .iter()
                .map(|&(least, count)| (least, count - before(least)))
                .collect(),
        }
    }

    /// What half of the durations are below, as far as the buckets tell: they are
    /// taken to be spread evenly within one. A mean would tell of the host, which
    /// now and then takes the CPU away.
    pub fn median_ns(&self) -> Option<f64> {
        let half = self.count as f64 / 2.0;
        let mut below = 0.0;
        for &(least, count) in self.buckets.iter().filter(|bucket| bucket.1 > 0) {
            let count = count as f64;
            if below + count >= half {
                return Some(least as f64 * (1.0 + (half - below) / count));
            }
            below += count;
        }
        None
    }
}

/// The histograms of the first node.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    pub look: Histogram,
    pub pass: Histogram,
    pub unmap: Histogram,
    pub edit: Histogram,
    pub map: Histogram,
}

impl Latencies {
    pub fn read(guest: &mut Guest) -> Result<Latencies> {
        let text = guest.agent().read_file(FILE)?;
        let value: Value = serde_json::from_str(&text)?;
        let of = |name: &str| {
            Histogram::parse(&value["nodes"][0][name])
                .with_context(|| format!("{FILE} has no {name}: {text}"))
        };
        Ok(Latencies {
            look: of("look")?,
            pass: of("pass")?,
            unmap: of("unmap")?,
            edit: of("edit")?,
            map: of("map")?,
        })
    }

    pub fn since(&self, earlier: &Latencies) -> Latencies {
        Latencies {
            look: self.look.since(&earlier.look),
            pass: self.pass.since(&earlier.pass),
            unmap: self.unmap.since(&earlier.unmap),
            edit: self.edit.since(&earlier.edit),
            map: self.map.since(&earlier.map),
        }
    }

    /// A transaction, from waiting for the lock to the end of the map.
    pub fn transaction_ns(&self) -> Option<f64> {
        Some(self.unmap.median_ns()? + self.edit.median_ns()? + self.map.median_ns()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn histogram(count: u64, buckets: &[(u64, u64)]) -> Histogram {
        let buckets: Vec<_> = buckets
            .iter()
            .map(|&(least, n)| json!([least, n]))
            .collect();
        let value = json!({"count": count, "sum_ns": 0, "max_ns": 0, "buckets": buckets});
        Histogram::parse(&value).unwrap()
    }

    #[test]
    fn only_what_was_added_counts() {
        let before = histogram(2, &[(64, 1), (128, 1)]);
        let after = histogram(5, &[(64, 1), (128, 2), (256, 2)]);
        let added = after.since(&before);
        assert_eq!(added, histogram(3, &[(64, 0), (128, 1), (256, 2)]));
        // One is below 256, and half of the next below the middle.
        assert_eq!(added.median_ns(), Some(256.0 * 1.25));
        assert_eq!(before.since(&before).median_ns(), None);
    }

    #[test]
    fn a_transaction_is_the_sum_of_its_parts() {
        let latencies = Latencies {
            unmap: histogram(2, &[(4096, 2)]),
            edit: histogram(1, &[(256, 1)]),
            map: histogram(1, &[(2048, 1)]),
            ..Latencies::default()
        };
        assert_eq!(
            latencies.transaction_ns(),
            Some(1.5 * (4096.0 + 256.0 + 2048.0))
        );
        assert_eq!(Latencies::default().transaction_ns(), None);
    }
}
