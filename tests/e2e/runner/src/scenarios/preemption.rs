// SPDX-License-Identifier: GPL-2.0-only
//! The module: an inversion found and ended, and everything as before afterwards.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use gpu_workload::report::RunReport;
use serde_json::{json, Value};

use crate::agent::errno;
use crate::guest::Guest;
use crate::load::{queue, run, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "the module loads beside a GPU and unloads",
        needs: Needs::ANY,
        run: load_and_unload,
    },
    Scenario {
        suite: Suite::E2e,
        name: "an open file holds the module",
        needs: Needs::ANY,
        run: open_file,
    },
    Scenario {
        suite: Suite::E2e,
        name: "observe decides and sends nothing",
        needs: Needs::ANY,
        run: observe,
    },
    Scenario {
        suite: Suite::E2e,
        name: "an urgent queue gets through a heavy one",
        needs: Needs::ANY,
        run: urgent,
    },
    Scenario {
        suite: Suite::E2e,
        name: "an urgent queue gets through where pointers move at completion",
        needs: Needs {
            rptr_at_completion: true,
            ..Needs::ANY
        },
        run: urgent,
    },
    Scenario {
        suite: Suite::E2e,
        name: "rmmod starts what is stopped",
        needs: Needs::ANY,
        run: unload_with_stopped,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a change of mode starts what is stopped",
        needs: Needs::ANY,
        run: mode_with_stopped,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a stopped queue is started at the bound",
        needs: Needs::ANY,
        run: bound,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a process may be killed while its queue is stopped",
        needs: Needs::ANY,
        run: killed,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a rule makes a queue urgent",
        needs: Needs::ANY,
        run: rule,
    },
    Scenario {
        suite: Suite::E2e,
        name: "single queues are stopped with backend=mqd",
        needs: Needs {
            sched_policy: 2,
            ..Needs::ANY
        },
        run: by_descriptor,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a backend that cannot work is refused in words",
        needs: Needs::ANY,
        run: wrong_backend,
    },
];

pub(super) const PATIENCE: Duration = Duration::from_secs(300);
/// Bounds so far away that no scenario meets them, and no budget.
pub(super) const UNBOUNDED: &str = "max_stop_ms=60000 noprogress_ms=60000 stop_budget_ms=1000";

/// How long a workgroup of the heavy grid takes.
pub(super) const ROUND_NS: u64 = 20_000_000;

/// A grid of the lowest priority that fills the GPU several times.
pub(super) fn heavy(guest: &Guest, requests: u32) -> Value {
    heavy_of(guest, requests, ROUND_NS)
}

fn heavy_of(guest: &Guest, requests: u32, round_ns: u64) -> Value {
    queue(
        "heavy",
        3 * guest.shape.full(),
        round_ns,
        json!({"group": "heavy", "priority": 0, "requests": requests}),
    )
}

/// One grid that the GPU takes whole, so that its pointers are equal while it runs where
/// they move at launch.
pub(super) fn whole(guest: &Guest, nanos: u64) -> Value {
    queue(
        "heavy",
        guest.shape.full(),
        nanos,
        json!({"group": "heavy", "priority": 0, "requests": 1}),
    )
}

/// Short requests of the highest priority that begin when the heavy grid runs.
pub(super) fn short(requests: u32) -> Value {
    queue(
        "urgent",
        1,
        10_000,
        json!({"group": "urgent", "priority": 15, "requests": requests, "start_ns": 5_000_000}),
    )
}

/// Work of the highest priority that does not end by itself and needs all there
/// is. So much of it is in the ring that the queue stays busy while a busy host keeps its
/// program from running for a quarter of a second.
pub(super) fn endless(guest: &Guest) -> Value {
    queue(
        "urgent",
        guest.shape.full(),
        1_000_000,
        json!({"group": "urgent", "priority": 15, "requests": 1_000_000, "start_ns": 5_000_000,
            "arrival": {"closed_loop": {"depth": 8}}}),
    )
}

/// Both, until they are told to stop: the urgent queue finds the GPU taken.
pub(super) fn inversion(guest: &Guest) -> Value {
    json!({"queues": [heavy(guest, 1_000_000), endless(guest)]})
}

