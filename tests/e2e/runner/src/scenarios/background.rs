// SPDX-License-Identifier: GPL-2.0-only
//! Loads that are started and not waited for, which the other scenarios rely on.

use anyhow::{ensure, Result};
use e2e_protocol::Status;
use serde_json::json;

use super::preemption::PATIENCE;
use crate::background::{end_all, Expect};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::Vgpu,
    name: "a load is not waited for and may fail",
    needs: Needs::ONCE,
    run: not_waited_for,
}];

/// There is no such GPU.
const NOWHERE: u32 = 9;

fn not_waited_for(guest: &mut Guest) -> Result<()> {
    let work = |requests: u64| json!([queue("work", 4, 50_000, json!({"requests": requests}))]);
    let bad = json!({"queues": work(1), "gpu": NOWHERE});
    let failing = Load::launch(guest, bad.clone(), Expect::Anything)?;
    let mut endless = Load::launch(guest, json!({"queues": work(1_000_000)}), Expect::Anything)?;

    // Neither holds up another, nor does the one that fails.
    Load::launch(guest, json!({"queues": work(3)}), Expect::Success)?.finish(guest)?;
    let failed = failing.end(guest)?;
    let said = format!("{}{}", failed.stdout, failed.stderr);
    ensure!(
        failed.status == Status::Exited(2) && said.contains("there is no GPU"),
        "{failed:?}"
    );
    endless.wait_until_ready(guest)?;
    let pid = endless.pid("work")?;

    // What a scenario leaves is killed, and is only wrong where success was expected.
    end_all(guest)?;
    // A process has closed its streams some moments before it is gone.
    guest.wait_until("the load is gone", PATIENCE, |guest| {
        Ok(!guest.agent().list("/proc")?.contains(&pid.to_string()))
    })?;

    Load::launch(guest, bad, Expect::Success)?;
    guest.wait_until("it has failed", PATIENCE, |guest| {
        Ok(guest.agent().shell("pidof workload || true")?.is_empty())
    })?;
    let refused = end_all(guest).expect_err("a failure was not noticed");
    ensure!(
        format!("{refused}").contains("there is no GPU"),
        "{refused}"
    );
    Load::launch(guest, json!({"queues": work(1_000_000)}), Expect::Success)?;
    let refused = end_all(guest).expect_err("a load that runs was not noticed");
    ensure!(format!("{refused}").contains("still ran"), "{refused}");
    Ok(())
}
