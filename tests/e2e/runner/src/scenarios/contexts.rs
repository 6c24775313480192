// SPDX-License-Identifier: GPL-2.0-only
//! Contexts that a program has beside its main one: their queues have GPU addresses that
//! mean nothing in the program's memory, and they outlive what the program executes.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

use super::contention::{armed, ready_again};
use super::preemption::{endless, heavy, PATIENCE, UNBOUNDED};
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

/// What makes a secondary context, in drivers since Linux 7.2.
pub(super) const CONTEXTS: &[&str] = &["kfd_ioctl_create_process"];

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a secondary context stops nobody by words that are not its own",
        needs: Needs {
            driver: CONTEXTS,
            ..Needs::ANY
        },
        run: foreign_words,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "secondary contexts outlive what their program executes",
        needs: Needs {
            spoils: true,
            driver: CONTEXTS,
            ..Needs::ANY
        },
        run: executions,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the module outlives what a program with secondary contexts executes",
        needs: Needs {
            spoils: true,
            driver: CONTEXTS,
            ..Needs::ANY
        },
        run: executions_beside_the_module,
    },
];

/// The topology node of the guest's first GPU: the processor is the one before it.
pub(super) const NODE: &str = "1";
/// What `kfdctl context` gives its queue.
const PRIORITY: u64 = 15;

/// Starts a program with a queue in a secondary context, and returns its process once
/// the queue is there.
pub(super) fn start_context(guest: &mut Guest, further: &[&str]) -> Result<(Background, u64)> {
    let line = [&["kfdctl", "context", "--node", NODE], further].concat();
    let program = Background::start(guest, &line, Expect::Anything)?;
    let said: Value = serde_json::from_str(&program.first_line(guest, PATIENCE)?)?;
    let pid = said["pid"].as_u64().context("no process id")?;
    Ok((program, pid))
}

/// The module's account of a program's queues.
fn rows_of(guest: &mut Guest, pid: u64) -> Result<Vec<Value>> {
    let mut rows = Table::Queues.read(guest)?;
    rows.retain(|row| row["pid"] == pid);
    Ok(rows)
}

/// Waits until the module has looked often enough to have stopped something.
fn look_on(guest: &mut Guest) -> Result<()> {
    const LOOKS: u64 = 50;
    let passes = Table::Stats.sum(guest, "passes")?;
    guest.wait_until("the module looks on", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "passes")? > passes + LOOKS)
    })
}

/// The program's own words say that urgent work waits. On the GPU there is none.
fn foreign_words(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let heavy = heavy(guest, 1_000_000);
    let load = Load::start(guest, json!({ "queues": [heavy] }))?;
    let (program, pid) = start_context(guest, &[])?;
    guest.wait_until("the module sees the queue", PATIENCE, |guest| {
        Ok(!rows_of(guest, pid)?.is_empty())
    })?;
    look_on(guest)?;
    for row in rows_of(guest, pid)? {
        ensure!(
            row["prio"] == PRIORITY && row["rptr"].is_null() && row["wptr"].is_null(),
            "{row}"
        );
    }
    for counter in ["inversions", "stops"] {
        let counted = Table::Stats.sum(guest, counter)?;
        ensure!(counted == 0, "{counted} {counter} for words of the program");
    }
    program.stop(guest)?;
    // An urgent queue of a main context is heard.
    let urgent = endless(guest);
    let urgent = Load::start(guest, json!({ "queues": [urgent] }))?;
    guest.wait_until("the heavy queue is stopped", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "stops")? > 0)
    })?;
    armed(guest)?;
    module.unload(guest)?;
    for load in [urgent, load] {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    Ok(())
}

/// The driver's own trouble with it: it counts the contexts of what was executed before
/// among those of what is executed after.
fn expect_trouble(guest: &mut Guest) {
    for text in [
        "cut here",
        "WARNING:",
        "Call Trace:",
        "ida_free called",
        "sysfs: ",
        "kobject",
    ] {
        guest.expect_log(text);
    }
}

fn executions(guest: &mut Guest) -> Result<()> {
    expect_trouble(guest);
    let (program, _) = start_context(guest, &["--executions", "3"])?;
    program.stop(guest)?;
    Ok(())
}

/// Beside the same trouble the module looks on, and does its work afterwards.
fn executions_beside_the_module(guest: &mut Guest) -> Result<()> {
    expect_trouble(guest);
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let (program, pid) = start_context(guest, &["--executions", "3"])?;
    guest.wait_until("the module sees all four contexts", PATIENCE, |guest| {
        Ok(rows_of(guest, pid)?.len() == 4)
    })?;
    look_on(guest)?;
    program.stop(guest)?;
    guest.wait_until("the queues are gone", PATIENCE, |guest| {
        Ok(rows_of(guest, pid)?.is_empty())
    })?;
    armed(guest)?;
    ready_again(guest)?;
    module.unload(guest)
}
