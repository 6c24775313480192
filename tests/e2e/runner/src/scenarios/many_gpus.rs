// SPDX-License-Identifier: GPL-2.0-only
//! Eight GPUs of three kinds in one guest, of which two are divided, each in its own way. What
//! happens to one of them, no other waits for: its account of stops goes on. None can be
//! suspended alone, since the driver has no power management at run time for any of these
//! (smu_v13_0_6_ppt.c); the system sleeps with all of them.

use anyhow::{ensure, Context, Result};
use serde_json::json;
use vgpu_model::{Faults, Product};

use super::contention::{accounts, armed, heavy_queue, urgent_goes_on, wait_until_stopped};
use super::failure::set_driver_patience;
use super::hotplug::{wait_for_users, Unbinding, HELD, LETS_GO};
use super::partitions::{end, unanswered, wait_for_stops, SHORT_STOPS};
use super::preemption::{endless, PATIENCE};
use super::recovery::{expect_reset, reset_gpu};
use super::sleep::freeze;
use crate::device::Shape;
use crate::guest::Guest;
use crate::load::Load;
use crate::machine::Slot;
use crate::module::{Module, Table};
use crate::partitions::Partitions;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "each of eight GPUs of three kinds goes on, whatever happens to another",
    needs: Needs {
        // The runtime that knows this one knows the others as well.
        product: Some(Product::Mi350x),
        divisible: true,
        eight_gpus: true,
        small: true,
        spoils: true,
        long: true,
        once: true,
        driver: &[LETS_GO],
        ..Needs::ANY
    },
    run: apart,
}];

/// The numbers of the GPUs that are plugged in, and what becomes of each.
const DIVIDED: u32 = 1;
const UNBOUND: u32 = 2;
const RESET: u32 = 3;
const GPUS: usize = 8;
const NODES: usize = 10;

/// A node of the module's, with an inversion in it.
struct Node {
    gpu: String,
    number: u32,
    load: Load,
}

impl Node {
    /// Starts an inversion in the node that is the `index`th to programs.
    fn start(guest: &mut Guest, index: usize) -> Result<Node> {
        // Enough to fill the largest node, and little for the smallest.
        let heavy = heavy_queue(guest, json!({"workgroups": 256, "cost_ns": 5_000_000}));
        let queues = json!([heavy, endless(guest)]);
        // No request is given up because its GPU is silent for minutes.
        let load = json!({"queues": queues, "gpu": index, "request_timeout_ms": 3_600_000});
        let load = Load::start(guest, load)?;
        let id = load.identity("heavy")?.gpu_id;
        let rows = Table::Stats.read(guest)?;
        let row = rows.iter().find(|row| row["gpu_id"] == id);
        let row = row.with_context(|| format!("no node {id} in {rows:?}"))?;
        Ok(Node {
            gpu: row["gpu"].as_str().context("no GPU")?.to_owned(),
            number: u32::try_from(row["node"].as_u64().context("no number")?)?,
            load,
        })
    }

    fn is_of(&self, gpu: u32) -> bool {
        self.gpu == Slot::Gpu(gpu).address()
    }

    /// Waits until the module has stopped more of its queues than by now, and its urgent
    /// queue has gone on.
    fn goes_on(&self, guest: &mut Guest) -> Result<()> {
        const MORE: u64 = 2;
        wait_for_stops(guest, &self.gpu, self.number, MORE)?;
        urgent_goes_on(guest, &self.load)
    }
}

/// An inversion in each node that is left, ended by the module.
fn start(guest: &mut Guest, nodes: usize) -> Result<Vec<Node>> {
    Table::Stats.wait_for_nodes(guest, nodes)?;
    let started = (0..nodes).map(|index| Node::start(guest, index));
    let started: Vec<Node> = started.collect::<Result<_>>()?;
    for node in &started {
        wait_until_stopped(guest, &node.load, 0)?;
    }
    armed(guest)?;
    Ok(started)
}

