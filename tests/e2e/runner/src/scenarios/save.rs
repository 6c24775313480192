// SPDX-License-Identifier: GPL-2.0
//! Waves saved to memory and restored from it, for each reason that the stock
//! driver has to do so.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde_json::{json, Value};
use vgpu_model::QueueReport;

use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "a debugger suspends and resumes a loaded queue",
        needs: Needs::ANY,
        run: debugger,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "the state of saved waves can be read",
        needs: Needs::ANY,
        run: wave_state,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "waves are saved where read pointers move at completion",
        needs: Needs {
            rptr_at_completion: true,
            ..Needs::ANY
        },
        run: at_completion,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "eviction for video memory is survived",
        needs: Needs {
            small: true,
            ..Needs::ANY
        },
        run: eviction,
    },
];

const PATIENCE: Duration = Duration::from_secs(120);

/// A load whose waves are always there to be saved, until it is stopped.
pub(super) fn start(guest: &mut Guest) -> Result<Load> {
    let more = json!({
        "arrival": {"closed_loop": {"depth": 2}}, "requests": 1_000_000,
        "kernel": {"vector_registers": 64, "scalar_registers": 64, "lds_bytes": 4096},
    });
    // Several times what the GPU holds at once.
    let workgroups = 64 * guest.shape.cu_per_sh * guest.shape.xcc;
    let load = Load::start(
        guest,
        json!({"queues": [queue("victim", workgroups, 1_000_000, more)]}),
    )?;
    running(guest)?;
    Ok(load)
}

/// The device's account of the queue that the load keeps busy: the newest with
/// waves. One that was destroyed with saved waves keeps them in its account.
fn victim(guest: &mut Guest) -> Result<Option<QueueReport>> {
    let queues = guest.device.queues()?;
    Ok(queues
        .into_iter()
        .rfind(|queue| queue.workgroups_resident + queue.workgroups_saved > 0))
}

/// Waits until waves of the load run.
pub(super) fn running(guest: &mut Guest) -> Result<QueueReport> {
    let mut found = None;
    guest.wait_until("waves run", PATIENCE, |guest| {
        found = victim(guest)?.filter(|queue| queue.workgroups_resident > 0);
        Ok(found.is_some())
    })?;
    found.context("no waves run")
}

/// Has the driver take the queue off the GPU while waves of it run, and returns
/// its account then.
pub(super) fn stop(guest: &mut Guest, load: &Load) -> Result<QueueReport> {
    // A stop between two dispatches finds no waves to save.
    for _ in 0..50 {
        let queue = running(guest)?.queue;
        load.control(guest, "victim", &["update", "--percentage", "0"])?;
        let report = victim(guest)?.filter(|report| report.queue == queue);
        if let Some(report) = report.filter(|report| report.workgroups_saved > 0) {
            ensure!(report.workgroups_resident == 0, "waves stay: {report:?}");
            return Ok(report);
        }
        load.control(guest, "victim", &["update", "--percentage", "100"])?;
    }
    bail!("fifty stops found no waves")
}

/// Has the driver bring the queue back, and waits until it completes work.
pub(super) fn start_again(guest: &mut Guest, load: &Load) -> Result<()> {
    let completed = load.completed(guest, "victim")?;
    load.control(guest, "victim", &["update", "--percentage", "100"])?;
    guest.wait_until("the queue goes on", PATIENCE, |guest| {
        Ok(load.completed(guest, "victim")? > completed)
    })
}

/// Saves and restores over all queues.
fn moved(guest: &mut Guest) -> Result<(u64, u64)> {
    let queues = guest.device.queues()?;
    Ok((
        queues.iter().map(|queue| queue.saves).sum(),
        queues.iter().map(|queue| queue.restores).sum(),
    ))
}

