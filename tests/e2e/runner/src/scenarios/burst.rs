// SPDX-License-Identifier: GPL-2.0-only
//! Many heavy queues that are all stopped for each of an urgent queue's short requests,
//! as often as the module can: a transaction costs the guest about the same for one
//! queue as for many.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};
use vgpu_model::QueueReport;

use super::preemption::PATIENCE;
use super::repetition::{in_short_stretches, unrestrained};
use crate::accounts::Accounts;
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::Table;

/// Longer than the heavy queues ever run at a stretch, so that a workgroup that began anew
/// after each save would never end. While one runs, none ends and makes room for the
/// urgent queue, which would then get through without the module.
const COST_NS: u64 = 50_000_000;
/// An urgent workgroup, and the pause before the next request: so long that it is worth
/// to start the heavy queues in it.
const URGENT_NS: u64 = 1_000;
const THINK_NS: u64 = 2_000_000;
/// How many heavy queues there are. With the urgent one and those of the runtime's own
/// they have slots for all.
const HEAVY: u32 = 16;

/// The queues' grids, which differ so that the GPU's accounts can be told apart. Together
/// they ask for more than there is room for, however many queues have their turn first.
fn grids(guest: &Guest) -> Vec<u32> {
    let share = guest.shape.full().div_ceil(HEAVY);
    (0..HEAVY).map(|number| 2 * share + number).collect()
}

fn name(number: usize) -> String {
    format!("heavy-{number}")
}

fn heavy(number: usize, grid: u32) -> Value {
    queue(
        &name(number),
        grid,
        COST_NS,
        json!({"group": "heavy", "priority": 0, "requests": 1_000_000,
            "kernel": {"vector_registers": 64, "scalar_registers": 64, "lds_bytes": 4096}}),
    )
}

/// How often the module has stopped each heavy queue, and the GPU has saved it.
fn counts(guest: &mut Guest, load: &Load, accounts: &mut Accounts) -> Result<Vec<(u64, u64)>> {
    let rows = Table::Queues.read(guest)?;
    let saved = accounts.find_all(guest, &grids(guest))?;
    let saved = saved.context("a queue is unknown")?;
    let stops = |number| {
        let identity = load.identity(&name(number))?;
        let row = rows
            .iter()
            .find(|row| row["pid"] == identity.pid && row["queue"] == identity.queue_id);
        row.and_then(|row| row["stops"].as_u64())
            .with_context(|| format!("the module does not see {}", identity.name))
    };
    (0..)
        .zip(saved)
        .map(|(number, report)| Ok((stops(number)?, report.saves)))
        .collect()
}

/// Preemptions since: of each queue as many as it was both stopped and saved.
fn preemptions(before: &[(u64, u64)], after: &[(u64, u64)]) -> u64 {
    let each = before.iter().zip(after);
    each.map(|(before, after)| (after.0 - before.0).min(after.1 - before.1))
        .sum()
}

/// Has heavy queues stopped until they were preempted `guest.cycles` times. Returns how
/// often they were.
pub(super) fn preempted_in_bursts(guest: &mut Guest) -> Result<u64> {
    let module = unrestrained(guest, "")?;
    let mut accounts = Accounts::new(guest)?;
    let grids = grids(guest);
    let mut queues: Vec<Value> = (0..).zip(&grids).map(|(n, &grid)| heavy(n, grid)).collect();
    queues.push(queue(
        "urgent",
        guest.shape.full(),
        URGENT_NS,
        json!({"group": "urgent", "priority": 15, "requests": 100_000_000_u64,
            "arrival": {"closed_loop": {"depth": 1, "think_ns": THINK_NS}}}),
    ));
    let load = Load::start(guest, json!({"queues": queues}))?;
    let goal = u64::from(guest.cycles);
    let patience = PATIENCE * (1 + guest.cycles / 500);
    let mut before = Vec::new();
    guest.wait_until("the module sees every queue", PATIENCE, |guest| {
        before = counts(guest, &load, &mut accounts).unwrap_or_default();
        Ok(!before.is_empty())
    })?;
    let mut all: Vec<QueueReport> = Vec::new();
    let mut count = 0;
    guest.wait_until(
        &format!("queues were stopped {goal} times"),
        patience,
        |guest| {
            all = accounts.find_all(guest, &grids)?.unwrap_or_default();
            let saves: u64 = all.iter().map(|report| report.saves).sum();
            // The GPU is asked first, since that costs the guest nothing.
            if saves >= goal {
                count = preemptions(&before, &counts(guest, &load, &mut accounts)?);
            }
            Ok(count >= goal)
        },
    )?;
    in_short_stretches(&all, COST_NS / 2)?;
    load.stop(guest)?;
    // Every workgroup of every queue ran exactly once.
    load.finish(guest)?;
    let mut saves = 0;
    let all = accounts.find_all(guest, &grids)?;
    for report in all.context("a queue is unknown")? {
        saves += report.saves;
        ensure!(
            report.restores >= report.saves && report.workgroups_saved == 0,
            "waves were left behind: {report:?}"
        );
        ensure!(report.fault.is_none(), "{report:?}");
    }
    println!(
        "        {saves} saves in {} transactions",
        Table::Stats.sum(guest, "transactions")?
    );
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)?;
    Ok(count)
}
