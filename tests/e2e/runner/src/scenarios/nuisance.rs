// SPDX-License-Identifier: GPL-2.0-only
//! Programs that only give trouble: calls that fail, and queues that hang.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::contention::armed;
use super::contexts::NODE;
use super::crowd::{contenders, stops};
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "calls that the driver refuses wake nobody",
        needs: Needs::ONE_DIE,
        run: refused,
    },
    Scenario {
        suite: Suite::E2e,
        name: "queues that hang at each start cause no stop of their own",
        needs: Needs::ONE_DIE,
        run: hanging,
    },
];

fn refused(guest: &mut Guest) -> Result<()> {
    const CALLS: u64 = 20_000;
    let module = Module::load(guest, "mode=enforce")?;
    let before = Table::Stats.sum(guest, "passes")?;
    let calls = CALLS.to_string();
    let line = ["kfdctl", "refused", "--node", NODE, "--calls", &calls];
    let said: Value = guest.json(&line, PATIENCE)?;
    ensure!(said["refused"] == CALLS, "the driver took some: {said}");
    let passes = Table::Stats.sum(guest, "passes")? - before;
    ensure!(
        passes < CALLS / 50,
        "{passes} passes during {CALLS} calls that the driver refused"
    );
    armed(guest)?;
    module.unload(guest)
}

/// Queues that hang go along when the one that is in the way is stopped, since a
/// transaction takes every queue off anyway. They are not in the way themselves, and so
/// they are stopped no more often than it.
fn hanging(guest: &mut Guest) -> Result<()> {
    const QUEUES: u64 = 16;
    const STOPS_OF_THE_HEAVY: u64 = 60;
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let queues = QUEUES.to_string();
    let line = ["kfdctl", "hanging", "--node", NODE, "--queues", &queues];
    let program = Background::start(guest, &line, Expect::Anything)?;
    program.first_line(guest, PATIENCE)?;
    let load = Load::start(guest, contenders(guest))?;
    guest.wait_until("the heavy queue is stopped often", PATIENCE, |guest| {
        Ok(stops(guest, &load)? >= STOPS_OF_THE_HEAVY)
    })?;
    let rows = Table::Queues.read(guest)?;
    let heavy = stops(guest, &load)?;
    let hanging: Vec<_> = rows.iter().filter(|row| row["comm"] == "kfdctl").collect();
    ensure!(hanging.len() as u64 == QUEUES, "{} hang", hanging.len());
    for row in hanging {
        let stops = row["stops"].as_u64().context("no number of stops")?;
        ensure!(
            row["rptr"] == 0 && row["wptr"] != 0,
            "it does not hang: {row}"
        );
        ensure!(
            stops <= heavy,
            "stopped more often than the heavy queue, {heavy}: {row}"
        );
    }
    armed(guest)?;
    module.unload(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    program.stop(guest).map(|_| ())
}
