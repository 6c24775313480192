// SPDX-License-Identifier: GPL-2.0-only
//! When the module decides, counted in its own passes: an inversion in the first
//! one after the grace, a start in the first one after the bound. And what it
//! does when it has nothing to decide.

use anyhow::{ensure, Context, Result};
use serde_json::json;

use super::contention::armed;
use super::preemption::{endless, heavy, short, whole, PATIENCE, ROUND_NS, UNBOUNDED};
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};
use crate::tracing::{self, Line, Mark};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "an inversion is decided in the first pass after the grace",
        needs: Needs {
            bare_metal: true,
            ..Needs::ONCE
        },
        run: first_pass,
    },
    Scenario {
        suite: Suite::E2e,
        name: "an inversion is decided in the first pass where pointers move at completion",
        needs: Needs {
            rptr_at_completion: true,
            ..Needs::ONCE
        },
        run: first_pass,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a start is decided in the first pass after the bound",
        needs: Needs::ONCE,
        run: first_pass_after_bound,
    },
    Scenario {
        suite: Suite::E2e,
        name: "off looks at nothing and wakes for nothing",
        needs: Needs::ONCE,
        run: off,
    },
];

/// Far longer than two passes, so that it is the grace that counts.
const GRACE_US: u64 = 40_000;

/// For how long a queue is stopped where starts at the bound are looked at, and how often
/// the module looks there.
pub(super) const BOUND_MS: u64 = 60;
pub(super) const POLL_US: u64 = 1000;

/// Passes that lie wholly between a time and a line of the trace. The mark of a
/// pass is its end, so of so many marks the first may belong to a pass that began
/// before.
fn whole_passes(lines: &[Line], from_us: u64, to: usize) -> usize {
    lines[..to]
        .iter()
        .filter(|(time, mark)| *time > from_us && *mark == Mark::Pass)
        .count()
        .saturating_sub(1)
}

/// The beginning of what an event looks back at.
fn began_us(line: &Line) -> Result<u64> {
    let age = line.1.number("age_ns").context("an event without an age")?;
    Ok(line.0.saturating_sub(age / 1000))
}

fn first_pass(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        &format!(
            "mode=enforce {UNBOUNDED} grace_us={GRACE_US} poll_interval_us=1000 \
             min_run_us=0 rule_overhead_percent=100 claim_overhead_percent=100"
        ),
    )?;
    tracing::start(guest)?;
    // Of the first only its waves say that it runs.
    for heavy in [whole(guest, ROUND_NS), heavy(guest, 1)] {
        // On a busy host the grid may begin after the request, or end before it.
        let before = Table::Stats.sum(guest, "inversions")?;
        for _ in 0..4 {
            let load = Load::start(guest, json!({"queues": [heavy, short(1)]}))?;
            load.finish(guest)?;
            if Table::Stats.sum(guest, "inversions")? > before {
                break;
            }
        }
    }
    let lines = tracing::read(guest)?;
    tracing::stop(guest)?;
    let mut decided = 0;
    for (at, line) in lines.iter().enumerate() {
        if !line.1.is("inversion") {
            continue;
        }
        let age = line.1.number("age_ns").context("no age")?;
        ensure!(age >= GRACE_US * 1000, "decided within the grace: {line:?}");
        let late = whole_passes(&lines, began_us(line)? + GRACE_US, at);
        ensure!(
            late == 0,
            "{late} passes saw the inversion and left it: {line:?}"
        );
        // The stop belongs to the same pass: no pass ends in between.
        let same_pass = lines[at..]
            .iter()
            .take_while(|(_, mark)| *mark != Mark::Pass);
        let stops = same_pass.filter(|(_, mark)| mark.is("stop")).count();
        ensure!(stops == 1, "{stops} stops in the pass of {line:?}");
        decided += 1;
    }
    ensure!(decided >= 2, "{decided} inversions in two runs");
    module.unload(guest)
}

/// Starts when a queue was stopped for as long as it may be, and where they are in the trace.
pub(super) fn starts_at_bound(guest: &mut Guest, times: usize) -> Result<(Vec<Line>, Vec<usize>)> {
    let module = Module::load(
        guest,
        &format!(
            "mode=enforce max_stop_ms={BOUND_MS} noprogress_ms=60000 stop_budget_ms=1000 \
             poll_interval_us={POLL_US}"
        ),
    )?;
    tracing::start(guest)?;
    let queues = json!([heavy(guest, 1_000), endless(guest)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    let bounds = |lines: &[Line]| -> Vec<usize> {
        let bound = |line: &Line| line.1.is("start") && line.1.field("reason") == Some("bound");
        (0..lines.len()).filter(|&at| bound(&lines[at])).collect()
    };
    let mut lines = Vec::new();
    guest.wait_until("the bound has started it often", PATIENCE, |guest| {
        lines = tracing::read(guest)?;
        Ok(bounds(&lines).len() >= times)
    })?;
    tracing::stop(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    armed(guest)?;
    module.unload(guest)?;
    let places = bounds(&lines);
    Ok((lines, places))
}

fn first_pass_after_bound(guest: &mut Guest) -> Result<()> {
    let (lines, places) = starts_at_bound(guest, 5)?;
    for at in places {
        let line = &lines[at];
        let age = line.1.number("age_ns").context("no age")?;
        ensure!(
            age >= BOUND_MS * 1_000_000,
            "started before the bound: {line:?}"
        );
        let late = whole_passes(&lines, began_us(line)? + BOUND_MS * 1000, at);
        ensure!(late == 0, "{late} passes let the bound go by: {line:?}");
    }
    Ok(())
}

/// How often the module's threads have been put to sleep and woken.
fn switches(guest: &mut Guest) -> Result<String> {
    let text = guest.agent().shell(
        "for task in /proc/[0-9]*; do \
             case $(cat $task/comm) in gp/*) grep ctxt_switches $task/status;; esac; \
         done",
    )?;
    ensure!(!text.is_empty(), "the module has no thread");
    Ok(text)
}

fn off(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, "")?;
    module.set(guest, "mode", "off")?;
    let queues = json!([heavy(guest, 1_000), endless(guest)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    let completed = |guest: &mut Guest| -> Result<u64> {
        let queues = guest.device.queues()?;
        Ok(queues.iter().map(|queue| queue.dispatches_done).sum())
    };
    let first = completed(guest)?;
    guest.wait_until("work is under way", PATIENCE, |guest| {
        Ok(completed(guest)? > first)
    })?;
    let passes = Table::Stats.sum(guest, "passes")?;
    let mark = guest.device.hiq_mark()?;
    let before = switches(guest)?;
    let done = completed(guest)?;
    guest.wait_until("more work is done", PATIENCE, |guest| {
        Ok(completed(guest)? >= done + 10)
    })?;
    ensure!(switches(guest)? == before, "a thread of the module ran");
    ensure!(Table::Stats.sum(guest, "passes")? == passes);
    let packets = guest.device.hiq(mark)?;
    ensure!(packets.is_empty(), "packets were sent: {packets:?}");
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}
