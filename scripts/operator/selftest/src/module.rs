// SPDX-License-Identifier: GPL-2.0-only
//! The module's tables, parameters and rules.

use std::collections::BTreeMap;

use anyhow::{ensure, Context, Result};
use gpreempt_operator::host::tables::{Histogram, Node, NodeLatencies, Queue};
use gpreempt_operator::host::tree::Host as Tables;
use serde::Serialize;

use crate::host::Host;

const PARAMETERS: &str = "sys/module/amd_gpreempt/parameters";
const RULES: &str = "sys/devices/faux/amd_gpreempt";

/// What was added to a histogram meanwhile. Half lasted no longer than twice the median,
/// since the module counts by powers of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    pub count: u64,
    pub mean_ns: u64,
    pub median_from_ns: u64,
}

impl Times {
    pub fn between(before: &Histogram, now: &Histogram) -> Times {
        let count = now.count.saturating_sub(before.count);
        let old: BTreeMap<u64, u64> = before.buckets.iter().copied().collect();
        let mut below = 0;
        let mut median_from_ns = 0;
        for &(from, number) in &now.buckets {
            if 2 * below < count {
                median_from_ns = from;
            }
            below += number.saturating_sub(old.get(&from).copied().unwrap_or(0));
        }
        Times {
            count,
            mean_ns: now.sum_ns.saturating_sub(before.sum_ns) / count.max(1),
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

impl Parts {
    pub fn between(before: &NodeLatencies, now: &NodeLatencies) -> Parts {
        Parts {
            detection: Times::between(&before.detection, &now.detection),
            unmap: Times::between(&before.unmap, &now.unmap),
            edit: Times::between(&before.edit, &now.edit),
            map: Times::between(&before.map, &now.map),
            stopped: Times::between(&before.stopped, &now.stopped),
            look: Times::between(&before.look, &now.look),
            pass: Times::between(&before.pass, &now.pass),
        }
    }
}

/// Whether this is the queue that a process has under a number.
pub fn is_queue(row: &Queue, pid: u32, number: u32) -> bool {
    row.pid == i64::from(pid) && row.queue == u64::from(number)
}

/// The module, as its files show it.
#[derive(Clone, Debug)]
pub struct Module {
    host: Host,
    tables: Tables,
}

impl Module {
    pub fn of(host: &Host) -> Module {
        Module {
            host: host.clone(),
            tables: Tables::new(host.path("/")),
        }
    }

    pub fn loaded(&self) -> Result<()> {
        Ok(self.tables.need_module()?)
    }

    /// The node that KFD calls so.
    pub fn stats(&self, gpu_id: u32) -> Result<Node> {
        let nodes = self.tables.stats()?.nodes;
        let found = nodes.into_iter().find(|node| node.gpu_id == gpu_id);
        found.with_context(|| format!("the module does not show the GPU with KFD's id {gpu_id}"))
    }

    pub fn latency(&self, node: &Node) -> Result<NodeLatencies> {
        let nodes = self.tables.latencies()?.nodes;
        let found = nodes
            .into_iter()
            .find(|found| found.gpu == node.gpu && found.node == node.node);
        found.with_context(|| format!("the module has no times of {}", node.gpu))
    }

    pub fn queues(&self, gpu_id: u32) -> Result<Vec<Queue>> {
        let mut queues = self.tables.queues()?.queues;
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

    /// Refuses a GPU with a mode of its own, for which what is set here would not hold.
    pub fn refuse_own(&self, gpu: &str) -> Result<()> {
        let file = format!("{RULES}/gpu_{gpu}/mode");
        let mode = self.host.read(&file)?;
        ensure!(
            mode.trim() == "module",
            "GPU {gpu} has a mode of its own, '{}': write 'module' to /{file}",
            mode.trim()
        );
        Ok(())
    }

    pub fn set(&self, parameter: &str, value: &str) -> Result<()> {
        self.loaded()?;
        self.host.write(&format!("{PARAMETERS}/{parameter}"), value)
    }

    /// The rules as they were written, by number.
    pub fn rules(&self) -> Result<BTreeMap<u32, String>> {
        let rules = self.tables.rules()?.rules;
        Ok(rules.into_iter().map(|rule| (rule.id, rule.text)).collect())
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
            max_ns: 0,
            buckets: buckets.to_vec(),
        }
    }

    #[test]
    fn only_what_was_added_counts() {
        let before = histogram(&[(64, 100), (128, 1)], 10_000);
        let after = histogram(&[(64, 101), (128, 3), (256, 1)], 10_800);
        let times = Times::between(&before, &after);
        assert_eq!(
            (times.count, times.mean_ns, times.median_from_ns),
            (4, 200, 128)
        );
        assert_eq!(Times::between(&before, &before), Times::default());
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
    fn a_gpu_with_a_mode_of_its_own_is_refused() {
        let own = "sys/devices/faux/amd_gpreempt/gpu_0000:01:00.0/mode";
        let refused = |all: &[(&str, &str)]| {
            let (_files, host) = files(all);
            let refused = Module::of(&host).refuse_own("0000:01:00.0");
            refused.err().map(|error| error.to_string())
        };
        let version = ("sys/module/amd_gpreempt/version", "1\n");
        assert_eq!(refused(&[version, (own, "module\n")]), None);
        let error = refused(&[version, (own, "off\n")]).unwrap();
        assert!(error.contains("'off': write 'module' to /sys/"), "{error}");
    }
}
