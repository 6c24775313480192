// SPDX-License-Identifier: GPL-2.0-only
//! While a queue is stopped by the module, the GPU is reset, or its firmware is
//! late or does not answer. The suite of the virtual GPU has the same without
//! the module.

use anyhow::{ensure, Context, Result};
use serde_json::json;
use vgpu_model::{Faults, Fence};

use super::contention::{accounts, start_load, wait_until_stopped, Contention};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::recovery::{expect_hang, expect_reset, reset_gpu, FIRMWARE_IS_SILENT};
use super::refusal::reload;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::image::AMDGPU;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "the GPU is reset while a queue is stopped",
        needs: Needs::ANY,
        run: reset,
    },
    Scenario {
        suite: Suite::E2e,
        name: "firmware that is late is waited for",
        needs: Needs::ANY,
        run: late,
    },
    Scenario {
        suite: Suite::E2e,
        name: "firmware never answers when a queue is to be started",
        needs: Needs::ANY,
        run: never,
    },
    Scenario {
        suite: Suite::E2e,
        name: "firmware that does not answer is not asked again before the GPU is reset",
        needs: Needs {
            spoils: true,
            bare_metal: true,
            ..Needs::ONCE
        },
        run: not_again,
    },
    Scenario {
        suite: Suite::E2e,
        name: "failures in a row disarm a node until it is armed by hand",
        needs: Needs::ONCE,
        run: in_a_row,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a queue does not yield when it is to be stopped",
        needs: Needs::ANY,
        run: unyielding,
    },
];

pub(super) fn reset(guest: &mut Guest) -> Result<()> {
    expect_reset(guest);
    let contention = Contention::start(guest, "", json!({}))?;
    reset_gpu(guest, 0)?;
    contention.load.end(guest)?;
    contention.start_over(guest)
}

fn late(guest: &mut Guest) -> Result<()> {
    const LATE_NS: u64 = 3_000_000;
    let contention = Contention::start(guest, "", json!({}))?;
    guest.device.set_faults(Faults {
        fence: Fence::Late(LATE_NS),
        ..Faults::default()
    })?;
    for _ in 0..2 {
        contention.disturb(guest, |guest| {
            contention.module.set(guest, "mode", "observe")?;
            guest.wait_until("the queue runs", PATIENCE, |guest| {
                let row = contention.heavy(guest)?.context("the queue is gone")?;
                Ok(row["active"] == true)
            })?;
            contention.module.set(guest, "mode", "enforce")
        })?;
    }
    guest.device.set_faults(Faults::default())?;
    contention.finish(guest)
}

fn never(guest: &mut Guest) -> Result<()> {
    never_answers(guest, "")
}

