// SPDX-License-Identifier: GPL-2.0-only
//! An urgent queue that waits for one below it, which must not be stopped for it,
//! or has to be started again: dependencies that the module can see, and one that
//! it cannot.

use std::collections::BTreeSet;

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

use super::contention::armed;
use super::requests::in_order;
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a queue that an urgent one waits for unseen is started again",
        needs: Needs {
            one_die: true,
            ..Needs::ANY
        },
        run: hidden,
    },
    Scenario {
        suite: Suite::E2e,
        name: "nobody is stopped for a queue that is seen to wait",
        needs: Needs::ONCE,
        run: seen,
    },
];

const REQUESTS: usize = 3;

/// A queue that fills the GPU, and an urgent one each of whose requests waits for
/// one of it.
fn chained(guest: &Guest, urgent_group: &str, barrier: &str) -> Value {
    let more = |group: &str, priority: u32| json!({"group": group, "priority": priority, "requests": REQUESTS});
    let low = queue("low", guest.shape.full(), 8_000_000, more("low", 0));
    let urgent = queue("urgent", 1, 10_000, more(urgent_group, 15));
    json!({
        "queues": [low, urgent], "samples": true,
        "dependencies": [{"from": "low", "to": "urgent", "barrier": barrier}],
    })
}

/// Runs a load whose dependency is hidden, and returns what was done to its low queue, and
/// whose the urgent one was.
fn buffered(guest: &mut Guest) -> Result<(Vec<Value>, u32)> {
    let specification = chained(guest, "urgent", "buffer");
    let load = Load::start(guest, specification)?;
    let (low, urgent) = (load.pid("low")?, load.pid("urgent")?);
    let report = load.finish(guest)?;
    in_order(&report, "low", "urgent", REQUESTS)?;
    let mut events = Table::Events.read(guest)?;
    events.retain(|event| event["pid"] == low && event["fate"] == "done");
    Ok((events, urgent))
}

/// No bound and no budget would ever end a stop here: only that the urgent queue
/// makes no progress tells that it waits for the one that is stopped for it.
fn hidden(guest: &mut Guest) -> Result<()> {
    const NO_PROGRESS_MS: u64 = 50;
    /// The first pause of whoever made no progress; each later one is longer.
    const COOL_DOWN_MS: u64 = 10;
    let module = Module::load(
        guest,
        &format!(
            "mode=enforce max_stop_ms=60000 stop_budget_ms=1000 \
             noprogress_ms={NO_PROGRESS_MS}"
        ),
    )?;
    let (mut events, mut urgent) = (Vec::new(), 0);
    for _ in 0..4 {
        (events, urgent) = buffered(guest)?;
        // On a busy host the urgent request may come when the low queue is done.
        if !reasons(&events).is_empty() {
            break;
        }
    }
    let reasons = reasons(&events);
    ensure!(
        reasons.contains("no-progress") && reasons.is_subset(&["no-progress", "calm"].into()),
        "it was started for {reasons:?}"
    );
    for (at, start) in events.iter().enumerate() {
        if start["reason"] != "no-progress" {
            continue;
        }
        ensure!(start["for"]["pid"] == urgent, "{start}");
        ensure!(
            number(start, "age_ns")? >= NO_PROGRESS_MS * 1_000_000,
            "started too soon: {start}"
        );
        // Nothing is stopped for it for a while then, so that the low queue comes to its end.
        if let Some(next) = events.get(at + 1) {
            let pause = number(next, "time_ns")? - number(start, "time_ns")?;
            ensure!(
                pause >= COOL_DOWN_MS * 1_000_000,
                "stopped again after {pause} ns: {start} {next}"
            );
        }
    }
    armed(guest)?;
    module.unload(guest)
}

fn number(event: &Value, name: &str) -> Result<u64> {
    let number = event[name].as_u64();
    number.with_context(|| format!("no {name} in {event}"))
}

/// What queues were started for.
fn reasons(events: &[Value]) -> BTreeSet<&str> {
    events
        .iter()
        .filter(|event| event["action"] == "start")
        .filter_map(|event| event["reason"].as_str())
        .collect()
}

/// The type of the packet at the head says that it waits, or both queues are of
/// one process.
fn seen(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        "mode=enforce max_stop_ms=60000 stop_budget_ms=1000 noprogress_ms=60000",
    )?;
    for (group, barrier) in [
        ("urgent", "standard"),
        ("urgent", "value"),
        ("low", "buffer"),
    ] {
        let before = Table::Events.read(guest)?.len();
        let specification = chained(guest, group, barrier);
        let load = Load::start(guest, specification)?;
        let report = load.finish(guest)?;
        in_order(&report, "low", "urgent", REQUESTS)?;
        // With its signal there, the urgent queue may wait for the next request of
        // the low one, which is an inversion. That ends in calm.
        let events = Table::Events.read(guest)?.split_off(before);
        let reasons = reasons(&events);
        ensure!(
            reasons.is_subset(&["calm"].into()),
            "group {group}: started for {reasons:?}"
        );
        ensure!(
            group != "low" || events.is_empty(),
            "something was decided within a process: {events:?}"
        );
    }
    armed(guest)?;
    module.unload(guest)
}