/// Waits until the device has the heavy queue unmapped with waves in its save
/// area, or mapped.
pub(super) fn wait_for_heavy(guest: &mut Guest, load: &Load, stopped: bool) -> Result<()> {
    let pid = load.pid("heavy")?;
    let what = if stopped { "stopped" } else { "running" };
    guest.wait_until(&format!("the heavy queue is {what}"), PATIENCE, |guest| {
        let queues = Table::Queues.read(guest)?;
        // It may not have looked yet since the queue was created.
        let row = queues
            .iter()
            .find(|row| row["pid"] == pid && row["prio"] == 0);
        Ok(row.is_some_and(|row| row["active"] == !stopped))
    })
}

fn load_and_unload(guest: &mut Guest) -> Result<()> {
    for _ in 0..3 {
        let module = Module::load(guest, "")?;
        let nodes = Table::Stats.wait_for_nodes(guest, 1)?;
        ensure!(nodes[0]["state"] == "armed", "{nodes:?}");
        ensure!(nodes[0]["mode"] == "observe", "{nodes:?}");
        module.unload(guest)?;
    }
    Ok(())
}

fn open_file(guest: &mut Guest) -> Result<()> {
    const EAGAIN: i32 = 11;
    let module = Module::load(guest, "")?;
    let file = guest.agent().open(&Table::Queues.path())?;
    match guest.agent().rmmod("amd_gpreempt") {
        Ok(()) => bail!("the module went away under an open file"),
        Err(error) => ensure!(errno(&error) == Some(EAGAIN), "{error:#}"),
    }
    guest.agent().close(file)?;
    module.unload(guest)
}

/// The packets of the firmware's ring, while only the module could send any.
fn observe(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, "mode=observe")?;
    let queues = json!([heavy(guest, 1_000), endless(guest)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    guest.wait_until("an inversion is seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "observed")? > 0)
    })?;
    let mark = guest.device.hiq_mark()?;
    let before = Table::Stats.sum(guest, "observed")?;
    guest.wait_until("more decisions are made", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "observed")? > before + 4)
    })?;
    let packets = guest.device.hiq(mark)?;
    ensure!(packets.is_empty(), "packets were sent: {packets:?}");
    ensure!(Table::Stats.sum(guest, "transactions")? == 0);
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

/// The report of a heavy grid and short urgent requests.
fn contend(guest: &mut Guest, round_ns: u64) -> Result<RunReport> {
    let queues = json!([heavy_of(guest, 1, round_ns), short(20)]);
    run(guest, json!({"queues": queues, "samples": true}))
}

/// Whether the urgent requests ran while the heavy grid was under way. `None`: it
/// began only after the last one was sent.
pub(super) fn got_through(report: &RunReport) -> Result<Option<bool>> {
    let samples = |name: &str| {
        report
            .queues
            .iter()
            .find(|queue| queue.identity.name == name)
            .map(|queue| &queue.samples)
            .with_context(|| format!("no samples of {name}"))
    };
    let heavy = samples("heavy")?.first().context("no heavy request")?;
    let urgent = samples("urgent")?.last().context("no urgent request")?;
    let together = heavy.start_ns < urgent.arrival_ns;
    Ok(together.then_some(urgent.end_ns < heavy.end_ns))
}

/// Has both run until they do so at the same time, which a busy host may prevent,
/// and says whether the urgent requests got through.
fn contended(guest: &mut Guest, round_ns: u64) -> Result<bool> {
    for _ in 0..4 {
        if let Some(through) = got_through(&contend(guest, round_ns)?)? {
            return Ok(through);
        }
    }
    bail!("the heavy grid never began before the urgent requests were done")
}

/// Checks that urgent requests get through a heavy grid.
///
/// The GPU's clock goes on while the guest's processors are kept from running by a
/// busy host, and the grid may then have ended before the last request was sent. The
/// next grid takes longer. A scheduler that leaves requests waiting fails each time.
pub(super) fn gets_through(guest: &mut Guest) -> Result<()> {
    for attempt in 0..4 {
        if contended(guest, ROUND_NS << attempt)? {
            return Ok(());
        }
    }
    bail!("the urgent work waited")
}

