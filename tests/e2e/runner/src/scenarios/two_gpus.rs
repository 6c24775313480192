// SPDX-License-Identifier: GPL-2.0-only
//! Two GPUs in one guest: what is done on one is of no concern to the other.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};
use vgpu_model::{Faults, Fence};

use super::contention::{accounts, armed, heavy, start_load, urgent_goes_on, wait_until_stopped};
use super::failure::set_driver_patience;
use super::hotplug::{folder, wait_for_users, Unbinding, GPU, HELD, LETS_GO};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::recovery::expect_hang;
use crate::guest::Guest;
use crate::load::Load;
use crate::machine::Slot;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

const NEEDS: Needs = Needs {
    one_die: true,
    once: true,
    whole: true,
    small: true,
    spoils: true,
    ..Needs::ANY
};

/// Programs can use the other GPU while one is unbound.
const UNBINDS: Needs = Needs {
    driver: &[LETS_GO],
    ..NEEDS
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "one of two GPUs is unbound while a queue of each is stopped",
        needs: UNBINDS,
        run: removed,
    },
    Scenario {
        suite: Suite::E2e,
        name: "one of two GPUs is disarmed and the other goes on",
        needs: NEEDS,
        run: disarmed,
    },
    Scenario {
        suite: Suite::E2e,
        name: "one of two GPUs acts, by a mode of its own that outlives an unbinding",
        needs: UNBINDS,
        run: acts_alone,
    },
];

/// Queues of the load of one GPU, with ROCr's own.
const QUEUES: usize = 4;

/// An inversion on one of the GPUs, in a load of its own.
struct Side {
    /// Its name on the PCI bus.
    gpu: String,
    load: Load,
}

impl Side {
    /// Starts the load on a GPU that is the `index`th to programs.
    fn start(guest: &mut Guest, gpu: &str, index: u32) -> Result<Side> {
        Ok(Side {
            gpu: gpu.into(),
            load: start_load(guest, index, json!({}))?,
        })
    }

    /// The module's account of the heavy queue.
    fn heavy(&self, guest: &mut Guest) -> Result<Value> {
        heavy(guest, &self.load)?.context("the heavy queue is gone")
    }

    /// Waits until the heavy queue is stopped, which it is most of the time: the
    /// urgent one pauses now and then.
    fn wait_until_stopped(&self, guest: &mut Guest) -> Result<()> {
        wait_until_stopped(guest, &self.load, 0)
    }

    /// Waits until the heavy queue is stopped, and checks that nothing ever started
    /// it but a decision of its own node: that of calm.
    fn is_undisturbed(&self, guest: &mut Guest) -> Result<()> {
        self.wait_until_stopped(guest)?;
        let pid = self.load.pid("heavy")?;
        let mut stopped = false;
        for event in Table::Events.read(guest)? {
            if event["pid"] != pid || event["gpu"] != *self.gpu {
                continue;
            }
            let as_it_should = match event["action"].as_str() {
                Some("stop") => !stopped,
                Some("start") => stopped && event["reason"] == "calm",
                _ => false,
            };
            ensure!(as_it_should && event["fate"] == "done", "{event}");
            stopped = !stopped;
        }
        Ok(())
    }

    fn wait_until_running(&self, guest: &mut Guest) -> Result<()> {
        guest.wait_until("the heavy queue runs", PATIENCE, |guest| {
            Ok(self.heavy(guest)?["active"] == true)
        })
    }
}

/// Starts a load on each GPU.
fn start(guest: &mut Guest, second: &str) -> Result<[Side; 2]> {
    Ok([Side::start(guest, GPU, 0)?, Side::start(guest, second, 1)?])
}

/// The row of a GPU's node.
fn node(guest: &mut Guest, gpu: &str) -> Result<Value> {
    let rows = Table::Stats.read(guest)?;
    let row = rows.iter().find(|row| row["gpu"] == gpu);
    row.cloned()
        .with_context(|| format!("no node of {gpu} in {rows:?}"))
}

/// How many queues of programs a GPU runs.
fn running(guest: &mut Guest, gpu: u32) -> Result<usize> {
    Ok(guest.gpu(gpu)?.mapped()?.len())
}

