// SPDX-License-Identifier: GPL-2.0-only
//! Drivers and settings that the module cannot work with: it says which and why,
//! what to do instead, and touches nothing.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};

use super::hotplug::folder;
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::agent::errno;
use crate::driver_file::{self, Name, CHANGED};
use crate::guest::Guest;
use crate::image::{AMDGPU, AMDGPU_PARAMETERS};
use crate::module::{Module, Table};
use crate::partitions::Partitions;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a driver without the two functions is refused in words",
        needs: Needs::ONCE,
        run: without_functions,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a driver that is another one is refused in words",
        needs: Needs {
            spoils: true,
            ..Needs::ONCE
        },
        run: other_driver,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the hardware scheduler's backend is refused where there is none",
        needs: Needs {
            sched_policy: 2,
            ..Needs::ONCE
        },
        run: no_scheduler,
    },
];

/// Unloads amdgpu and loads a file as amdgpu.
pub(super) fn reload(guest: &mut Guest, file: &str, parameters: &str) -> Result<()> {
    // The driver releases a process some time after the process has ended.
    guest.wait_until("nobody uses amdgpu", Duration::from_secs(300), |guest| {
        let users = guest.agent().read_file("/sys/module/amdgpu/refcnt")?;
        Ok(users.trim() == "0")
    })?;
    guest.agent().rmmod("amdgpu")?;
    let parameters = format!("{AMDGPU_PARAMETERS} {} {parameters}", guest.image.amdgpu);
    guest.agent().insmod(file, parameters.trim())?;
    Partitions::restore(guest)
}

/// Each node is refused for a reason that names `why`, and says so in the log.
pub(super) fn is_refused(guest: &mut Guest, why: &str) -> Result<()> {
    guest.wait_for_log(why, PATIENCE)?;
    let nodes = guest.shape.nodes() as usize;
    for node in Table::Stats.wait_for_nodes(guest, nodes)? {
        let refusal = node["refusal"].as_str().unwrap_or("");
        let refused = node["state"] == "refused" && refusal.contains(why);
        ensure!(refused, "{node}");
    }
    Ok(())
}

pub(super) fn is_armed(guest: &mut Guest) -> Result<()> {
    guest.wait_until("the node is armed", PATIENCE, |guest| {
        let nodes = Table::Stats.read(guest)?;
        Ok(nodes.iter().all(|node| node["state"] == "armed"))
    })
}

fn without_functions(guest: &mut Guest) -> Result<()> {
    let symbol = "debug_map_and_unlock";
    driver_file::make(guest, Name::Symbol(symbol))?;
    reload(guest, CHANGED, "")?;
    let why = "backend=hws needs debug_lock_and_unmap and debug_map_and_unlock, which this amdgpu does not have: use a kernel that the module supports, or load amdgpu with sched_policy=2 and use backend=mqd";
    guest.expect_log(why);
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    guest.wait_for_log(&format!("amdgpu has no function {symbol}"), PATIENCE)?;
    is_refused(guest, why)?;
    what_is_gone_is_refused(guest, &module)?;
    is_refused(guest, why)?;
    ensure!(Table::Stats.sum(guest, "transactions")? == 0);
    module.unload(guest)?;
    reload(guest, AMDGPU, "")
}

/// A backend that there was once is answered with what to write instead.
fn what_is_gone_is_refused(guest: &mut Guest, module: &Module) -> Result<()> {
    const EINVAL: i32 = 22;
    const WHY: &str = "backend=process: no longer a value of this parameter: give backend=hws";
    guest.expect_log(WHY);
    match module.set(guest, "backend", "process") {
        Ok(()) => bail!("it takes a backend that is gone"),
        Err(error) => ensure!(errno(&error) == Some(EINVAL), "{error:#}"),
    }
    guest.wait_for_log(WHY, PATIENCE)
}

fn other_driver(guest: &mut Guest) -> Result<()> {
    const ENOEXEC: i32 = 8;
    refused_with(
        guest,
        Some(Name::Symbol("kgd_gfx_v9_get_cu_occupancy")),
        "",
        "kfd2kgd->get_cu_occupancy is not amdgpu's",
    )?;
    refused_with(
        guest,
        None,
        "cwsr_enable=0",
        "waves cannot be saved: load amdgpu with cwsr_enable=1",
    )?;

    for (name, what) in [
        (Name::Section(".BTF"), "it has no type information"),
        (
            Name::Field("active_queue_count"),
            "device_queue_manager.active_queue_count, a number of 4 bytes, is missing; Linux 6.12",
        ),
        (
            Name::Field("debug_map_and_unlock"),
            "debug_map_and_unlock() is missing",
        ),
    ] {
        driver_file::make(guest, name)?;
        reload(guest, CHANGED, "")?;
        let why = format!("does not fit this module: {what}");
        guest.expect_log(&why);
        match Module::load(guest, "") {
            Ok(_) => bail!("it loads beside a driver of which {what}"),
            Err(error) => ensure!(errno(&error) == Some(ENOEXEC), "{error:#}"),
        }
        guest.wait_for_log(&why, PATIENCE)?;
    }
    let devices = guest
        .agent()
        .list("/sys/devices/faux")
        // A kernel without faux devices has the folder with the module alone.
        .unwrap_or_default();
    ensure!(
        !devices.contains(&"amd_gpreempt".into()),
        "something of it stayed: {devices:?}"
    );
    Ok(())
}

/// Beside such a driver the module loads, says why, and leaves the GPU alone,
/// whatever it is told.
fn refused_with(guest: &mut Guest, name: Option<Name>, parameters: &str, why: &str) -> Result<()> {
    match name {
        Some(name) => {
            driver_file::make(guest, name)?;
            reload(guest, CHANGED, parameters)?;
        }
        None => reload(guest, AMDGPU, parameters)?,
    }
    guest.expect_log(why);
    let module = Module::load(guest, "mode=enforce")?;
    is_refused(guest, why)?;
    let bdf = Table::Stats.read(guest)?[0]["gpu"]
        .as_str()
        .context("a node without a GPU")?
        .to_owned();
    let state = format!("{}/node0/state", folder(&bdf));
    guest.agent().write_file(&state, "armed")?;
    is_refused(guest, why)?;
    ensure!(
        guest.agent().read_file(&state)?.trim() == "refused",
        "arming by hand went past the check"
    );
    ensure!(Table::Stats.sum(guest, "transactions")? == 0);
    module.unload(guest)
}

fn no_scheduler(guest: &mut Guest) -> Result<()> {
    let why = "backend=hws needs the hardware scheduler";
    guest.expect_log(why);
    let module = Module::load(guest, "backend=hws")?;
    is_refused(guest, why)?;
    module.set(guest, "backend", "mqd")?;
    is_armed(guest)?;
    module.unload(guest)
}
