// SPDX-License-Identifier: GPL-2.0-only
//! What the stock driver loses when video memory runs short: it copies a save area
//! while the queues still run, where it already waits for them on behalf of another
//! area of the same process. What they save then is not in the copy.

use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};
use vgpu_model::{Faults, Fence};

use super::faults::{bystander, goes_on, PAGE_FAULT};
use super::save::fill_video_memory;
use crate::background::{Background, Expect};
use crate::guest::{Guest, FILES};
use crate::load::{self, queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::Vgpu,
    name: "waves are lost where two save areas are moved at once",
    needs: Needs {
        small: true,
        one_die: true,
        ..Needs::ANY
    },
    run: moved_at_once,
}];

const PATIENCE: Duration = Duration::from_secs(300);
/// How long one try may take: each area is moved once, at the first shortage.
const TRY: Duration = Duration::from_secs(30);
const TRIES: u32 = 10;
/// Two seconds of the guest's time, for which whoever changes a queue holds the lock
/// that an eviction waits for.
const LATE_NS: u64 = 60_000_000;

fn moved_at_once(guest: &mut Guest) -> Result<()> {
    PAGE_FAULT.iter().for_each(|text| guest.expect_log(text));
    let other = bystander(guest)?;
    for _ in 0..TRIES {
        let load = start(guest)?;
        let changes = change_always(guest, &other.socket("other")?)?;
        guest.device.set_faults(Faults {
            fence: Fence::Late(LATE_NS),
            ..Faults::default()
        })?;
        let pressure = (0..3).map(|_| fill_video_memory(guest));
        let pressure: Vec<Background> = pressure.collect::<Result<_>>()?;
        let lost = guest.wait_until("waves are lost", TRY, |guest| {
            let queues = guest.device.queues()?;
            let mut faults = queues.iter().filter_map(|queue| queue.fault.as_deref());
            Ok(faults.any(|fault| fault.contains("a workgroup's record has no mark")))
        });
        guest.device.set_faults(Faults::default())?;
        for program in pressure.into_iter().chain([changes]) {
            program.stop(guest)?;
        }
        let line = [
            "kfdctl",
            "update",
            "--queue",
            "other",
            "--percentage",
            "100",
        ];
        let socket = other.socket("other")?;
        guest.json::<Value>(&[&line[..], &["--socket", &socket]].concat(), PATIENCE)?;
        if lost.is_err() {
            load.kill(guest)?;
            continue;
        }
        is_told(guest, &load)?;
        goes_on(guest, &other, "other")?;
        other.stop(guest)?;
        return other.finish(guest).map(|_| ());
    }
    bail!("{TRIES} tries have lost nothing: the driver may wait for the queues now")
}

/// Starts a process with many save areas, whose queues always have waves.
fn start(guest: &mut Guest) -> Result<Load> {
    let workgroups = 32 * guest.shape.cu_per_sh * guest.shape.dies();
    let queues: Vec<Value> = (0..8)
        .map(|index| {
            let more = json!({
                "group": "victim", "requests": 1_000_000,
                "arrival": {"closed_loop": {"depth": 2}},
                "kernel": {"vector_registers": 64, "scalar_registers": 64, "lds_bytes": 4096},
            });
            queue(&format!("victim{index}"), workgroups, 400_000, more)
        })
        .collect();
    let load = Load::start(guest, json!({"queues": queues}))?;
    goes_on(guest, &load, "victim7")?;
    Ok(load)
}

/// Changes a queue again and again.
fn change_always(guest: &mut Guest, socket: &str) -> Result<Background> {
    let line = format!(
        "while :; do for share in 0 100; do {FILES}/kfdctl update --socket {socket} \
         --queue other --percentage $share >/dev/null; done; done"
    );
    Background::shell(guest, &line, Expect::Anything)
}

/// Waits for the end of the process, which has heard of the fault. Where an area holds
/// what an earlier save has left in it, work may also be lost and done again.
fn is_told(guest: &mut Guest, load: &Load) -> Result<()> {
    let report = load::report(&load.end(guest)?)?;
    let mut failures = report
        .queues
        .iter()
        .filter_map(|queue| queue.failure.as_ref());
    let told = failures.find(|failure| failure.contains("fault: memory fault at 0x0"));
    told.map(|_| ()).context("nobody was told")
}
