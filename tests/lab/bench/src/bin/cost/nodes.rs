// SPDX-License-Identifier: GPL-2.0-only
//! What the threads of all nodes take of a processor, in a guest with one processor whose
//! clock counts instructions, and what each node takes of memory: of one GPU as it comes,
//! of one that is divided into its dies, and of two such.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e_runner::cache::Cache;
use e2e_runner::guest::Guest;
use e2e_runner::load::{queue, Load};
use e2e_runner::machine::Slot;
use e2e_runner::module::{Module, Table};
use e2e_runner::partitions::Partitions;
use e2e_runner::scenario::{Configuration, Needs};
use serde_json::{json, Value};

use crate::{free, idle, say, NEEDS, PATIENCE};

/// These tables begin so, and go to the end of the document.
pub const MANY: &str = "\n### Many nodes\n";
/// Dies of each GPU, of which each can be a node.
const DIES: u32 = 8;
/// Queues on each node, with ROCr's own.
const QUEUES: u64 = 24;
/// The priority of queues of which nothing is said.
const DEFAULT: u32 = 7;
/// What a processor executes in a second that completes two instructions in each cycle.
const OF_A_PROCESSOR: f64 = 6e9;

/// What was measured with so many nodes.
struct Row {
    nodes: u32,
    queues: String,
    taken: Taken,
}

pub fn tables(cache: &Cache, configuration: &Configuration) -> Result<String> {
    let needs = Needs {
        one_processor: true,
        divisible: true,
        ..NEEDS
    };
    let configuration = Configuration {
        xcc: DIES,
        ..configuration.clone()
    };
    let mut guest = configuration.start(cache, &needs)?;
    let mut rows = Vec::new();
    let mut kib: Vec<(u32, u64)> = Vec::new();
    for nodes in [1, DIES, 2 * DIES] {
        match nodes {
            1 => (),
            DIES => {
                Partitions::Cpx.divide(&mut guest)?;
                guest.shape.partitions = Partitions::Cpx;
            }
            _ => {
                let shape = guest.shape.clone();
                guest.plug_other_gpu(&shape)?;
                guest.wait_for_gpus(1 + DIES as usize)?;
                Partitions::Cpx.divide_at(&mut guest, Slot::Gpu(1))?;
            }
        }
        guest.wait_for_gpus(nodes as usize)?;
        kib.push((nodes, memory(&mut guest, nodes)?));
        say(&format!("{kib:?}"));
        rows.extend(work(&mut guest, nodes)?);
    }
    Ok(format!(
        "{MANY}{}{}",
        table_of_work(&rows),
        table_of_memory(&kib)
    ))
}

/// With no queues, with some on one node, on all nodes, and on one node with another at work.
fn work(guest: &mut Guest, nodes: u32) -> Result<Vec<Row>> {
    let module = Module::load(guest, "mode=enforce")?;
    Table::Stats.wait_for_nodes(guest, nodes as usize)?;
    let mut rows = Vec::new();
    let mut row = |guest: &mut Guest, queues: String| -> Result<()> {
        say(&format!("{nodes} nodes, queues: {queues}"));
        let taken = taken(guest)?;
        say(&format!("{taken:?}"));
        rows.push(Row {
            nodes,
            queues,
            taken,
        });
        Ok(())
    };
    row(guest, "none".into())?;
    let mut loads = Vec::new();
    for node in 0..nodes {
        loads.push(start(guest, node, (1..QUEUES).map(idle).collect())?);
        if node == 0 && nodes > 1 {
            seen(guest, QUEUES)?;
            row(guest, format!("{QUEUES} idle on one node"))?;
        }
    }
    seen(guest, u64::from(nodes) * QUEUES)?;
    row(guest, format!("{QUEUES} idle on each"))?;
    if nodes == 1 {
        // More nodes would want more than this processor has.
        for (priority, among) in [(DEFAULT, "its equals"), (0, "those above it")] {
            let more = json!({"priority": priority, "requests": 1_000_000,
                "arrival": {"closed_loop": {"depth": 4}}});
            let at_work = queue("work", 3 * guest.shape.full(), 4_000_000, more);
            let load = start(guest, 0, vec![at_work])?;
            seen(guest, QUEUES + 2)?;
            row(
                guest,
                format!("{QUEUES} idle, and one at work among {among}"),
            )?;
            load.kill(guest)?;
            seen(guest, QUEUES)?;
        }
    }
    for load in loads {
        load.kill(guest)?;
    }
    module.unload(guest)?;
    Ok(rows)
}

