// SPDX-License-Identifier: GPL-2.0-only
//! How long the module's work takes by its own account in debugfs, of which the number
//! of durations and their sum are exact, read again and again.

use anyhow::{Context, Result};
use e2e_runner::guest::Guest;
use gpreempt_bench::statistics::Spread;
use serde_json::Value;

const FILE: &str = "/sys/kernel/debug/amd_gpreempt/latency.json";

/// Some durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    pub count: u64,
    sum_ns: u64,
}

impl Durations {
    fn parse(value: &Value) -> Option<Durations> {
        Some(Durations {
            count: value["count"].as_u64()?,
            sum_ns: value["sum_ns"].as_u64()?,
        })
    }

    /// What was added since an earlier reading.
    fn since(self, earlier: Durations) -> Durations {
        Durations {
            count: self.count - earlier.count,
            sum_ns: self.sum_ns - earlier.sum_ns,
        }
    }

    fn mean_ns(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

/// Those of the first node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latencies {
    pub look: Durations,
    pub pass: Durations,
    pub unmap: Durations,
    pub edit: Durations,
    pub map: Durations,
}

impl Latencies {
    pub fn read(guest: &mut Guest) -> Result<Latencies> {
        let text = guest.agent().read_file(FILE)?;
        let value: Value = serde_json::from_str(&text)?;
        let of = |name: &str| {
            Durations::parse(&value["nodes"][0][name])
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
            look: self.look.since(earlier.look),
            pass: self.pass.since(earlier.pass),
            unmap: self.unmap.since(earlier.unmap),
            edit: self.edit.since(earlier.edit),
            map: self.map.since(earlier.map),
        }
    }

    /// A pass, without the transaction that a few of them end in.
    fn pass_ns(&self) -> Option<f64> {
        let parts = [self.unmap, self.edit, self.map];
        let transactions: u64 = parts.iter().map(|part| part.sum_ns).sum();
        let alone = Durations {
            sum_ns: self.pass.sum_ns.saturating_sub(transactions),
            ..self.pass
        };
        alone.mean_ns()
    }

    /// A transaction, from waiting for the lock to the end of the map.
    fn transaction_ns(&self) -> Option<f64> {
        Some(self.unmap.mean_ns()? + self.edit.mean_ns()? + self.map.mean_ns()?)
    }
}

/// What was typical of some short intervals: of each the mean, and of the means the middle
/// one. The mean of all would tell of the host, which now and then takes the processor away.
pub struct Typical {
    pub look_ns: Option<f64>,
    pub pass_ns: Option<f64>,
    pub transaction_ns: Option<f64>,
    /// Of a transaction, what is between taking queues off and putting them back.
    pub edit_ns: Option<f64>,
}

impl Typical {
    pub fn of(intervals: &[Latencies]) -> Typical {
        let middle = |mean: fn(&Latencies) -> Option<f64>| {
            Spread::of(intervals.iter().filter_map(mean)).map(|means| means.value)
        };
        Typical {
            look_ns: middle(|interval| interval.look.mean_ns()),
            pass_ns: middle(Latencies::pass_ns),
            transaction_ns: middle(Latencies::transaction_ns),
            edit_ns: middle(|interval| interval.edit.mean_ns()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn durations(count: u64, sum_ns: u64) -> Durations {
        let value = json!({"count": count, "sum_ns": sum_ns, "max_ns": 0, "buckets": []});
        Durations::parse(&value).unwrap()
    }

    fn looks(count: u64, sum_ns: u64) -> Latencies {
        Latencies {
            look: durations(count, sum_ns),
            ..Latencies::default()
        }
    }

    #[test]
    fn only_what_was_added_counts() {
        let added = looks(5, 700).since(&looks(2, 100));
        assert_eq!(added.look, durations(3, 600));
        assert_eq!(added.look.mean_ns(), Some(200.0));
        assert_eq!(added.pass.mean_ns(), None);
    }

    #[test]
    fn an_interval_in_which_the_host_stood_still_says_nothing_of_the_others() {
        let intervals = [looks(2, 20), looks(4, 80), looks(0, 0), looks(1, 9_000)];
        assert_eq!(Typical::of(&intervals).look_ns, Some(20.0));
        assert_eq!(Typical::of(&intervals).pass_ns, None);
    }

    #[test]
    fn a_transaction_is_the_sum_of_its_parts() {
        let latencies = Latencies {
            unmap: durations(2, 200),
            edit: durations(1, 10),
            map: durations(1, 1),
            ..Latencies::default()
        };
        let typical = Typical::of(&[latencies, Latencies::default()]);
        assert_eq!(typical.transaction_ns, Some(111.0));
        assert_eq!(typical.edit_ns, Some(10.0));
    }

    #[test]
    fn a_pass_is_without_the_transaction_that_it_ends_in() {
        let latencies = Latencies {
            pass: durations(2, 331),
            unmap: durations(1, 200),
            edit: durations(1, 10),
            map: durations(1, 1),
            ..Latencies::default()
        };
        assert_eq!(Typical::of(&[latencies]).pass_ns, Some(60.0));
    }
}
