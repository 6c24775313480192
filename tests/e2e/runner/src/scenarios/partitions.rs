// SPDX-License-Identifier: GPL-2.0-only
//! A GPU that the driver divides while the module watches it: each partition is a node
//! of its own to KFD, with a scheduler, queues and an account of its own.

use anyhow::{ensure, Result};
use serde_json::json;

use super::contention::{accounts, armed, start_load, wait_until_stopped};
use super::hotplug::GPU;
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::agent::errno;
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "each partition of a divided GPU is scheduled on its own",
    needs: Needs {
        divisible: true,
        spoils: true,
        ..Needs::ANY
    },
    run: divided,
}];

/// The driver's file that says how the GPU is divided.
fn file() -> String {
    format!("/sys/bus/pci/devices/{GPU}/current_compute_partition")
}

/// Has the driver divide the GPU, upon which the module has a node for each partition.
fn divide(guest: &mut Guest, mode: &str, partitions: usize) -> Result<()> {
    guest.wait_until("the driver has let go of all programs", PATIENCE, |guest| {
        Ok(!is_busy(guest, mode)?)
    })?;
    is_in(guest, mode)?;
    guest.wait_until("the module has each partition", PATIENCE, |guest| {
        let rows = Table::Stats.read(guest)?;
        let numbers: Vec<_> = (0..partitions).map(|node| json!(node)).collect();
        let found: Vec<_> = rows.iter().map(|row| row["node"].clone()).collect();
        Ok(found == numbers && rows.iter().all(|row| row["gpu_id"] != 0))
    })
}

fn is_in(guest: &mut Guest, mode: &str) -> Result<()> {
    let found = guest.agent().read_file(&file())?;
    ensure!(found.trim() == mode, "the GPU is in mode {found}");
    Ok(())
}

/// Whether the driver refuses to divide the GPU, because a program has it, or is not gone
/// altogether.
fn is_busy(guest: &mut Guest, mode: &str) -> Result<bool> {
    const EBUSY: i32 = 16;
    match guest.agent().write_file(&file(), mode) {
        Ok(()) => Ok(false),
        Err(error) if errno(&error) == Some(EBUSY) => Ok(true),
        Err(error) => Err(error),
    }
}

/// An inversion in each partition at the same time.
fn inverted(guest: &mut Guest, partitions: u32) -> Result<Vec<Load>> {
    let loads = (0..partitions).map(|index| start_load(guest, index, json!({})));
    let loads: Vec<Load> = loads.collect::<Result<_>>()?;
    for load in &loads {
        wait_until_stopped(guest, load, 0)?;
    }
    for row in Table::Stats.read(guest)? {
        ensure!(row["stops"].as_u64() > Some(0), "{row}");
    }
    armed(guest)?;
    Ok(loads)
}

fn end(guest: &mut Guest, loads: Vec<Load>) -> Result<()> {
    for load in loads {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    Ok(())
}

fn divided(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    for (mode, partitions) in [("DPX", 2), ("QPX", 4)] {
        divide(guest, mode, partitions)?;
        let loads = inverted(guest, partitions as u32)?;
        ensure!(is_busy(guest, "SPX")?, "a GPU with queues was divided");
        is_in(guest, mode)?;
        module.set(guest, "mode", "observe")?;
        accounts(guest)?;
        end(guest, loads)?;
        module.set(guest, "mode", "enforce")?;
    }
    divide(guest, "SPX", 1)?;
    let loads = inverted(guest, 1)?;
    module.unload(guest)?;
    accounts(guest)?;
    end(guest, loads)
}
