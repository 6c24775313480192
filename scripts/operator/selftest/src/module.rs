// SPDX-License-Identifier: GPL-2.0-only
//! The module's tables, parameters and rules.

use std::collections::BTreeMap;

use anyhow::{bail, ensure, Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::Host;

const MODULE: &str = "sys/module/amd_gpreempt";
const PARAMETERS: &str = "sys/module/amd_gpreempt/parameters";
const TABLES: &str = "sys/kernel/debug/amd_gpreempt";
const RULES: &str = "sys/devices/faux/amd_gpreempt";
/// Of the tables that this program knows.
const SCHEMA: u64 = 1;

/// A node's state and counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub gpu: String,
    pub node: u64,
    pub gpu_id: u32,
    pub state: String,
    pub refusal: Option<String>,
    pub last_failure: Option<String>,
    pub mode: String,
    pub backend: String,
    pub transaction: String,
    pub stopped: u64,
    pub passes: u64,
    pub missed: u64,
    pub inversions: u64,
    pub observed: u64,
    pub stops: u64,
    pub starts: u64,
    pub transactions: u64,
    pub failures: u64,
    pub handed_over: u64,
    pub healed: u64,
}

/// A queue that the module sees.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Queue {
    pub gpu_id: u32,
    pub pid: u32,
    pub queue: u32,
    pub prio: u32,
    pub eff_prio: u32,
    pub rptr: Option<u64>,
    pub wptr: Option<u64>,
    pub active: bool,
    pub contends: bool,
    pub internal: bool,
    pub stops: u64,
}

/// How long something took, since the module was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Histogram {
    pub count: u64,
    pub sum_ns: u64,
    #[serde(default)]
    pub buckets: Vec<(u64, u64)>,
}

/// What the module measures of itself, on one node.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Latency {
    gpu: String,
    node: u64,
    pub detection: Histogram,
    pub unmap: Histogram,
    pub edit: Histogram,
    pub map: Histogram,
    pub stopped: Histogram,
    pub look: Histogram,
    pub pass: Histogram,
}

/// What was added to a histogram meanwhile. Half lasted no longer than twice the median,
/// since the module counts by powers of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    pub count: u64,
    pub mean_ns: u64,
    pub median_from_ns: u64,
}

impl Histogram {
    pub fn since(&self, before: &Histogram) -> Times {
        let count = self.count.saturating_sub(before.count);
        let old: BTreeMap<u64, u64> = before.buckets.iter().copied().collect();
        let mut below = 0;
        let mut median_from_ns = 0;
        for &(from, number) in &self.buckets {
            if 2 * below < count {
                median_from_ns = from;
            }
            below += number.saturating_sub(old.get(&from).copied().unwrap_or(0));
        }
        Times {
            count,
            mean_ns: self.sum_ns.saturating_sub(before.sum_ns) / count.max(1),
            median_from_ns: if count == 0 { 0 } else { median_from_ns },
        }
    }
}

/// The parts of transactions and of passes, from one look to the next.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    pub detection: Times,
    pub unmap: Times,
    pub edit: Times,
    pub map: Times,
    pub stopped: Times,
    pub look: Times,
    pub pass: Times,
}

impl Latency {
    pub fn since(&self, before: &Latency) -> Parts {
        Parts {
            detection: self.detection.since(&before.detection),
            unmap: self.unmap.since(&before.unmap),
            edit: self.edit.since(&before.edit),
            map: self.map.since(&before.map),
            stopped: self.stopped.since(&before.stopped),
            look: self.look.since(&before.look),
            pass: self.pass.since(&before.pass),
        }
    }
}

/// The module, as its files show it.
#[derive(Clone, Debug)]
pub struct Module {
    host: Host,
}

impl Module {
    pub fn of(host: &Host) -> Module {
        Module { host: host.clone() }
    }

    pub fn loaded(&self) -> Result<()> {
        ensure!(
            self.host.exists(MODULE),
            "the module is not loaded: modprobe amd_gpreempt"
        );
        Ok(())
    }

    fn rows<T: DeserializeOwned>(&self, table: &str, rows: &str) -> Result<Vec<T>> {
        self.loaded()?;
        let path = format!("{TABLES}/{table}.json");
        // The tables go before the module does.
        ensure!(
            self.host.exists(&path),
            "the module is not loaded: modprobe amd_gpreempt, or mount debugfs"
        );
        let text = self.host.read(&path).context(
            "only root can read the module's tables, where the kernel is not locked down",
        )?;
        let mut value: Value = serde_json::from_str(&text)
            .with_context(|| format!("the table {table} is not what it should be"))?;
        ensure!(
            value["schema"] == SCHEMA,
            "the table {table} has schema {}, and this program knows {SCHEMA}: take the one that belongs to the module",
            value["schema"]
        );
        serde_json::from_value(value[rows].take())
            .with_context(|| format!("the table {table} is not what it should be"))
    }

