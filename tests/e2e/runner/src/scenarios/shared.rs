// SPDX-License-Identifier: GPL-2.0-only
//! GPUs that many share: containers that are replicas of one GPU to a device plugin, with more
//! processes than the firmware has address spaces for, and partitions, all with more queues
//! than slots, so that the firmware's quanta are at work beside the module's stops.

use std::collections::BTreeMap;

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

use super::contention::{accounts, armed};
use super::partitions::divide;
use super::preemption::{PATIENCE, UNBOUNDED};
use super::work::{is_oversubscribed, TOO_LONG};
use crate::background::Expect;
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::partitions::Partitions;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "four containers of one GPU have more processes and queues than it has places",
        needs: Needs {
            small: true,
            long: true,
            ..Needs::ONCE
        },
        run: replicas,
    },
    Scenario {
        suite: Suite::E2e,
        name: "each of eight partitions has more queues than it has places",
        needs: Needs {
            divisible: true,
            small: true,
            spoils: true,
            long: true,
            once: true,
            ..Needs::ANY
        },
        run: partitions,
    },
];

const HIGHEST: u64 = 15;
const URGENT: &str = "urgent";

/// Work that fills a GPU of so many workgroups, and of which there is always some left.
fn batch(full: u32, group: &str, number: u32) -> Value {
    let more = json!({"group": group, "priority": 3, "requests": 1_000_000});
    let name = format!("{group}-{number}");
    queue(&name, 2 * full, 1_000_000, more)
}

/// Requests of the highest priority at a distance.
fn urgent(full: u32, group: &str) -> Value {
    let more = json!({"group": group, "priority": HIGHEST, "requests": 1_000_000,
        "arrival": {"closed_loop": {"depth": 1, "think_ns": 5_000_000}}});
    queue(URGENT, full, 100_000, more)
}

/// The same of requests that each have to wait for the turns of many.
fn patient(mut specification: Value) -> Value {
    specification["request_timeout_ms"] = json!(PATIENCE.as_millis() as u64);
    specification
}

/// Starts loads side by side.
fn start(guest: &mut Guest, specifications: Vec<Value>) -> Result<Vec<Load>> {
    let launch = |specification| Load::launch(guest, patient(specification), Expect::Success);
    let mut loads: Vec<Load> = specifications
        .into_iter()
        .map(launch)
        .collect::<Result<_>>()?;
    for load in &mut loads {
        load.wait_until_ready(guest)?;
    }
    Ok(loads)
}

/// How many requests each queue has completed, by the load's place and the queue's name.
type Completed = BTreeMap<(usize, String), u64>;

fn completed(guest: &mut Guest, loads: &[Load]) -> Result<Completed> {
    let mut all = BTreeMap::new();
    for (place, load) in loads.iter().enumerate() {
        let of_each_process: BTreeMap<u32, &str> = load
            .queues
            .iter()
            .map(|identity| (identity.pid, identity.name.as_str()))
            .collect();
        for queue in of_each_process.into_values() {
            let said = load.control(guest, queue, &["status"])?;
            for status in said.as_array().into_iter().flatten() {
                let of = || {
                    let name = status["name"].as_str()?.to_owned();
                    Some((name, status["completed"].as_u64()?))
                };
                let (name, completed) = of().with_context(|| format!("status {status}"))?;
                all.insert((place, name), completed);
            }
        }
    }
    Ok(all)
}

/// Waits until each queue of each load has completed some requests more than by now.
fn all_go_on(guest: &mut Guest, loads: &[Load], more: u64, why: &str) -> Result<()> {
    let before = completed(guest, loads)?;
    let mut late = Vec::new();
    let waited = guest.wait_until(why, PATIENCE, |guest| {
        let now = completed(guest, loads)?;
        late = before
            .iter()
            .filter(|(queue, before)| now.get(queue) < Some(&(*before + more)))
            .map(|(queue, _)| queue.clone())
            .collect();
        Ok(late.is_empty())
    });
    waited.with_context(|| format!("these did not: {late:?}"))
}

/// Waits until each queue of lower priority was stopped some times, beside so many urgent ones.
fn all_are_stopped(guest: &mut Guest, urgent: usize) -> Result<()> {
    const STOPS: u64 = 3;
    let mut spared = Vec::new();
    let waited = guest.wait_until("all but urgent queues are stopped", PATIENCE, |guest| {
        let mut rows = Table::Queues.read(guest)?;
        rows.retain(|row| row["internal"] == false);
        let (high, mut low): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row["eff_prio"] == HIGHEST);
        // A queue's own account has what was decided, a node's has what was done.
        let enough = STOPS * low.len() as u64;
        low.retain(|row| row["stops"].as_u64() < Some(STOPS));
        spared = low;
        let done = Table::Stats.sum(guest, "stops")?;
        Ok(high.len() == urgent && spared.is_empty() && done >= enough)
    });
    waited.with_context(|| format!("these were not: {spared:?}"))
}