fn start(guest: &mut Guest, node: u32, queues: Vec<Value>) -> Result<Load> {
    Load::start(guest, json!({"queues": queues, "gpu": node}))
}

fn seen(guest: &mut Guest, queues: u64) -> Result<()> {
    guest.wait_until("all queues are seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "queues")? == queues)
    })
}

/// In a second of the guest's time, by all nodes.
#[derive(Debug)]
struct Taken {
    passes: f64,
    instructions: f64,
}

fn taken(guest: &mut Guest) -> Result<Taken> {
    const WHILE: Duration = Duration::from_secs(10);
    // Nanoseconds on a processor, of which each is an instruction. What a thread has taken
    // since it was given the processor last is not among them: less than a pass.
    const THREADS: &str = "for t in /proc/[0-9]*; do grep -q '^gp/' $t/comm 2>/dev/null && \
                           cut -d ' ' -f 1 $t/schedstat; done; true";
    let now = |guest: &mut Guest| -> Result<(f64, u64, u64)> {
        let uptime = guest.agent().read_file("/proc/uptime")?;
        let uptime = uptime.split_whitespace().next().context("no uptime")?;
        let threads = guest.agent().shell(THREADS)?;
        let taken = threads.lines().map(|line| {
            let taken = line.trim().parse::<u64>();
            taken.with_context(|| format!("the threads took '{threads}'"))
        });
        let passes = Table::Stats.sum(guest, "passes")?;
        Ok((uptime.parse()?, taken.sum::<Result<_>>()?, passes))
    };
    let before = now(guest)?;
    guest.agent().pause(WHILE)?;
    let after = now(guest)?;
    let seconds = after.0 - before.0;
    Ok(Taken {
        passes: (after.2 - before.2) as f64 / seconds,
        instructions: (after.1 - before.1) as f64 / seconds,
    })
}

/// What a load of the module takes with so many nodes, in KiB: the middle one of some.
fn memory(guest: &mut Guest, nodes: u32) -> Result<u64> {
    const TRIES: usize = 3;
    say(&format!("{nodes} nodes, memory"));
    let mut taken = Vec::new();
    for _ in 0..TRIES {
        let before = free(guest)?;
        let module = Module::load(guest, "mode=observe")?;
        Table::Stats.wait_for_nodes(guest, nodes as usize)?;
        taken.push(before.saturating_sub(free(guest)?));
        module.unload(guest)?;
    }
    taken.sort_unstable();
    Ok(taken[TRIES / 2])
}

fn table_of_work(rows: &[Row]) -> String {
    let mut out = String::from(
        "\nWith all parameters at their defaults, but `mode=enforce`. The last column is of a processor\n\
         that completes two instructions in each cycle of 3 GHz:\n\n\
         | nodes | queues | passes a second | million instructions a second | of a processor |\n\
         |---|---|---|---|---|\n",
    );
    for row in rows {
        let Taken {
            passes,
            instructions,
        } = row.taken;
        out += &format!(
            "| {} | {} | {passes:.1} | {:.2} | {:.2} % |\n",
            row.nodes,
            row.queues,
            instructions / 1e6,
            100.0 * instructions / OF_A_PROCESSOR,
        );
    }
    out
}

fn table_of_memory(kib: &[(u32, u64)]) -> String {
    let mut out = String::from(
        "\nA load of the module, by the free memory of the guest:\n\n\
         | nodes | memory |\n\
         |---|---|\n",
    );
    for (nodes, kib) in kib {
        out += &format!("| {nodes} | {kib} KiB |\n");
    }
    out
}
