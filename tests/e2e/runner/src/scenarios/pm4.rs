// SPDX-License-Identifier: GPL-2.0-only
//! A queue of PM4 packets among those that are stopped. It is within a buffer nearly
//! all the time, where its ring is empty and it has no waves.

use std::time::Duration;

use anyhow::{bail, ensure, Result};
use serde_json::{json, Value};

use super::contention::{accounts, armed};
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "a queue of PM4 packets is stopped within a buffer",
    needs: Needs {
        thunk: true,
        ..Needs::ANY
    },
    run: within_buffer,
}];

/// Waves are not counted, so that a queue which has been given work counts as running.
fn within_buffer(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        &format!("mode=enforce sampler=memory {UNBOUNDED} min_run_us=0 rule_overhead_percent=100 claim_overhead_percent=100"),
    )?;
    let heavy = queue(
        "heavy",
        3 * guest.shape.full(),
        2_000_000,
        json!({"group": "heavy", "priority": 0, "requests": 1_000_000}),
    );
    let urgent = queue(
        "urgent",
        1,
        10_000,
        json!({"group": "urgent", "priority": 15, "requests": 1_000_000,
            "arrival": {"closed_loop": {"depth": 1, "think_ns": 2_000_000}}}),
    );
    let load = Load::start(guest, json!({"queues": [heavy, urgent]}))?;
    let client = Background::start(guest, &["kfdctl", "pm4"], Expect::Success)?;
    guest.wait_until("a PM4 queue is stopped", PATIENCE, |guest| {
        if let Some(ended) = client.wait(guest, Duration::ZERO)? {
            bail!("the PM4 client has ended: {ended:?}");
        }
        let rows = Table::Queues.read(guest)?;
        let stopped = |row: &Value| row["format"] == "pm4" && row["stops"].as_u64() > Some(0);
        Ok(rows.iter().any(stopped))
    })?;
    let outcome: Value = serde_json::from_str(&client.succeed(guest, PATIENCE)?)?;
    ensure!(
        outcome["rounds"] == 100 && outcome["repeated"] == 0,
        "{outcome}"
    );
    armed(guest)?;
    module.unload(guest)?;
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}