    /// The node that KFD calls so.
    pub fn stats(&self, gpu_id: u32) -> Result<Stats> {
        let nodes: Vec<Stats> = self.rows("stats", "nodes")?;
        let found = nodes.into_iter().find(|node| node.gpu_id == gpu_id);
        found.with_context(|| format!("the module does not show the GPU with KFD's id {gpu_id}"))
    }

    pub fn latency(&self, stats: &Stats) -> Result<Latency> {
        let nodes: Vec<Latency> = self.rows("latency", "nodes")?;
        let found = nodes
            .into_iter()
            .find(|node| node.gpu == stats.gpu && node.node == stats.node);
        found.with_context(|| format!("the module has no times of {}", stats.gpu))
    }

    pub fn queues(&self, gpu_id: u32) -> Result<Vec<Queue>> {
        let mut queues: Vec<Queue> = self.rows("queues", "queues")?;
        queues.retain(|queue| queue.gpu_id == gpu_id);
        Ok(queues)
    }

    pub fn parameters(&self) -> Result<BTreeMap<String, String>> {
        self.loaded()?;
        self.host
            .names(PARAMETERS)
            .into_iter()
            .map(|name| {
                let value = self.host.read(&format!("{PARAMETERS}/{name}"))?;
                Ok((name, value.trim().to_owned()))
            })
            .collect()
    }

    /// Refuses a GPU with values of its own, for which what is set here would not hold.
    pub fn refuse_own(&self, gpu: &str) -> Result<()> {
        let file = format!("{RULES}/gpu_{gpu}/own_parameters");
        let names = match self.host.exists(&file) {
            true => self.host.read(&file)?,
            false => String::new(),
        };
        ensure!(
            names.trim().is_empty(),
            "GPU {gpu} has values of its own for '{}': write 'module' to each of them in \
             /{RULES}/gpu_{gpu}/parameters",
            names.trim()
        );
        Ok(())
    }

    pub fn set(&self, parameter: &str, value: &str) -> Result<()> {
        self.loaded()?;
        self.host.write(&format!("{PARAMETERS}/{parameter}"), value)
    }

    /// The rules as they were written, by number.
    pub fn rules(&self) -> Result<BTreeMap<u32, String>> {
        let rules: Vec<Value> = self.rows("rules", "rules")?;
        rules
            .into_iter()
            .map(|rule| {
                let id = rule["id"].as_u64().and_then(|id| u32::try_from(id).ok());
                match (id, rule["text"].as_str()) {
                    (Some(id), Some(text)) => Ok((id, text.to_owned())),
                    _ => bail!("the table of rules is not what it should be: {rule}"),
                }
            })
            .collect()
    }

    pub fn add_rule(&self, text: &str) -> Result<()> {
        self.host.write(&format!("{RULES}/rules_add"), text)
    }

    pub fn delete_rule(&self, number: u32) -> Result<()> {
        self.host
            .write(&format!("{RULES}/rules_del"), &number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::files;

    fn histogram(buckets: &[(u64, u64)], sum_ns: u64) -> Histogram {
        Histogram {
            count: buckets.iter().map(|bucket| bucket.1).sum(),
            sum_ns,
            buckets: buckets.to_vec(),
        }
    }

    #[test]
    fn only_what_was_added_counts() {
        let before = histogram(&[(64, 100), (128, 1)], 10_000);
        let after = histogram(&[(64, 101), (128, 3), (256, 1)], 10_800);
        let times = after.since(&before);
        assert_eq!(
            (times.count, times.mean_ns, times.median_from_ns),
            (4, 200, 128)
        );
        assert_eq!(before.since(&before), Times::default());
    }

    #[test]
    fn a_module_that_is_not_there_is_told() {
        let (_files, host) = files(&[]);
        let error = Module::of(&host).stats(1).unwrap_err().to_string();
        assert!(error.contains("modprobe amd_gpreempt"), "{error}");
    }

    #[test]
    fn another_schema_and_nonsense_are_refused() {
        for (text, why) in [
            (r#"{"schema":2,"rules":[]}"#, "has schema 2"),
            ("nonsense", "is not what it should be"),
            (
                r#"{"schema":1,"rules":[{"id":-1}]}"#,
                "is not what it should be",
            ),
        ] {
            let (_files, host) = files(&[
                ("sys/module/amd_gpreempt/version", "1\n"),
                ("sys/kernel/debug/amd_gpreempt/rules.json", text),
            ]);
            let error = format!("{:#}", Module::of(&host).rules().unwrap_err());
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_gpu_with_values_of_its_own_is_refused() {
        let own = "sys/devices/faux/amd_gpreempt/gpu_0000:01:00.0/own_parameters";
        let refused = |all: &[(&str, &str)]| {
            let (_files, host) = files(all);
            let refused = Module::of(&host).refuse_own("0000:01:00.0");
            refused.err().map(|error| error.to_string())
        };
        let version = ("sys/module/amd_gpreempt/version", "1\n");
        assert_eq!(refused(&[version]), None);
        assert_eq!(refused(&[version, (own, "\n")]), None);
        let error = refused(&[version, (own, "mode grace_us\n")]).unwrap();
        assert!(
            error.contains("for 'mode grace_us': write 'module'"),
            "{error}"
        );
    }
}
