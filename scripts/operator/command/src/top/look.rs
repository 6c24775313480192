// SPDX-License-Identifier: GPL-2.0-only
//! What is read of the host for one picture.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use gpreempt_operator::act::follow::Names;
use gpreempt_operator::host::tables::{
    Event, LeftOut, Node, NodeLatencies, Queue, ShownRule, Stats,
};
use gpreempt_operator::host::tree::{Host, Refusal};
use gpreempt_operator::host::workload;

/// The tables of the module, and what belongs to them.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The mode that was written last; each node has the one that is in force there.
    pub mode: String,
    pub nodes: Vec<Node>,
    pub queues: Vec<Queue>,
    pub left_out: Vec<LeftOut>,
    pub latencies: Vec<NodeLatencies>,
    pub events: Vec<Event>,
    pub rules: Vec<ShownRule>,
    /// The paths of the processes' cgroups.
    pub cgroups: BTreeMap<i64, String>,
    /// When the processes were started, by which a number that is used again is noticed.
    pub started: BTreeMap<i64, u64>,
    /// The numbers that rules with names may give to others.
    pub named: Vec<RangeInclusive<u32>>,
    /// Why nothing can be changed from here, if so.
    pub read_only: Option<String>,
    /// Why a table that the picture can do without was not read.
    pub lacks: Option<String>,
}

/// Looks at the host.
pub fn look(host: &Host) -> Result<Look, Refusal> {
    let mut lacks = None;
    let Stats { nodes } = host.stats()?;
    let queues = host.queues()?;
    let latencies = or_lack(host.latencies(), &mut lacks).map(|table| table.nodes);
    let events = or_lack(host.events(), &mut lacks).map(|table| table.events);
    let rules = or_lack(host.rules(), &mut lacks).map(|table| table.rules);
    let mut cgroups = BTreeMap::new();
    for queue in &queues.queues {
        let own = cgroups.entry(queue.pid);
        own.or_insert_with(|| workload::cgroup(host, queue.pid).unwrap_or_default());
    }
    let unseen = queues.left_out.iter().map(|left| left.pid);
    let pids: BTreeSet<i64> = cgroups.keys().copied().chain(unseen).collect();
    let started = |pid| Some((pid, workload::started(host, pid)?));
    Ok(Look {
        mode: host.parameter("mode")?,
        nodes,
        queues: queues.queues,
        left_out: queues.left_out,
        latencies: latencies.unwrap_or_default(),
        events: events.unwrap_or_default(),
        rules: rules.unwrap_or_default(),
        cgroups,
        started: pids.into_iter().filter_map(started).collect(),
        named: Names::applied(host).numbers(),
        read_only: host.may_change().err().map(|refusal| refusal.0),
        lacks,
    })
}

fn or_lack<T>(table: Result<T, Refusal>, lacks: &mut Option<String>) -> Option<T> {
    table.map_err(|refusal| *lacks = Some(refusal.0)).ok()
}