/// Ends the load and checks that nothing of it was lost in the device either.
pub(super) fn finish(guest: &mut Guest, load: Load) -> Result<()> {
    let mut own = Vec::new();
    guest.wait_until("the queues are mapped", PATIENCE, |guest| {
        own = guest.device.queues()?;
        own.retain(|queue| queue.mapped.is_some());
        Ok(!own.is_empty())
    })?;
    load.stop(guest)?;
    load.finish(guest)?;
    let mut reports = guest.device.queues()?;
    reports.retain(|report| own.iter().any(|queue| queue.queue == report.queue));
    for report in reports {
        // A restore that is cut off by the next unmapping is made again.
        ensure!(
            report.saves <= report.restores && report.fault.is_none(),
            "waves were lost: {report:?}"
        );
    }
    Ok(())
}

fn debugger(guest: &mut Guest) -> Result<()> {
    let load = start(guest)?;
    let goal = u64::from(guest.cycles);
    let before = moved(guest)?.0;
    let pid = load.pid("victim")?.to_string();
    let queue = load.identity("victim")?.queue_id.to_string();
    let at_once = guest.cycles.div_ceil(5);
    let cycles = at_once.to_string();
    // A cycle that comes while waves are still being restored, or between two
    // dispatches, finds none to save. It counts for nothing.
    for _ in 0..50 {
        let answer: Value = guest.json(
            &[
                "kfdctl",
                "debug",
                "--pid",
                &pid,
                "--queues",
                &queue,
                "--cycles",
                &cycles,
                "--running-ms",
                "2",
            ],
            10 * PATIENCE,
        )?;
        ensure!(answer["cycles"] == at_once, "{answer}");
        if moved(guest)?.0 - before >= goal {
            return finish(guest, load);
        }
    }
    bail!(
        "ten times {goal} cycles saved waves only {} times",
        moved(guest)?.0 - before
    )
}

fn wave_state(guest: &mut Guest) -> Result<()> {
    let load = start(guest)?;
    let report = stop(guest, &load)?;
    let state = load.control(guest, "victim", &["wave-state"])?;
    let bytes = |name: &str| {
        state[name]
            .as_u64()
            .with_context(|| format!("no {name} in {state}"))
    };
    // A wave has a word pair on the control stack, and its registers and LDS
    // in the save area.
    let waves = report.workgroups_saved * 4 / u64::from(guest.shape.xcc);
    ensure!(
        bytes("control_stack_bytes")? >= waves * 8 && bytes("save_area_bytes")? >= waves * 64 * 64,
        "{waves} waves on a die left {state}"
    );
    start_again(guest, &load)?;
    finish(guest, load)
}

/// Two requests are outstanding, so that the pointer must stay behind the first
/// while it runs, and when its waves are saved.
fn at_completion(guest: &mut Guest) -> Result<()> {
    let load = start(guest)?;
    for _ in 0..10 {
        let running = running(guest)?;
        let saved = stop(guest, &load)?;
        for report in [running, saved] {
            ensure!(
                report.read_pointer < report.write_pointer
                    && report.read_pointer == report.dispatches_done,
                "the pointer has passed what is not complete: {report:?}"
            );
        }
        start_again(guest, &load)?;
    }
    finish(guest, load)
}

fn eviction(guest: &mut Guest) -> Result<()> {
    let load = start(guest)?;
    let before = moved(guest)?;
    // More than there is, so that nothing of the load can stay.
    let bytes = (u64::from(guest.shape.vram_mib) << 20).to_string();
    let pressure = guest.spawn(&[
        "kfdctl",
        "vram-pressure",
        "--bytes",
        &bytes,
        "--piece",
        "16777216",
    ])?;
    guest.wait_until("the load is evicted", PATIENCE, |guest| {
        Ok(moved(guest)?.0 > before.0)
    })?;
    guest.agent().kill(pressure, 9)?;
    let completed = load.completed(guest, "victim")?;
    guest.wait_until("the load is back", PATIENCE, |guest| {
        Ok(load.completed(guest, "victim")? > completed)
    })?;
    finish(guest, load)
}