/// `parameters` are those of the module besides the usual.
pub(super) fn never_answers(guest: &mut Guest, parameters: &str) -> Result<()> {
    expect_hang(guest);
    let contention = Contention::start(guest, parameters, json!({}))?;
    guest.device.set_faults(Faults {
        fence: Fence::Never,
        ..Faults::default()
    })?;
    // Now it has to be started, and only the module asks for anything.
    let pid = contention.load.pid("heavy")?;
    contention
        .module
        .add_rule(guest, &format!("1 pid={pid} exempt"))?;
    // The driver says so of its own attempt alone, and not of the module's before it.
    guest.wait_for_log("cp might be in an unrecoverable state", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    guest.wait_for_log(") succeeded!", PATIENCE)?;
    contention.load.end(guest)?;
    ensure!(
        Table::Stats.sum(guest, "failures")? > 0,
        "the module has not noticed"
    );
    contention.start_over(guest)
}

/// With a driver that is told not to reset the GPU by itself.
fn not_again(guest: &mut Guest) -> Result<()> {
    const TIMEOUT: &str = "cp might be in an unrecoverable state";
    const KEPT: &str = "backend hws stays in force with its settings";
    expect_hang(guest);
    guest.expect_log(KEPT);
    // The GPU's other nodes, which answer, can change it and need not.
    guest.expect_log("backend=mqd cannot work beside the hardware scheduler");
    guest.expect_log("the queues could not be taken off the GPU");
    reload(guest, AMDGPU, "gpu_recovery=0")?;
    let settings = format!("mode=enforce {UNBOUNDED}");
    let module = Module::load(guest, &settings)?;
    let load = start_load(guest, 0, json!({}))?;
    wait_until_stopped(guest, &load, 0)?;
    let usual = set_driver_patience(guest, "500")?;
    guest.device.set_faults(Faults {
        hung: true,
        ..Faults::default()
    })?;
    let before = guest.times_in_log(TIMEOUT)?;
    // Now it has to be started, and only the module asks for anything.
    let pid = load.pid("heavy")?;
    module.add_rule(guest, &format!("1 pid={pid} exempt"))?;
    guest.wait_for_log(FIRMWARE_IS_SILENT, PATIENCE)?;
    is_in_state(guest, "silent")?;

    // Each of these has everything started first.
    module.set(guest, "backend", "mqd")?;
    guest.wait_for_log(KEPT, PATIENCE)?;
    module.set(guest, "backend", "hws")?;
    module.set(guest, "mode", "off")?;
    ensure!(
        guest.times_in_log(TIMEOUT)? == before + 1,
        "the firmware was asked again"
    );
    ensure!(
        guest.times_in_log(FIRMWARE_IS_SILENT)? == 1,
        "it is said again"
    );

    module.set(guest, "mode", "enforce")?;
    reset_gpu(guest, 0)?;
    set_driver_patience(guest, &usual)?;
    load.end(guest)?;
    is_in_state(guest, "armed")?;
    let load = start_load(guest, 0, json!({}))?;
    wait_until_stopped(guest, &load, 0)?;
    module.unload(guest)?;
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// After each failure the GPU is reset, which mends it, and its programs end. The
/// second one is a failure in a row, because only one stop has worked in between.
fn in_a_row(guest: &mut Guest) -> Result<()> {
    const FAILURE: &str = "the queues could not be taken off the GPU";
    const RESET: &str = ") succeeded!";
    expect_hang(guest);
    guest.expect_log(FAILURE);
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} disarm_after=2"))?;
    for failure in 1..=2 {
        is_in_state(guest, "armed")?;
        let load = start_load(guest, 0, json!({}))?;
        wait_until_stopped(guest, &load, 0)?;
        let usual = set_driver_patience(guest, "500")?;
        let resets = guest.times_in_log(RESET)?;
        guest.device.set_faults(Faults {
            hung: true,
            ..Faults::default()
        })?;
        // Now it has to be started, and only the module asks for anything.
        let pid = load.pid("heavy")?;
        module.add_rule(guest, &format!("1 pid={pid} exempt"))?;
        is_in_state(guest, "silent")?;
        let node = Table::Stats.read(guest)?.swap_remove(0);
        ensure!(
            node["failures"] == json!(failure) && node["last_failure"] == FAILURE,
            "{node}"
        );
        guest.wait_until("the GPU is reset", PATIENCE, |guest| {
            Ok(guest.times_in_log(RESET)? > resets)
        })?;
        set_driver_patience(guest, &usual)?;
        load.end(guest)?;
    }
    is_in_state(guest, "disarmed")?;
    let said = format!("disarmed: too many transactions failed, the last because {FAILURE}");
    guest.wait_for_log(&said, PATIENCE)?;

    // What the module would end at once runs as it does without it.
    let transactions = Table::Stats.sum(guest, "transactions")?;
    let load = start_load(guest, 0, json!({}))?;
    accounts(guest)?;
    guest.wait_until("the heavy queue gets on", PATIENCE, |guest| {
        Ok(load.completed(guest, "heavy")? > 0)
    })?;
    let node = Table::Stats.read(guest)?.swap_remove(0);
    ensure!(
        node["state"] == "disarmed" && node["transactions"] == transactions && node["stopped"] == 0,
        "{node}"
    );

    // As the operations guide describes it.
    guest
        .agent()
        .shell("echo armed | tee /sys/devices/faux/amd_gpreempt/gpu_*/node0/state")?;
    wait_until_stopped(guest, &load, 0)?;
    is_in_state(guest, "armed")?;
    let node = Table::Stats.read(guest)?.swap_remove(0);
    ensure!(node["last_failure"].is_null(), "{node}");
    module.unload(guest)?;
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// Sets how long the driver waits for the firmware, in milliseconds, and returns
/// how long it did before.
pub(super) fn set_driver_patience(guest: &mut Guest, milliseconds: &str) -> Result<String> {
    const PARAMETER: &str = "/sys/module/amdgpu/parameters/queue_preemption_timeout_ms";
    let before = guest.agent().read_file(PARAMETER)?;
    guest.agent().write_file(PARAMETER, milliseconds)?;
    Ok(before.trim().into())
}

pub(super) fn is_in_state(guest: &mut Guest, state: &str) -> Result<()> {
    guest.wait_until(&format!("the node is {state}"), PATIENCE, |guest| {
        Ok(Table::Stats.read(guest)?[0]["state"] == state)
    })
}

fn unyielding(guest: &mut Guest) -> Result<()> {
    survives_unyielding(guest, "")
}

/// A queue that the driver has reset is not started by the module: with the next change of
/// the run list it would have to be reset once more.
fn stays_off(guest: &mut Guest, resets: impl Fn(&mut Guest) -> Result<usize>) -> Result<()> {
    const PASSES: u64 = 100;
    let (times, passes) = (resets(guest)?, Table::Stats.sum(guest, "passes")?);
    guest.wait_until("the module has looked again", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "passes")? >= passes + PASSES)
    })?;
    let other = ["workload", "copy", "--bytes", "4096"];
    Background::start(guest, &other, Expect::Success)?.succeed(guest, PATIENCE)?;
    let now = resets(guest)?;
    ensure!(now == times, "{now} resets instead of {times}");
    Ok(())
}