fn urgent(guest: &mut Guest) -> Result<()> {
    // Without the module the urgent work waits: that is what is to be ended. Only the last
    // request may be so late that it meets the heavy grid's end.
    let mut through = true;
    for _ in 0..4 {
        through = through && contended(guest, ROUND_NS)?;
    }
    ensure!(!through, "there is no inversion to end");
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    gets_through(guest)?;
    ensure!(Table::Stats.sum(guest, "stops")? > 0);
    let stops = Table::Stats.sum(guest, "stops")?;
    let starts = Table::Stats.sum(guest, "starts")?;
    let healed = Table::Stats.sum(guest, "healed")?;
    ensure!(
        stops <= starts + healed,
        "{stops} stops, {starts} starts, {healed} healed"
    );
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)
}

pub(super) fn unload_with_stopped(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    module.unload(guest)?;
    // Only the stock driver is left, which waits for no queue to be mapped.
    guest.wait_until("both applications' queues are mapped", PATIENCE, |guest| {
        Ok(guest.device.mapped()?.len() == 4)
    })?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

fn mode_with_stopped(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, inversion(guest))?;
    for mode in ["observe", "off"] {
        wait_for_heavy(guest, &load, true)?;
        module.set(guest, "mode", mode)?;
        guest.wait_until("nothing is stopped", PATIENCE, |guest| {
            Ok(Table::Stats.sum(guest, "stopped")? == 0)
        })?;
        module.set(guest, "mode", "enforce")?;
    }
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

/// The heavy queue comes to its end although the urgent one never does.
fn bound(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        "mode=enforce max_stop_ms=200 noprogress_ms=60000 stop_budget_ms=1000",
    )?;
    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    guest.wait_until("the bound starts it", PATIENCE, |guest| {
        let events = Table::Events.read(guest)?;
        Ok(events
            .iter()
            .any(|event| event["reason"] == "bound" && event["fate"] == "done"))
    })?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

fn killed(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    load.kill(guest)?;
    guest.wait_until("the queues are gone", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "queues")? == 0)
    })?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    // The next load meets a node in order.
    gets_through(guest)?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)
}

/// Two queues of one claim: a rule lifts one of them.
fn rule(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, "mode=enforce user_priority=ignore")?;
    let load = Load::start(guest, inversion(guest))?;
    guest.wait_until("both are seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "queues")? == 4)
    })?;
    ensure!(
        Table::Stats.sum(guest, "stops")? == 0,
        "stopped without a rule"
    );
    let pid = load.pid("urgent")?;
    module.add_rule(guest, &format!("7 pid={pid} prio=9"))?;
    wait_for_heavy(guest, &load, true)?;
    let urgent = Table::Queues.read(guest)?;
    ensure!(
        urgent
            .iter()
            .any(|row| row["pid"] == pid && row["eff_prio"] == 9 && row["rule"] == 7),
        "{urgent:?}"
    );
    module.delete_rule(guest, 7)?;
    wait_for_heavy(guest, &load, false)?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

fn by_descriptor(guest: &mut Guest) -> Result<()> {
    // The driver itself logs this whenever a process ends in this mode.
    guest.expect_log("Unsupported on sched_policy");
    let module = Module::load(guest, &format!("mode=enforce backend=mqd {UNBOUNDED}"))?;
    gets_through(guest)?;
    ensure!(Table::Stats.sum(guest, "stops")? > 0);
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)
}

fn wrong_backend(guest: &mut Guest) -> Result<()> {
    let why = "backend=mqd cannot work beside the hardware scheduler";
    guest.expect_log(why);
    let module = Module::load(guest, "backend=mqd")?;
    guest.wait_for_log(why, PATIENCE)?;
    let nodes = Table::Stats.wait_for_nodes(guest, 1)?;
    ensure!(nodes[0]["state"] == "refused", "{nodes:?}");
    ensure!(
        nodes[0]["refusal"]
            .as_str()
            .is_some_and(|text| text.contains(why)),
        "{nodes:?}"
    );
    module.set(guest, "backend", "hws")?;
    guest.wait_until("the node is armed", PATIENCE, |guest| {
        let nodes = Table::Stats.read(guest)?;
        Ok(nodes.iter().all(|node| node["state"] == "armed"))
    })?;
    module.unload(guest)
}
