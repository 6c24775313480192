// SPDX-License-Identifier: GPL-2.0-only
//! A GPU that the driver divides while the module watches it: each partition is a node
//! of its own to KFD, with a scheduler, queues and an account of its own.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde_json::{json, Value};
use vgpu_model::{Faults, HiqAction, HiqRecord};

use super::clients::devices;
use super::contention::{accounts, armed, heavy, start_load, urgent_goes_on, wait_until_stopped};
use super::failure::set_driver_patience;
use super::hotplug::{folder, GPU};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::probe::rocminfo;
use crate::agent::errno;
use crate::device::Device;
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::partitions::Partitions;
use crate::scenario::{Needs, Scenario, Suite};

const DIVISIBLE: Needs = Needs {
    divisible: true,
    spoils: true,
    ..Needs::ANY
};

/// One kernel is enough.
const ONCE: Needs = Needs {
    once: true,
    ..DIVISIBLE
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "each partition of a divided GPU is scheduled on its own",
        needs: DIVISIBLE,
        run: divided,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a partition that does not yield holds up no other",
        needs: DIVISIBLE,
        run: held_up,
    },
    Scenario {
        suite: Suite::E2e,
        name: "programs in HIP run on each partition of a divided GPU",
        needs: ONCE.compiled(),
        run: seen,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a GPU whose memory is divided as well is scheduled by partition",
        needs: Needs {
            divided_memory: true,
            long: true,
            ..ONCE
        },
        run: divided_memory,
    },
];

/// Bounds by which stops are short, so that there are many.
pub(super) const SHORT_STOPS: &str = "max_stop_ms=300 noprogress_ms=60000 stop_budget_ms=1000";

