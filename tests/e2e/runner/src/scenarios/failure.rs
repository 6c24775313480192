// SPDX-License-Identifier: GPL-2.0
//! While a queue is stopped by the module, the GPU is reset, or its firmware is
//! late or does not answer. The suite of the virtual GPU has the same without
//! the module.

use anyhow::{ensure, Context, Result};
use serde_json::json;
use vgpu_model::{Faults, Fence, QueueKind};

use super::contention::{start_load, Contention};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::recovery::{expect_hang, expect_reset};
use crate::guest::Guest;
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
        name: "a queue does not yield when it is to be stopped",
        needs: Needs::ANY,
        run: unyielding,
    },
];

fn reset(guest: &mut Guest) -> Result<()> {
    expect_reset(guest);
    let contention = Contention::start(guest, "", json!({}))?;
    let resets = guest.device.state()?.resets;
    guest
        .agent()
        .shell("cat /sys/kernel/debug/dri/0000:01:00.0/amdgpu_gpu_recover")?;
    guest.wait_for_log(") succeeded!", PATIENCE)?;
    ensure!(
        guest.device.state()?.resets > resets,
        "the device saw no reset"
    );
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
    expect_hang(guest);
    let contention = Contention::start(guest, "", json!({}))?;
    guest.device.set_faults(Faults {
        fence: Fence::Never,
        ..Faults::default()
    })?;
    // Now it has to be started, and nobody but the module asks for anything.
    let pid = contention.load.pid("heavy")?;
    contention
        .module
        .add_rule(guest, &format!("1 pid={pid} exempt"))?;
    guest.wait_for_log("fence wait loop timeout", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    guest.wait_for_log(") succeeded!", PATIENCE)?;
    contention.load.end(guest)?;
    ensure!(
        Table::Stats.sum(guest, "failures")? > 0,
        "the module has not noticed"
    );
    contention.start_over(guest)
}

fn unyielding(guest: &mut Guest) -> Result<()> {
    expect_hang(guest);
    // The driver may reset the one queue instead of the GPU.
    for text in ["Queue preemption failed", "is reset", "Queues reset on"] {
        guest.expect_log(text);
    }
    let module = Module::load(guest, &format!("mode=observe {UNBOUNDED}"))?;
    let load = start_load(guest, 0, json!({}))?;
    guest.wait_until("an inversion is seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "observed")? > 0)
    })?;
    // The heavy queue is the one that has waves.
    let doorbell = guest
        .device
        .queues()?
        .into_iter()
        .filter(|queue| queue.kind == QueueKind::Aql && queue.mapped.is_some())
        .max_by_key(|queue| queue.workgroups_resident)
        .context("no queue is mapped")?
        .queue
        .doorbell;
    guest.device.set_faults(Faults {
        unyielding: [doorbell].into(),
        ..Faults::default()
    })?;
    module.set(guest, "mode", "enforce")?;
    guest.wait_for_log("reset", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    load.kill(guest)?;
    Contention { module, load }.start_over(guest)
}
