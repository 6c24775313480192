// SPDX-License-Identifier: GPL-2.0-only
//! Waves saved to memory and restored from it, for each reason that the stock
//! driver has to do so.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde_json::{json, Value};
use vgpu_model::{QueueId, QueueReport};

use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::scenario::{Needs, Scenario, Suite};
use crate::strict::strictly;

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
        run: |guest| strictly(guest, eviction),
    },
];

const PATIENCE: Duration = Duration::from_secs(120);

/// A load whose waves are always there to be saved, until it is stopped, and the
/// device's name for its queue: other loads may have waves too.
pub(super) struct Victim {
    pub load: Load,
    pub queue: QueueId,
}

impl Victim {
    /// Starts the load while no other runs, and waits until waves of it do.
    pub fn start(guest: &mut Guest) -> Result<Victim> {
        let more = json!({
            "arrival": {"closed_loop": {"depth": 2}}, "requests": 1_000_000,
            "kernel": {"vector_registers": 64, "scalar_registers": 64, "lds_bytes": 4096},
        });
        // Several times what the GPU holds at once.
        let workgroups = 64 * guest.shape.cu_per_sh * guest.shape.dies();
        let load = Load::start(
            guest,
            json!({"queues": [queue("victim", workgroups, 1_000_000, more)]}),
        )?;
        let mut queue = QueueId::default();
        guest.wait_until("waves run", PATIENCE, |guest| {
            let queues = guest.device.queues()?;
            // An earlier load's queue that was destroyed with saved waves keeps
            // them in its account, but none of them runs.
            let newest = queues.iter().rfind(|queue| queue.workgroups_resident > 0);
            Ok(newest.map(|newest| queue = newest.queue).is_some())
        })?;
        Ok(Victim { load, queue })
    }

    /// The device's account of the queue.
    pub fn report(&self, guest: &mut Guest) -> Result<QueueReport> {
        let queues = guest.device.queues()?;
        let mut own = queues.into_iter().filter(|each| each.queue == self.queue);
        own.next().context("the device has lost a queue's account")
    }

    /// Waits until waves of the load run.
    pub fn running(&self, guest: &mut Guest) -> Result<QueueReport> {
        let mut report = self.report(guest)?;
        guest.wait_until("waves run", PATIENCE, |guest| {
            report = self.report(guest)?;
            Ok(report.workgroups_resident > 0)
        })?;
        Ok(report)
    }

    /// Has the driver allow the queue a share of the GPU: all, or at 0 none.
    pub fn allow(&self, guest: &mut Guest, percentage: &str) -> Result<Value> {
        self.load
            .control(guest, "victim", &["update", "--percentage", percentage])
    }

    /// Has the driver take the queue off the GPU while waves of it run, and
    /// returns its account then.
    pub fn stop(&self, guest: &mut Guest) -> Result<QueueReport> {
        // A stop between two dispatches finds no waves to save.
        for _ in 0..50 {
            self.running(guest)?;
            self.allow(guest, "0")?;
            let report = self.report(guest)?;
            if report.workgroups_saved > 0 {
                ensure!(report.workgroups_resident == 0, "waves stay: {report:?}");
                return Ok(report);
            }
            self.allow(guest, "100")?;
        }
        bail!("fifty stops found no waves")
    }

    /// Has the driver bring the queue back, and waits until it completes work.
    pub fn start_again(&self, guest: &mut Guest) -> Result<()> {
        let completed = self.load.completed(guest, "victim")?;
        self.allow(guest, "100")?;
        guest.wait_until("the queue goes on", PATIENCE, |guest| {
            Ok(self.load.completed(guest, "victim")? > completed)
        })
    }

    /// Ends the load and checks that nothing of it was lost in the device either.
    pub fn finish(self, guest: &mut Guest) -> Result<()> {
        guest.wait_until("the queue is mapped", PATIENCE, |guest| {
            Ok(self.report(guest)?.mapped.is_some())
        })?;
        self.load.stop(guest)?;
        let queue = self.queue;
        let load = self.load;
        load.finish(guest)?;
        let mut reports = guest.device.queues()?;
        reports.retain(|report| report.queue == queue);
        let report = reports.first().context("the account is gone")?;
        // A restore that is cut off by the next unmapping is made again.
        ensure!(
            report.saves <= report.restores && report.fault.is_none(),
            "waves were lost: {report:?}"
        );
        Ok(())
    }
}

/// Saves and restores over all queues.
fn moved(guest: &mut Guest) -> Result<(u64, u64)> {
    let queues = guest.device.queues()?;
    Ok((
        queues.iter().map(|queue| queue.saves).sum(),
        queues.iter().map(|queue| queue.restores).sum(),
    ))
}

fn debugger(guest: &mut Guest) -> Result<()> {
    let victim = Victim::start(guest)?;
    let goal = u64::from(guest.cycles);
    let before = moved(guest)?.0;
    let pid = victim.load.pid("victim")?.to_string();
    let queue = victim.load.identity("victim")?.queue_id.to_string();
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
            return victim.finish(guest);
        }
    }
    bail!(
        "ten times {goal} cycles saved waves only {} times",
        moved(guest)?.0 - before
    )
}

fn wave_state(guest: &mut Guest) -> Result<()> {
    let victim = Victim::start(guest)?;
    let report = victim.stop(guest)?;
    let state = victim.load.control(guest, "victim", &["wave-state"])?;
    let bytes = |name: &str| {
        state[name]
            .as_u64()
            .with_context(|| format!("no {name} in {state}"))
    };
    // A wave has a word pair on the control stack, and its registers and LDS
    // in the save area.
    let waves = report.workgroups_saved * 4 / u64::from(guest.shape.dies());
    ensure!(
        bytes("control_stack_bytes")? >= waves * 8 && bytes("save_area_bytes")? >= waves * 64 * 64,
        "{waves} waves on a die left {state}"
    );
    victim.start_again(guest)?;
    victim.finish(guest)
}

/// Two requests are outstanding, so that the pointer must stay behind the first
/// while it runs, and when its waves are saved.
fn at_completion(guest: &mut Guest) -> Result<()> {
    let victim = Victim::start(guest)?;
    for _ in 0..10 {
        let running = victim.running(guest)?;
        let saved = victim.stop(guest)?;
        for report in [running, saved] {
            ensure!(
                report.read_pointer < report.write_pointer
                    && report.read_pointer == report.dispatches_done,
                "the pointer has passed what is not complete: {report:?}"
            );
        }
        victim.start_again(guest)?;
    }
    victim.finish(guest)
}

/// Starts a process that takes more video memory than there is, so that nothing of
/// the others can stay.
pub(super) fn fill_video_memory(guest: &mut Guest) -> Result<Background> {
    let bytes = (u64::from(guest.shape.vram_mib) << 20).to_string();
    let line = [
        "kfdctl",
        "vram-pressure",
        "--bytes",
        &bytes,
        "--piece",
        "16777216",
    ];
    Background::start(guest, &line, Expect::Anything)
}

fn eviction(guest: &mut Guest) -> Result<()> {
    let victim = Victim::start(guest)?;
    let before = moved(guest)?;
    let pressure = fill_video_memory(guest)?;
    guest.wait_until("the load is evicted", PATIENCE, |guest| {
        Ok(moved(guest)?.0 > before.0)
    })?;
    pressure.stop(guest)?;
    let completed = victim.load.completed(guest, "victim")?;
    guest.wait_until("the load is back", PATIENCE, |guest| {
        Ok(victim.load.completed(guest, "victim")? > completed)
    })?;
    victim.finish(guest)
}