/// Has the driver divide the GPU, upon which the module has a node for each partition.
pub(super) fn divide(guest: &mut Guest, into: Partitions) -> Result<()> {
    into.divide(guest)?;
    let partitions = into.count(guest.shape.xcc);
    guest.wait_until("the module has each partition", PATIENCE, |guest| {
        let rows = Table::Stats.read(guest)?;
        let numbers: Vec<_> = (0..partitions).map(|node| json!(node)).collect();
        let found: Vec<_> = rows.iter().map(|row| row["node"].clone()).collect();
        Ok(found == numbers && rows.iter().all(|row| row["gpu_id"] != 0))
    })
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

pub(super) fn end(guest: &mut Guest, loads: impl IntoIterator<Item = Load>) -> Result<()> {
    for load in loads {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    Ok(())
}

/// A rule for the second partition exempts its programs alone.
fn counts_on_one(guest: &mut Guest, module: &Module, loads: &[Load]) -> Result<()> {
    let [first, second, ..] = loads else {
        bail!("there are not two partitions");
    };
    let stops = |row: Value| row["stops"].as_u64().unwrap_or(0);
    let before = heavy(guest, second)?.map_or(0, stops);
    module.add_rule(guest, &format!("1 comm=workload node={GPU}/1 exempt"))?;
    guest.wait_until("the queue of one partition is started", PATIENCE, |guest| {
        Ok(heavy(guest, second)?.is_some_and(|row| row["active"] == true && row["rule"] == 1))
    })?;
    let other = heavy(guest, first)?.context("the first partition has no queue")?;
    ensure!(
        other["state"] == "stopped" && other["rule"].is_null(),
        "{other}"
    );
    module.delete_rule(guest, 1)?;
    wait_until_stopped(guest, second, before)
}

fn divided(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let all = [Partitions::Dpx, Partitions::Qpx, Partitions::Cpx];
    for into in all {
        divide(guest, into)?;
        let loads = inverted(guest, into.count(guest.shape.xcc))?;
        counts_on_one(guest, &module, &loads)?;
        let divided = Partitions::Spx.try_to_divide(guest)?;
        ensure!(!divided, "a GPU with queues was divided");
        ensure!(into.is_in_force(guest)?, "the driver's file has changed");
        module.set(guest, "mode", "observe")?;
        accounts(guest)?;
        end(guest, loads)?;
        module.set(guest, "mode", "enforce")?;
    }
    divide(guest, Partitions::Spx)?;
    let loads = inverted(guest, 1)?;
    module.unload(guest)?;
    accounts(guest)?;
    end(guest, loads)
}

/// ROCr and the runtime of HIP have all partitions, each with the units of its own dies, and
/// they go on beside an inversion that the module ends.
fn seen(guest: &mut Guest) -> Result<()> {
    // With the module's own bounds, since the load gives a request up that waits for minutes.
    let module = Module::load(guest, "mode=enforce")?;
    for into in [Partitions::Qpx, Partitions::Cpx] {
        divide(guest, into)?;
        let partitions = into.count(guest.shape.xcc);
        let text = rocminfo(guest)?;
        let units = 4 * guest.shape.cu_per_sh * guest.shape.xcc / partitions;
        let has = |word: &str, value: &str| {
            let of = |line: &&str| {
                line.split_once(':')
                    .is_some_and(|(name, rest)| name.trim() == word && rest.trim() == value)
            };
            text.lines().filter(of).count() as u32
        };
        let facts = guest.shape.product.facts();
        ensure!(
            has("Name", facts.instructions) == partitions
                && has("Compute Unit", &units.to_string()) == partitions,
            "there are not {partitions} agents of {units} units in\n{text}"
        );
    }
    let load = start_load(guest, 1, json!({}))?;
    wait_until_stopped(guest, &load, 0)?;
    let number = devices(guest)?;
    ensure!(
        number == Partitions::Cpx.count(guest.shape.xcc),
        "the runtime of HIP has {number} devices"
    );
    armed(guest)?;
    module.unload(guest)?;
    accounts(guest)?;
    end(guest, vec![load])
}

/// The GPU has come up with its memory in four parts, for which the driver itself divides it
/// into dies. It refuses modes in which a partition would have memory of several parts.
fn divided_memory(guest: &mut Guest) -> Result<()> {
    const EINVAL: i32 = 22;
    let file = format!("/sys/bus/pci/devices/{GPU}/current_memory_partition");
    let mode = guest.agent().read_file(&file)?;
    ensure!(mode.trim() == "NPS4", "the memory is in mode {mode}");
    let into = Partitions::Cpx;
    ensure!(
        into.is_in_force(guest)?,
        "the driver has not divided the GPU"
    );
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    for into in [Partitions::Cpx, Partitions::Qpx] {
        if !into.is_in_force(guest)? {
            divide(guest, into)?;
        }
        let partitions = into.count(guest.shape.xcc);
        Table::Stats.wait_for_nodes(guest, partitions as usize)?;
        let loads = inverted(guest, partitions)?;
        module.set(guest, "mode", "observe")?;
        accounts(guest)?;
        end(guest, loads)?;
        module.set(guest, "mode", "enforce")?;
    }
    guest.expect_log("Invalid compute partition mode requested");
    for into in [Partitions::Spx, Partitions::Dpx] {
        let refused =
            guest.wait_until("the driver has let go of all programs", PATIENCE, |guest| {
                into.try_to_divide(guest)
            });
        let number = refused.as_ref().err().and_then(errno);
        ensure!(
            number == Some(EINVAL),
            "a partition has several parts: {refused:?}"
        );
    }
    module.unload(guest)
}

/// How often the module has stopped a queue of a partition of a GPU. Unlike a table, that waits
/// for no other partition's thread.
fn stops(guest: &mut Guest, gpu: &str, partition: u32) -> Result<u64> {
    let file = format!("{}/node{partition}/stops", folder(gpu));
    let text = guest.agent().read_file(&file)?;
    text.trim()
        .parse()
        .with_context(|| format!("{file}: {text}"))
}

/// Waits until the module has stopped so many more queues of a partition of a GPU than by now.
pub(super) fn wait_for_stops(
    guest: &mut Guest,
    gpu: &str,
    partition: u32,
    more: u64,
) -> Result<()> {
    let before = stops(guest, gpu, partition)?;
    let what = format!("partition {partition} of {gpu} is scheduled");
    guest.wait_until(&what, PATIENCE, |guest| {
        Ok(stops(guest, gpu, partition)? >= before + more)
    })
}

/// The oldest question to a scheduler that has waited for its answer for long.
pub(super) fn unanswered(gpu: &mut Device) -> Result<Option<u64>> {
    const LONG: Duration = Duration::from_millis(5);
    let now = gpu.now()?;
    let records = gpu.hiq(0)?;
    let is_old = |record: &&HiqRecord| {
        let asked = Duration::from_nanos(record.fetched.0);
        matches!(record.action, HiqAction::QueryStatus { .. })
            && record.completed.is_none()
            && now > asked + LONG
    };
    let oldest = records.iter().find(is_old);
    Ok(oldest.map(|record| record.sequence))
}

/// The driver is told to wait for the firmware for longer than all this takes, so that it
/// resets nothing.
fn held_up(guest: &mut Guest) -> Result<()> {
    const FIRST: u32 = 0;
    // On the same I/O die, and on the one that is farthest away.
    const OTHERS: [u32; 2] = [1, 7];
    const MORE_STOPS: u64 = 5;
    let module = Module::load(guest, &format!("mode=observe {SHORT_STOPS}"))?;
    divide(guest, Partitions::Cpx)?;
    let mut loads = Vec::new();
    for partition in [FIRST].into_iter().chain(OTHERS) {
        loads.push(start_load(guest, partition, json!({}))?);
    }
    let patience = set_driver_patience(guest, "600000")?;
    guest.device.set_faults(Faults {
        held_fences: [FIRST].into(),
        ..Faults::default()
    })?;
    module.set(guest, "mode", "enforce")?;
    let mut question = None;
    guest.wait_until("a partition does not yield", PATIENCE, |guest| {
        question = unanswered(&mut guest.device)?;
        Ok(question.is_some())
    })?;

    // A program that begins or ends now would wait: the driver takes the lock of each node.
    for partition in OTHERS {
        wait_for_stops(guest, GPU, partition, MORE_STOPS)?;
    }
    for load in &loads[1..] {
        urgent_goes_on(guest, load)?;
    }
    ensure!(
        unanswered(&mut guest.device)? == question,
        "the partition has yielded"
    );

    guest.device.set_faults(Faults::default())?;
    module.set(guest, "max_stop_ms", "60000")?;
    for load in &loads {
        wait_until_stopped(guest, load, 0)?;
    }
    armed(guest)?;
    set_driver_patience(guest, &patience)?;
    module.unload(guest)?;
    accounts(guest)?;
    end(guest, loads)
}
