// SPDX-License-Identifier: GPL-2.0-only
//! Programs that say that they prepare a request, and what that does and does not do.

use anyhow::{ensure, Result};
use serde_json::{json, Value};

use super::preemption::{heavy, PATIENCE, UNBOUNDED};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a hint stops the lower queue before the request comes",
        needs: Needs::ANY,
        run: before_the_request,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a hint without a request expires",
        needs: Needs::ANY,
        run: expires,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a hint forged by a process without right does nothing",
        needs: Needs::ANY,
        run: forged,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a process may be killed while it hints",
        needs: Needs::ANY,
        run: killed,
    },
];

/// Long enough for a guest that is emulated to have looked meanwhile.
const LIMIT: &str = "hint_limit_us=10000";
/// Far beyond the end of a scenario.
const NEVER_NS: u64 = 1_000_000_000_000_000;

/// A queue of the highest priority whose process may hint and that gets no request.
fn silent() -> Value {
    queue(
        "urgent",
        1,
        10_000,
        json!({"group": "urgent", "priority": 15, "requests": 1, "start_ns": NEVER_NS,
            "hint": true}),
    )
}

/// A heavy queue that runs, and an urgent one that has nothing to do.
fn quiet_above(guest: &mut Guest) -> Result<Load> {
    let queues = json!([heavy(guest, 1_000_000), silent()]);
    let load = Load::start(guest, json!({ "queues": queues }))?;
    guest.wait_until("the heavy queue runs", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "running")? > 0)
    })?;
    Ok(load)
}

/// Lets the urgent process hint.
fn hint(guest: &mut Guest, load: &Load, times: u32, pause_us: u64) -> Result<()> {
    let (times, pause_us) = (times.to_string(), pause_us.to_string());
    let arguments = ["hint", "--times", &times, "--pause-us", &pause_us];
    load.control(guest, "urgent", &arguments)?;
    Ok(())
}

fn sum(guest: &mut Guest, name: &str) -> Result<u64> {
    Table::Stats.sum(guest, name)
}

/// Hints now and then until one of them is honoured: a guest that is busy may find one
/// too late.
fn hint_until_honoured(guest: &mut Guest, load: &Load) -> Result<()> {
    guest.wait_until("a hint is honoured", PATIENCE, |guest| {
        hint(guest, load, 1, 0)?;
        Ok(sum(guest, "hints_honoured")? > 0)
    })
}

fn end(guest: &mut Guest, load: Load) -> Result<()> {
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

fn before_the_request(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {LIMIT}"))?;
    let load = quiet_above(guest)?;
    hint_until_honoured(guest, &load)?;
    let pids = (load.pid("heavy")?, load.pid("urgent")?);
    let events = Table::Events.read(guest)?;
    ensure!(
        events.iter().any(|event| event["action"] == "stop"
            && event["reason"] == "inversion"
            && event["fate"] == "done"
            && event["pid"] == pids.0
            && event["for"]["pid"] == pids.1),
        "{events:?}"
    );
    ensure!(load.completed(guest, "urgent")? == 0, "there was a request");
    ensure!(sum(guest, "failures")? == 0);
    end(guest, load)?;
    module.unload(guest)
}

fn expires(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {LIMIT}"))?;
    let load = quiet_above(guest)?;
    hint_until_honoured(guest, &load)?;
    guest.wait_until("the hint expires", PATIENCE, |guest| {
        Ok(sum(guest, "hints_expired")? > 0 && sum(guest, "stopped")? == 0)
    })?;
    let events = Table::Events.read(guest)?;
    let reasons = |action: &str| -> Vec<&Value> {
        let of = |event: &&Value| event["action"] == action;
        events
            .iter()
            .filter(of)
            .map(|event| &event["reason"])
            .collect()
    };
    ensure!(
        reasons("start").iter().all(|reason| **reason == "calm"),
        "{events:?}"
    );
    ensure!(
        reasons("start").len() == reasons("stop").len(),
        "{events:?}"
    );
    let before = load.completed(guest, "heavy")?;
    guest.wait_until("the heavy queue goes on", PATIENCE, |guest| {
        Ok(load.completed(guest, "heavy")? > before)
    })?;
    end(guest, load)?;
    module.unload(guest)
}

/// Neither a priority that does not count nor an equal one gives a right.
fn forged(guest: &mut Guest) -> Result<()> {
    let options = format!("mode=enforce {UNBOUNDED} {LIMIT} user_priority=ignore");
    let module = Module::load(guest, &options)?;
    let load = quiet_above(guest)?;
    guest.wait_until("hints are seen", PATIENCE, |guest| {
        hint(guest, &load, 200, 500)?;
        Ok(sum(guest, "hints")? > 3 && sum(guest, "hints_ignored")? > 0)
    })?;
    for name in ["hints_honoured", "stops", "inversions"] {
        let counted = sum(guest, name)?;
        ensure!(counted == 0, "{counted} {name} for hints without a right");
    }
    // The same hints count as soon as a rule gives the right.
    let pid = load.pid("urgent")?;
    module.add_rule(guest, &format!("7 pid={pid} prio=9"))?;
    hint_until_honoured(guest, &load)?;
    end(guest, load)?;
    module.unload(guest)
}

/// The page goes with its process, and what was stopped for it is started.
fn killed(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {LIMIT}"))?;
    let lower = json!([heavy(guest, 1_000_000)]);
    let lower = Load::start(guest, json!({ "queues": lower }))?;
    for _ in 0..3 {
        let load = Load::start(guest, json!({ "queues": [silent()] }))?;
        hint(guest, &load, 5, 100)?;
        load.kill(guest)?;
        guest.wait_until("nothing is stopped", PATIENCE, |guest| {
            Ok(sum(guest, "stopped")? == 0 && sum(guest, "processes")? == 1)
        })?;
    }
    ensure!(sum(guest, "failures")? == 0);
    end(guest, lower)?;
    // No page is left that would hold it.
    module.unload(guest)
}