/// The module with two GPUs, and the name of the second.
fn load(guest: &mut Guest, mode: &str) -> Result<(Module, String)> {
    // The driver of Linux 6.12 asks virtual functions for it, too, once there are two.
    guest.expect_log("enable mgpu fan boost failed");
    guest.add_second_gpu()?;
    let name = Slot::Gpu(1).address();
    let parameters = format!("mode={mode} disarm_after=1 {UNBOUNDED}");
    let module = Module::load(guest, &parameters)?;
    Table::Stats.wait_for_nodes(guest, 2)?;
    Ok((module, name))
}

/// The module, and an inversion on each of two GPUs, both of which are ended.
fn begin(guest: &mut Guest) -> Result<(Module, [Side; 2])> {
    let (module, name) = load(guest, "enforce")?;
    let sides = start(guest, &name)?;
    for side in &sides {
        side.wait_until_stopped(guest)?;
    }
    Ok((module, sides))
}

fn end(guest: &mut Guest, module: Module, sides: [Side; 2]) -> Result<()> {
    module.unload(guest)?;
    accounts(guest)?;
    for side in sides {
        side.load.stop(guest)?;
        side.load.finish(guest)?;
    }
    Ok(())
}

/// Both inversions are ended at the same time, each by its own node, and each is
/// shown with its own GPU.
fn tables(guest: &mut Guest, sides: &[Side]) -> Result<()> {
    guest.wait_until("a queue of each GPU is stopped", PATIENCE, |guest| {
        let count = [running(guest, 0)?, running(guest, 1)?];
        Ok(count == [QUEUES - 1; 2])
    })?;
    for side in sides {
        let row = node(guest, &side.gpu)?;
        ensure!(
            row["gpu_id"] == side.load.identity("heavy")?.gpu_id
                && row["queues"] == json!(QUEUES)
                && row["stops"].as_u64() > Some(0),
            "{row}"
        );
        let heavy = side.heavy(guest)?;
        ensure!(
            heavy["gpu"] == *side.gpu && heavy["gpu_id"] == row["gpu_id"],
            "{heavy}"
        );
        for name in ["gpu_id", "queues"] {
            let path = format!("{}/node0/{name}", folder(&side.gpu));
            let text = guest.agent().read_file(&path)?;
            ensure!(row[name] == text.trim().parse::<u64>()?, "{path}: {text}");
        }
    }
    Ok(())
}

/// A rule has the queue of one GPU run, and that of the other stays as it is.
fn rules(guest: &mut Guest, module: &Module, sides: &[Side]) -> Result<()> {
    for (one, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
        let pid = one.load.pid("urgent")?;
        module.add_rule(guest, &format!("1 pid={pid} exempt"))?;
        one.wait_until_running(guest)?;
        other.is_undisturbed(guest)?;
        ensure!(one.heavy(guest)?["active"] == true, "it was stopped again");
        module.delete_rule(guest, 1)?;
        one.is_undisturbed(guest)?;
    }
    Ok(())
}

/// The second GPU is taken from the driver. Loads of both end then, because ROCr
/// opens every GPU.
fn removed(guest: &mut Guest) -> Result<()> {
    let (module, sides) = begin(guest)?;
    tables(guest, &sides)?;
    rules(guest, &module, &sides)?;
    let [first, side] = &sides;
    let unbinding = Unbinding::begin(guest, &side.gpu)?;
    let queues = Table::Queues.read(guest)?;
    ensure!(
        queues.iter().all(|row| row["gpu"] == *first.gpu),
        "{queues:?}"
    );
    guest.wait_until("all queues of the second GPU run", PATIENCE, |guest| {
        Ok(running(guest, 1)? == QUEUES)
    })?;
    urgent_goes_on(guest, &first.load)?;
    first.is_undisturbed(guest)?;
    for side in &sides {
        side.load.kill(guest)?;
    }
    wait_for_users(guest, HELD)?;
    unbinding.go_on(guest)?;
    let first = Side::start(guest, GPU, 0)?;
    first.is_undisturbed(guest)?;
    // The GPU that is back is a node as any.
    let name = unbinding.bind(guest, 2)?;
    Table::Stats.wait_for_nodes(guest, 2)?;
    let side = Side::start(guest, &name, 1)?;
    side.is_undisturbed(guest)?;
    first.is_undisturbed(guest)?;
    armed(guest)?;
    end(guest, module, [first, side])
}

