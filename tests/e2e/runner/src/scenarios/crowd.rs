// SPDX-License-Identifier: GPL-2.0-only
//! More queues than the module has room for, beside a heavy and an urgent one.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

use super::contention::{accounts, armed, heavy};
use super::contexts::{CONTEXTS, NODE};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::work::TOO_LONG;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

const SMALL: Needs = Needs {
    small: true,
    one_die: true,
    ..Needs::ANY
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a thousand idle queues push nobody out of view",
        // Its programs have their queues in secondary contexts.
        needs: Needs {
            once: true,
            driver: CONTEXTS,
            ..SMALL
        },
        run: pushes_nobody_out,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the driver does not say again and again that the run list is too long",
        needs: SMALL,
        run: says_it_once,
    },
];

/// What the module has room for.
const ROOM: usize = 1024;
/// Idle processes, and queues of each.
const PROCESSES: usize = 5;
const QUEUES: u64 = 205;

/// The idle queues are newer than the heavy and the urgent one, and the driver lists
/// the newest first.
fn pushes_nobody_out(guest: &mut Guest) -> Result<()> {
    guest.expect_log(TOO_LONG);
    guest.expect_log("there are more than 1024 queues; left alone are");
    // Each new queue takes all others off the hardware. Nothing else is to do so meanwhile.
    let module = Module::load(guest, &format!("mode=off {UNBOUNDED}"))?;
    let load = Load::start(guest, contenders(guest))?;
    let mut idle = Vec::new();
    for _ in 0..PROCESSES {
        let queues = QUEUES.to_string();
        let line = ["kfdctl", "idle", "--node", NODE, "--queues", &queues];
        let program = Background::start(guest, &line, Expect::Anything)?;
        program.first_line(guest, PATIENCE)?;
        idle.push(program);
    }
    module.set(guest, "mode", "enforce")?;
    guest.wait_until("there is no room for all queues", PATIENCE, |guest| {
        Ok(Table::Queues.read(guest)?.len() == ROOM && !Table::LeftOut.read(guest)?.is_empty())
    })?;
    only_the_crowd_is_left_out(guest, &load)?;
    let before = stops(guest, &load)?;
    guest.wait_until("the heavy queue is stopped again", PATIENCE, |guest| {
        Ok(stops(guest, &load)? > before + 3)
    })?;
    let before = load.completed(guest, "urgent")?;
    guest.wait_until("the urgent queue gets through", PATIENCE, |guest| {
        Ok(load.completed(guest, "urgent")? > before + 3)
    })?;
    only_the_crowd_is_left_out(guest, &load)?;
    armed(guest)?;
    for program in idle {
        program.stop(guest)?;
    }
    guest.wait_until("there is room for all queues", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "exempt")? == 0 && Table::LeftOut.read(guest)?.is_empty())
    })?;
    guest.wait_for_log("there is room for all queues again", PATIENCE)?;
    module.unload(guest)?;
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// A grid of the lowest priority, and requests of the highest at a distance.
pub(super) fn contenders(guest: &Guest) -> Value {
    let grid = queue(
        "heavy",
        3 * guest.shape.full(),
        20_000_000,
        json!({"group": "heavy", "priority": 0, "requests": 1_000_000}),
    );
    json!({"queues": [grid, urgent(guest)]})
}

/// Requests of the highest priority, at a distance, that need the whole GPU.
fn urgent(guest: &Guest) -> Value {
    queue(
        "urgent",
        guest.shape.full(),
        100_000,
        json!({"group": "urgent", "priority": 15, "requests": 1_000_000,
            "start_ns": 5_000_000,
            "arrival": {"closed_loop": {"depth": 1, "think_ns": 5_000_000}}}),
    )
}

/// Every queue is either in view or counted as left out, and those that are left out
/// are of the processes with the most queues.
fn only_the_crowd_is_left_out(guest: &mut Guest, load: &Load) -> Result<()> {
    let rows = Table::Queues.read(guest)?;
    let left_out = Table::LeftOut.read(guest)?;
    for name in ["heavy", "urgent"] {
        let identity = load.identity(name)?;
        ensure!(
            rows.iter()
                .any(|row| row["pid"] == identity.pid && row["queue"] == identity.queue_id),
            "the {name} queue is not in view"
        );
    }
    let mut counted = 0;
    for row in &left_out {
        let number = |name: &str| {
            row[name]
                .as_u64()
                .with_context(|| format!("{name} in {row}"))
        };
        let (queues, out) = (number("queues")?, number("left_out")?);
        let pid = row["pid"].as_u64();
        let seen = rows.iter().filter(|row| row["pid"].as_u64() == pid).count();
        ensure!(row["comm"] == "kfdctl", "{row} is left out");
        ensure!(
            queues >= QUEUES && seen as u64 + out == queues,
            "{seen} queues are in view, of {row}"
        );
        counted += out;
    }
    let exempt = Table::Stats.sum(guest, "exempt")?;
    ensure!(
        exempt == counted && counted > 0,
        "{exempt} queues are counted as left alone, and {counted} are named: {left_out:?}"
    );
    Ok(())
}

/// How often the heavy queue was stopped.
pub(super) fn stops(guest: &mut Guest, load: &Load) -> Result<u64> {
    let row = heavy(guest, load)?.context("the heavy queue is gone")?;
    row["stops"].as_u64().context("no number of stops")
}

/// Each stop of the thirty leaves places on the hardware, and each start fills them.
fn says_it_once(guest: &mut Guest) -> Result<()> {
    const TRANSACTIONS: u64 = 20;
    guest.expect_log(TOO_LONG);
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let mut queues: Vec<_> = (0..30)
        .map(|i| {
            let more =
                json!({"group": format!("g{}", i % 2), "priority": 3, "requests": 1_000_000});
            queue(&format!("q{i}"), guest.shape.full() / 4, 500_000, more)
        })
        .collect();
    queues.push(urgent(guest));
    let load = Load::start(guest, json!({"queues": queues}))?;
    wait_for_transactions(guest, 1)?;
    let said = guest.times_in_log(TOO_LONG)?;
    let before = Table::Stats.sum(guest, "transactions")?;
    wait_for_transactions(guest, before + TRANSACTIONS)?;
    let again = guest.times_in_log(TOO_LONG)? - said;
    ensure!(
        again == 0,
        "the driver says it {again} times in {TRANSACTIONS} transactions"
    );
    armed(guest)?;
    module.unload(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

fn wait_for_transactions(guest: &mut Guest, count: u64) -> Result<()> {
    guest.wait_until("the module stops and starts queues", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "transactions")? >= count)
    })
}
