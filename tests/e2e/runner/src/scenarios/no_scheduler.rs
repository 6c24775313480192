// SPDX-License-Identifier: GPL-2.0-only
//! Without the scheduler firmware: the driver loads and empties the hardware
//! queues itself, through their registers.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde_json::json;
use vgpu_model::HiqAction;

use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::Vgpu,
    name: "queues work without the scheduler firmware",
    needs: Needs {
        sched_policy: 2,
        ..Needs::ANY
    },
    run: queues,
}];

const PATIENCE: Duration = Duration::from_secs(120);

fn queues(guest: &mut Guest) -> Result<()> {
    // ROCr asks for the debugger's trap, which needs the firmware.
    guest.expect_log("Unsupported on sched_policy");
    let mark = guest.device.hiq_mark()?;
    let workgroups = 32 * guest.shape.cu_per_sh * guest.shape.xcc;
    let queues: Vec<_> = (0..4)
        .map(|i| {
            let more = json!({"group": format!("g{}", i % 2), "requests": 1_000_000});
            queue(&format!("q{i}"), workgroups, 200_000, more)
        })
        .collect();
    let load = Load::start(guest, json!({"queues": queues}))?;
    // The driver dequeues a queue at 0 percent and loads it again at 100.
    for _ in 0..10 {
        load.control(guest, "q0", &["update", "--percentage", "0"])?;
        let stopped = load.completed(guest, "q0")?;
        let other = load.completed(guest, "q1")?;
        guest.wait_until("the other queue goes on", PATIENCE, |guest| {
            Ok(load.completed(guest, "q1")? > other)
        })?;
        ensure!(
            load.completed(guest, "q0")? == stopped,
            "a queue at 0 percent went on"
        );
        load.control(guest, "q0", &["update", "--percentage", "100"])?;
        guest.wait_until("the queue goes on", PATIENCE, |guest| {
            Ok(load.completed(guest, "q0")? > stopped)
        })?;
    }
    load.stop(guest)?;
    load.finish(guest)?;
    let lists = guest
        .device
        .hiq(mark)?
        .iter()
        .filter(|record| matches!(record.action, HiqAction::RunList { .. }))
        .count();
    ensure!(lists == 0, "the firmware got {lists} run lists");
    Ok(())
}
