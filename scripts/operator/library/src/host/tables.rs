// SPDX-License-Identifier: GPL-2.0-only
//! The module's tables in debugfs, as types.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::tree::{cannot, Host, Refusal, MODULE};

/// The version of the tables that is understood here.
pub const SCHEMA: u64 = 1;

/// The queues in view, and the processes of which not all are. An older module lacks
/// some of what is said of a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queues {
    pub queues: Vec<Queue>,
    pub left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    pub gpu: String,
    pub node: u64,
    #[serde(default)]
    pub gpu_id: u32,
    pub pid: i64,
    pub comm: String,
    pub queue: u64,
    pub prio: u64,
    pub eff_prio: u64,
    pub rule: Option<u64>,
    pub rptr: Option<u64>,
    pub wptr: Option<u64>,
    pub waves: Option<u64>,
    #[serde(default)]
    pub active: bool,
    pub contends: bool,
    #[serde(default)]
    pub internal: bool,
    pub state: String,
    pub stops: u64,
    pub run_ns: u64,
    pub stopped_ns: u64,
}

impl Queue {
    /// The bytes of the program's name, each of which the table has as a character.
    pub fn comm_bytes(&self) -> Option<Vec<u8>> {
        let bytes = self.comm.chars().map(|byte| u8::try_from(u32::from(byte)));
        bytes.collect::<Result<_, _>>().ok()
    }

    /// How much lies between the two pointers, where both are known.
    pub fn backlog(&self) -> Option<u64> {
        Some(self.wptr?.saturating_sub(self.rptr?))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    pub gpu: String,
    pub node: u64,
    pub pid: i64,
    pub comm: String,
    pub queues: u64,
    pub left_out: u64,
}

/// The state and the counters of each node. An older module lacks some of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stats {
    pub nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub gpu: String,
    pub node: u64,
    /// KFD's number of it.
    #[serde(default)]
    pub gpu_id: u32,
    pub state: String,
    pub refusal: Option<String>,
    pub last_failure: Option<String>,
    pub mode: String,
    pub sampler: String,
    pub backend: String,
    #[serde(default)]
    pub transaction: String,
    pub queues: u64,
    #[serde(default)]
    pub copy_queues: u64,
    pub processes: u64,
    pub running: u64,
    pub waiting: u64,
    pub stopped: u64,
    #[serde(default)]
    pub passes: u64,
    #[serde(default)]
    pub missed: u64,
    pub inversions: u64,
    pub observed: u64,
    pub stops: u64,
    pub starts: u64,
    pub transactions: u64,
    pub failures: u64,
    #[serde(default)]
    pub handed_over: u64,
    #[serde(default)]
    pub waited_for: u64,
    #[serde(default)]
    pub unwritten: u64,
    #[serde(default)]
    pub healed: u64,
    #[serde(default)]
    pub hints: u64,
    #[serde(default)]
    pub hints_honoured: u64,
    #[serde(default)]
    pub hints_expired: u64,
    #[serde(default)]
    pub hints_over_budget: u64,
    #[serde(default)]
    pub hints_ignored: u64,
    pub exempt: u64,
}

/// How long things took, for each node.
#[derive(Clone, Debug, Deserialize)]
pub struct Latencies {
    pub nodes: Vec<NodeLatencies>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct NodeLatencies {
    pub gpu: String,
    pub node: u64,
    pub detection: Histogram,
    pub unmap: Histogram,
    pub edit: Histogram,
    pub map: Histogram,
    pub stopped: Histogram,
    pub look: Histogram,
    pub pass: Histogram,
}

/// Durations in nanoseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Histogram {
    pub count: u64,
    pub sum_ns: u64,
    pub max_ns: u64,
    /// The least duration of each power of two that there was, and how many.
    pub buckets: Vec<(u64, u64)>,
}

impl Histogram {
    /// How many durations were at most as long as a power of two less one.
    pub fn below(&self, power: u64) -> u64 {
        let shorter = self.buckets.iter().filter(|(least, _)| *least < power);
        shorter.map(|(_, count)| count).sum()
    }
}

/// The latest decisions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Events {
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    pub time_ns: u64,
    pub gpu: String,
    pub node: u64,
    pub pid: i64,
    pub queue: u64,
    pub eff_prio: u64,
    pub action: String,
    pub reason: String,
    pub age_ns: u64,
    #[serde(rename = "for")]
    pub beneficiary: Option<Beneficiary>,
    pub fate: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Beneficiary {
    pub pid: i64,
    pub queue: u64,
}

/// The rules in force.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rules {
    pub rules: Vec<ShownRule>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownRule {
    pub id: u32,
    pub text: String,
    /// Its cgroup is gone, so that it is for nobody.
    pub dead: bool,
    /// The name for which it was added, which the module does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What every table begins with.
#[derive(Deserialize)]
struct Head {
    schema: Option<u64>,
}

impl Host {
    pub fn queues(&self) -> Result<Queues, Refusal> {
        self.table("queues")
    }

    pub fn stats(&self) -> Result<Stats, Refusal> {
        self.table("stats")
    }

    pub fn latencies(&self) -> Result<Latencies, Refusal> {
        self.table("latency")
    }

    pub fn events(&self) -> Result<Events, Refusal> {
        self.table("events")
    }

    pub fn rules(&self) -> Result<Rules, Refusal> {
        self.table("rules")
    }

    fn table<T: DeserializeOwned>(&self, name: &str) -> Result<T, Refusal> {
        self.need_module()?;
        let path = self.path(format!("sys/kernel/debug/{MODULE}/{name}.json"));
        let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Refusal::new("only root may read the tables: try with sudo")
            }
            io::ErrorKind::NotFound => Refusal(format!(
                "{} is missing: the module is not loaded any more (modprobe {MODULE}), \
                 or debugfs is not mounted or locked down",
                path.display()
            )),
            _ => cannot("read", &path, &error),
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let strange = |error| {
            Refusal(format!(
                "{} is not what it should be: {error}",
                path.display()
            ))
        };
        let head: Head = serde_json::from_str(&text).map_err(strange)?;
        if head.schema != Some(SCHEMA) {
            let found = head
                .schema
                .map_or("None".into(), |schema| schema.to_string());
            return Err(Refusal(format!(
                "{} has schema {found} and this program knows {SCHEMA}: \
                 take the one that belongs to the module",
                path.display()
            )));
        }
        serde_json::from_str(&text).map_err(strange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_bytes_that_the_kernel_escaped() {
        let text = r#"{"gpu":"g","node":0,"pid":1,"comm":"a\u00c3\u00bc\u001b","queue":1,"prio":7,
            "eff_prio":7,"rule":null,"rptr":null,"wptr":null,"waves":null,"contends":true,
            "state":"idle","stops":0,"run_ns":0,"stopped_ns":0}"#;
        let mut queue: Queue = serde_json::from_str(text).unwrap();
        assert_eq!(queue.comm_bytes(), Some(b"a\xc3\xbc\x1b".to_vec()));
        queue.comm = "\u{100}".into();
        assert_eq!(queue.comm_bytes(), None, "no byte is written so");
    }
}