/// Waits until the urgent queue of each load has completed more requests than before.
fn urgent_go_on(guest: &mut Guest, loads: &[Load], before: &Completed) -> Result<()> {
    const REQUESTS: u64 = 5;
    guest.wait_until("urgent queues go on", PATIENCE, |guest| {
        for (place, load) in loads.iter().enumerate() {
            let before = before.get(&(place, URGENT.to_owned()));
            let before = before.context("no urgent queue")?;
            if load.completed(guest, URGENT)? < before + REQUESTS {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// Ends loads and module, which has failed in nothing and leaves nothing.
fn end(guest: &mut Guest, module: Module, loads: Vec<Load>) -> Result<()> {
    armed(guest)?;
    for load in &loads {
        load.stop(guest)?;
    }
    for load in loads {
        load.finish(guest)?;
    }
    guest.wait_until("no queue is left to the module", PATIENCE, |guest| {
        let left = ["queues", "stopped"].map(|name| Table::Stats.sum(guest, name));
        let [queues, stopped] = left;
        Ok(queues? == 0 && stopped? == 0)
    })?;
    armed(guest)?;
    accounts(guest)?;
    let left = guest.device.mapped()?;
    ensure!(left.is_empty(), "the GPU has still {left:?}");
    module.unload(guest)
}

const CGROUP: &str = "/sys/fs/cgroup/replicas";
const CONTAINERS: usize = 4;
/// Processes of each container, and queues for batch work of each process.
const PROCESSES: u32 = 4;
const BATCH: u32 = 2;

/// Each container has several processes, one of them with an urgent queue. That of the last
/// counts for less, since a rule says that all of this container do.
fn replicas(guest: &mut Guest) -> Result<()> {
    const RULE: u64 = 10;
    const BELOW: u64 = 2;
    guest.expect_log(TOO_LONG);
    let mark = guest.device.hiq_mark()?;
    let module = Module::load(guest, &format!("mode=off {UNBOUNDED}"))?;
    let last = CONTAINERS - 1;
    for number in 0..CONTAINERS {
        guest
            .agent()
            .shell(&format!("mkdir -p {CGROUP}/{number}"))?;
    }
    module.add_rule(
        guest,
        &format!("{RULE} cgroup=/replicas/{last} prio={BELOW}"),
    )?;
    let full = guest.shape.full();
    let mut queues = vec![urgent(full, "process0")];
    for process in 0..PROCESSES {
        let group = format!("process{process}");
        queues.extend((0..BATCH).map(|number| batch(full, &group, number)));
    }
    let loads = start(guest, vec![json!({"queues": queues}); CONTAINERS])?;
    for (number, load) in loads.iter().enumerate() {
        for identity in &load.queues {
            let line = format!("echo {} >{CGROUP}/{number}/cgroup.procs", identity.pid);
            guest.agent().shell(&line)?;
        }
    }
    is_oversubscribed(guest, mark)?;
    all_go_on(guest, &loads, 1, "the firmware gives each queue its turn")?;

    module.set(guest, "mode", "enforce")?;
    let before = completed(guest, &loads)?;
    all_are_stopped(guest, last)?;
    let rows = Table::Queues.read(guest)?;
    for (number, load) in loads.iter().enumerate() {
        for identity in &load.queues {
            let row = rows
                .iter()
                .find(|row| row["pid"] == identity.pid && row["queue"] == identity.queue_id)
                .with_context(|| format!("{} is not in view", identity.name))?;
            let rule = (number == last).then_some(RULE);
            ensure!(row["rule"].as_u64() == rule, "{row}");
            ensure!(number != last || row["eff_prio"] == BELOW, "{row}");
        }
    }
    urgent_go_on(guest, &loads[..last], &before)?;
    all_go_on(guest, &loads, 1, "stops leave each queue its turn")?;
    end(guest, module, loads)?;
    // A cgroup with a process cannot be removed.
    guest
        .agent()
        .shell(&format!("rmdir {CGROUP}/[0-9] {CGROUP}"))?;
    Ok(())
}

/// Queues on each partition beside the urgent one.
const QUEUES: u32 = 29;

/// Thirty queues on each partition, of which the urgent one has a process of its own: none
/// is stopped for its own process.
fn partitions(guest: &mut Guest) -> Result<()> {
    guest.expect_log(TOO_LONG);
    let mark = guest.device.hiq_mark()?;
    // It has to know of each partition before there is a program.
    let module = Module::load(guest, &format!("mode=observe {UNBOUNDED}"))?;
    divide(guest, Partitions::Cpx)?;
    module.set(guest, "mode", "off")?;
    let count = Partitions::Cpx.count(guest.shape.xcc);
    let full = guest.shape.full() / count;
    let mut queues = vec![urgent(full, "urgent")];
    queues.extend((0..QUEUES).map(|number| batch(full, "batch", number)));
    // One after the other, since each program of ROCr opens each partition; and their save
    // areas stay, since video memory is short.
    let start = |gpu| Load::start_settled(guest, patient(json!({"queues": queues, "gpu": gpu})));
    let loads: Vec<Load> = (0..count).map(start).collect::<Result<_>>()?;
    is_oversubscribed(guest, mark)?;
    all_go_on(guest, &loads, 1, "the firmware gives each queue its turn")?;

    module.set(guest, "mode", "enforce")?;
    let before = completed(guest, &loads)?;
    all_are_stopped(guest, loads.len())?;
    for row in Table::Stats.read(guest)? {
        ensure!(row["stops"].as_u64() > Some(0), "{row}");
    }
    urgent_go_on(guest, &loads, &before)?;
    all_go_on(guest, &loads, 1, "stops leave each queue its turn")?;
    end(guest, module, loads)
}