/// Checks that each node but those of one GPU goes on.
fn others_go_on(guest: &mut Guest, nodes: &[Node], gpu: u32) -> Result<()> {
    for node in nodes.iter().filter(|node| !node.is_of(gpu)) {
        node.goes_on(guest)?;
    }
    Ok(())
}

fn plug_in(guest: &mut Guest) -> Result<()> {
    let other = |product, xcc| Shape {
        product,
        xcc,
        ..guest.shape.clone()
    };
    let mut shapes = vec![other(Product::Mi325x, 2)];
    shapes.resize(GPUS - 1, other(Product::Mi300x, 1));
    for shape in &shapes {
        guest.plug_other_gpu(shape)?;
    }
    guest.wait_for_gpus(GPUS)
}

/// The divided GPU's firmware does not answer, for which the driver waits for longer than all
/// this takes, so that it resets nothing.
fn silent(guest: &mut Guest, module: &Module, nodes: &[Node]) -> Result<()> {
    let node = nodes.iter().find(|node| node.is_of(DIVIDED));
    let node = node.context("the divided GPU has no load")?;
    let patience = set_driver_patience(guest, "600000")?;
    guest.gpu(DIVIDED)?.set_faults(Faults {
        held_fences: [0, 1].into(),
        ..Faults::default()
    })?;
    let pid = node.load.pid("urgent")?;
    module.add_rule(guest, &format!("1 pid={pid} exempt"))?;
    guest.wait_until("a GPU does not answer", PATIENCE, |guest| {
        Ok(unanswered(guest.gpu(DIVIDED)?)?.is_some())
    })?;
    others_go_on(guest, nodes, DIVIDED)?;
    let waiting = unanswered(guest.gpu(DIVIDED)?)?;
    ensure!(waiting.is_some(), "the GPU has answered");
    guest.gpu(DIVIDED)?.set_faults(Faults::default())?;
    module.delete_rule(guest, 1)?;
    for node in nodes {
        node.goes_on(guest)?;
    }
    armed(guest)?;
    set_driver_patience(guest, &patience).map(drop)
}

/// The system sleeps, before which the module starts what it has stopped on each node.
fn asleep(guest: &mut Guest, nodes: &[Node]) -> Result<()> {
    freeze(guest)?;
    for node in nodes {
        node.goes_on(guest)?;
    }
    armed(guest)
}

/// Programs have opened all GPUs, and ROCr ends each when one is reset.
fn reset(guest: &mut Guest, nodes: Vec<Node>) -> Result<()> {
    reset_gpu(guest, RESET)?;
    for node in nodes {
        node.load.end(guest)?;
    }
    Ok(())
}

fn unbound(guest: &mut Guest, nodes: Vec<Node>) -> Result<()> {
    let address = Slot::Gpu(UNBOUND).address();
    let unbinding = Unbinding::begin(guest, &address)?;
    others_go_on(guest, &nodes, UNBOUND)?;
    for node in nodes {
        node.load.kill(guest)?;
    }
    wait_for_users(guest, HELD)?;
    unbinding.go_on(guest)?;
    for node in start(guest, NODES - 1)? {
        ensure!(!node.is_of(UNBOUND), "a GPU is there that was unbound");
        node.load.kill(guest)?;
    }
    unbinding.bind(guest, NODES).map(drop)
}

fn apart(guest: &mut Guest) -> Result<()> {
    expect_reset(guest);
    plug_in(guest)?;
    let module = Module::load(guest, &format!("mode=enforce {SHORT_STOPS}"))?;
    Partitions::Dpx.divide_at(guest, Slot::Gpu(0))?;
    Partitions::Cpx.divide_at(guest, Slot::Gpu(DIVIDED))?;
    guest.wait_for_gpus(NODES)?;

    let nodes = start(guest, NODES)?;
    silent(guest, &module, &nodes)?;
    asleep(guest, &nodes)?;
    reset(guest, nodes)?;
    let nodes = start(guest, NODES)?;
    unbound(guest, nodes)?;
    let nodes = start(guest, NODES)?;
    module.unload(guest)?;
    accounts(guest)?;
    end(guest, nodes.into_iter().map(|node| node.load))
}