/// The second GPU's firmware does not answer, which disarms its node, and it alone.
/// Loads of both end at the reset, because ROCr opens every GPU.
fn disarmed(guest: &mut Guest) -> Result<()> {
    expect_hang(guest);
    guest.expect_log("the queues could not be taken off the GPU");
    let (module, sides) = begin(guest)?;
    let name = &sides[1].gpu;
    let pid = sides[1].load.pid("urgent")?;
    module.add_rule(guest, &format!("1 pid={pid} exempt"))?;
    sides[1].wait_until_running(guest)?;
    let usual = set_driver_patience(guest, "3000")?;
    guest.gpu(1)?.set_faults(Faults {
        fence: Fence::Never,
        ..Faults::default()
    })?;
    module.delete_rule(guest, 1)?;
    guest.wait_until("the second GPU's node is disarmed", PATIENCE, |guest| {
        Ok(node(guest, name)?["state"] == "disarmed")
    })?;
    guest.gpu(1)?.set_faults(Faults::default())?;
    guest.wait_for_log(") succeeded!", PATIENCE)?;
    set_driver_patience(guest, &usual)?;
    for side in &sides {
        side.load.end(guest)?;
    }

    // The first works as before, and the second as without the module.
    let [first, side] = start(guest, name)?;
    first.is_undisturbed(guest)?;
    guest.wait_until("all queues of the second GPU run", PATIENCE, |guest| {
        Ok(running(guest, 1)? == QUEUES)
    })?;
    let row = node(guest, name)?;
    ensure!(row["state"] == "disarmed" && row["stopped"] == 0, "{row}");
    let row = node(guest, GPU)?;
    ensure!(row["state"] == "armed" && row["failures"] == 0, "{row}");
    let state = format!("{}/node0/state", folder(name));
    guest.agent().write_file(&state, "armed")?;
    side.wait_until_stopped(guest)?;
    first.is_undisturbed(guest)?;
    end(guest, module, [first, side])
}

/// Checks that a GPU finds its inversion, but stops nothing, and has never done so.
fn only_observes(guest: &mut Guest, side: &Side) -> Result<()> {
    guest.wait_until("something would be stopped", PATIENCE, |guest| {
        let row = node(guest, &side.gpu)?;
        Ok(row["inversions"].as_u64() > Some(0) && row["observed"].as_u64() > Some(0))
    })?;
    let row = node(guest, &side.gpu)?;
    ensure!(
        row["mode"] == "observe" && row["stops"] == 0 && row["transactions"] == 0,
        "{row}"
    );
    let count = running(guest, 0)?;
    ensure!(count == QUEUES, "{count} queues of the first GPU run");
    Ok(())
}

/// The second GPU alone acts. Taken from the driver and given back it still does, and it
/// starts everything when it gives its mode up.
fn acts_alone(guest: &mut Guest) -> Result<()> {
    let (module, name) = load(guest, "observe")?;
    let mode = format!("{}/mode", folder(&name));
    ensure!(guest.agent().read_file(&mode)?.trim() == "module");
    guest.agent().write_file(&mode, "enforce")?;
    let [first, side] = start(guest, &name)?;
    side.wait_until_stopped(guest)?;
    side.is_undisturbed(guest)?;
    only_observes(guest, &first)?;
    // What is set for all is not for one with a mode of its own.
    module.set(guest, "mode", "off")?;
    side.is_undisturbed(guest)?;
    module.set(guest, "mode", "observe")?;
    guest.agent().write_file(&mode, "module")?;
    side.wait_until_running(guest)?;
    guest.wait_until("all queues of the second GPU run", PATIENCE, |guest| {
        Ok(running(guest, 1)? == QUEUES)
    })?;
    guest.agent().write_file(&mode, "enforce")?;
    side.wait_until_stopped(guest)?;

    let unbinding = Unbinding::begin(guest, &name)?;
    for side in [&first, &side] {
        side.load.kill(guest)?;
    }
    wait_for_users(guest, HELD)?;
    unbinding.go_on(guest)?;
    let name = unbinding.bind(guest, 2)?;
    Table::Stats.wait_for_nodes(guest, 2)?;
    ensure!(guest.agent().read_file(&mode)?.trim() == "enforce");
    let [first, side] = start(guest, &name)?;
    side.wait_until_stopped(guest)?;
    only_observes(guest, &first)?;
    armed(guest)?;
    end(guest, module, [first, side])
}