/// `parameters` are those of the module besides the usual.
pub(super) fn survives_unyielding(guest: &mut Guest, parameters: &str) -> Result<()> {
    expect_hang(guest);
    // The driver may reset the one queue instead of the GPU.
    for text in ["Queue preemption failed", "is reset", "Queues reset on"] {
        guest.expect_log(text);
    }
    let settings = format!("mode=observe {UNBOUNDED} {parameters}");
    let module = Module::load(guest, &settings)?;
    let load = start_load(guest, 0, json!({}))?;
    guest.wait_until("an inversion is seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "observed")? > 0)
    })?;
    // The heavy queue is the one that has waves.
    let doorbell = guest
        .device
        .mapped()?
        .into_iter()
        .max_by_key(|queue| queue.workgroups_resident)
        .context("no queue is mapped")?
        .queue
        .doorbell;
    let resets = |guest: &mut Guest| -> Result<usize> {
        Ok(guest.times_in_log("Queues reset on")? + guest.times_in_log(") succeeded!")?)
    };
    let before = resets(guest)?;
    // Its program learns of nothing, and so keeps what the driver leaves of it.
    let pid = load.pid("heavy")?;
    guest.agent().shell(&format!("kill -STOP {pid}"))?;
    guest.device.set_faults(Faults {
        unyielding: [doorbell].into(),
        ..Faults::default()
    })?;
    module.set(guest, "mode", "enforce")?;
    guest.wait_until("the queue or the GPU is reset", PATIENCE, |guest| {
        Ok(resets(guest)? > before)
    })?;
    if guest.times_in_log(") succeeded!")? == 0 {
        stays_off(guest, resets)?;
    }
    guest.device.set_faults(Faults::default())?;
    load.kill(guest)?;
    Contention { module, load }.start_over(guest)
}
