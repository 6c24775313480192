// SPDX-License-Identifier: GPL-2.0-only
//! Preemption again and again: nothing is lost, nothing runs twice, and what was
//! saved goes on where it was.

use anyhow::{ensure, Result};
use serde_json::{json, Value};
use vgpu_model::QueueReport;

use super::preemption::{PATIENCE, UNBOUNDED};
use crate::accounts::Accounts;
use crate::guest::Guest;
use crate::load::{extend, queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "heavy queues survive hundreds of preemptions",
    needs: Needs::ANY,
    run: hundreds,
}];

/// Longer than the heavy queues ever run at a stretch, so that a workgroup that
/// began anew after each save would never end.
const COST_NS: u64 = 50_000_000;
/// The urgent queue's pause before its next request: worth a start of the heavy queues
/// however long the host takes for a transaction. The module lets a shorter one pass.
const THINK_NS: u64 = 2_000_000;

fn hundreds(guest: &mut Guest) -> Result<()> {
    preempted_again_and_again(guest, "").map(drop)
}

/// Checks that no queue ever ran for so long before it was taken off the compute units.
pub(super) fn in_short_stretches(reports: &[QueueReport], long_ns: u64) -> Result<()> {
    for report in reports {
        let stretch = report.running_time / report.saves.max(1);
        ensure!(
            stretch < long_ns,
            "it ran for {stretch} ns at a stretch, which proves nothing: {report:?}"
        );
    }
    Ok(())
}

/// The module, which stops and starts as often as it can. `parameters` are others of it.
///
/// Where a start takes the host longer than it is worth, the policy rightly puts it off to
/// the bound, which is therefore near.
pub(super) fn unrestrained(guest: &mut Guest, parameters: &str) -> Result<Module> {
    Module::load(
        guest,
        &format!(
            "mode=enforce {UNBOUNDED} max_stop_ms=500 min_run_us=0 rule_overhead_percent=100 \
             claim_overhead_percent=100 {parameters}"
        ),
    )
}

/// Requests that are each more than the GPU takes at once, and then a pause that is worth a
/// start, however long the host takes for one: whoever else has waves is stopped for each.
///
/// A request is two launches, of which one waits in the ring while the other runs. That a
/// launch lacks room is only seen in its first 200 us, and the guest of a busy host seldom
/// looks just then.
pub(super) fn bursts(guest: &Guest, more: Value) -> Value {
    let mut bursts = json!({"requests": 1_000_000, "dispatches_per_request": 2,
        "arrival": {"closed_loop": {"depth": 1, "think_ns": THINK_NS}}});
    extend(&mut bursts, &more);
    let grid = guest.shape.full() + guest.shape.full() / 2;
    queue("urgent", grid, 100_000, bursts)
}

/// Returns how often heavy queues were saved. `parameters` are those of the module besides
/// the usual.
pub(super) fn preempted_again_and_again(guest: &mut Guest, parameters: &str) -> Result<u64> {
    let module = unrestrained(guest, parameters)?;
    let mut accounts = Accounts::new(guest)?;
    let grids = [3 * guest.shape.full() / 2, 3 * guest.shape.full() / 2 + 1];
    let heavy = |name: &str, grid: u32| {
        queue(
            name,
            grid,
            COST_NS,
            json!({"group": name, "priority": 0, "requests": 1_000_000,
                "kernel": {"vector_registers": 64, "scalar_registers": 64, "lds_bytes": 4096}}),
        )
    };
    let urgent = queue(
        "urgent",
        1,
        10_000,
        json!({"group": "urgent", "priority": 15, "requests": 1_000_000,
            "arrival": {"closed_loop": {"depth": 1, "think_ns": THINK_NS}}}),
    );
    let queues = json!([heavy("one", grids[0]), heavy("other", grids[1]), urgent]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    let goal = u64::from(guest.cycles);
    let mut reports: Vec<QueueReport> = Vec::new();
    let patience = PATIENCE * (1 + guest.cycles / 500);
    guest.wait_until(
        &format!("the heavy queues were saved {goal} times and did some work"),
        patience,
        |guest| {
            reports.clear();
            for grid in grids {
                reports.extend(accounts.find(guest, grid)?);
            }
            let saves: u64 = reports.iter().map(|report| report.saves).sum();
            let done = reports.iter().all(|report| report.workgroups_done > 0);
            Ok(reports.len() == grids.len() && done && saves >= goal)
        },
    )?;
    in_short_stretches(&reports, COST_NS / 2)?;
    load.stop(guest)?;
    // Every workgroup of every queue ran exactly once.
    load.finish(guest)?;
    let mut saves = 0;
    for grid in grids {
        let report = accounts.get(guest, grid)?;
        saves += report.saves;
        ensure!(
            report.restores >= report.saves && report.workgroups_saved == 0,
            "waves were left behind: {report:?}"
        );
        ensure!(report.fault.is_none(), "{report:?}");
    }
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)?;
    Ok(saves)
}
