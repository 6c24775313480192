// SPDX-License-Identifier: GPL-2.0-only
//! The bounds and guards of the policy, by the device's own account of what was
//! saved, for how long, and what ran in between. Device time is 1/32 of guest
//! time and follows the same clock, so that shares of it do not depend on the host's speed.
//!
//! It goes on between two questions to the device. Where an account is held
//! against the time that has passed, that time is taken from before the first
//! account to after the last one.

use anyhow::{ensure, Result};
use serde_json::{json, Value};
use vgpu_model::QueueReport;

use super::preemption::PATIENCE;
use crate::accounts::Accounts;
use crate::guest::Guest;
use crate::load::{queue, Load, DILATION};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a queue below an endless one runs after each bound",
        needs: Needs::ONCE,
        run: bound,
    },
    Scenario {
        suite: Suite::E2e,
        name: "equals take turns by their timeslice",
        needs: Needs::ONCE,
        run: rotation,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a tenant of priority 15 has no more stopped than its budget",
        needs: Needs::ONCE,
        run: budget,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a claim above the cap is worth nothing",
        needs: Needs::ONCE,
        run: capped,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a tenant that forges its pointers gains nothing but its budget",
        needs: Needs::ONCE,
        run: forged,
    },
];

/// No bound but those that a scenario sets, and no guard.
const FREE: &str = "noprogress_ms=60000 rule_overhead_percent=100 claim_overhead_percent=100";
const NO_BUDGET: &str = "stop_budget_ms=1000";

/// The device's time.
fn now(guest: &mut Guest) -> Result<u64> {
    Ok(guest.device.state()?.now.0)
}

fn device_ns(guest_ms: u64) -> u64 {
    guest_ms * 1_000_000 / u64::from(DILATION)
}

/// A queue that always has work for the whole GPU, also while a busy host keeps its program
/// from running.
fn greedy(name: &str, grid: u32, priority: u32) -> Value {
    queue(
        name,
        grid,
        500_000,
        json!({"group": name, "priority": priority, "requests": 1_000_000,
            "arrival": {"closed_loop": {"depth": 8}}}),
    )
}

/// Waits until a queue was saved so often, and returns its account.
fn wait_for_saves(
    guest: &mut Guest,
    accounts: &mut Accounts,
    grid: u32,
    saves: u64,
) -> Result<QueueReport> {
    let mut report = None;
    guest.wait_until(&format!("it was saved {saves} times"), PATIENCE, |guest| {
        report = accounts
            .find(guest, grid)?
            .filter(|report| report.saves >= saves);
        Ok(report.is_some())
    })?;
    accounts.get(guest, grid)
}

fn end(guest: &mut Guest, load: Load, module: Module) -> Result<()> {
    load.stop(guest)?;
    load.finish(guest)?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)
}

/// Stopped for the bound, and running for the minimum in between.
fn bound(guest: &mut Guest) -> Result<()> {
    const EACH_MS: u64 = 200;
    const TIMES: u64 = 4;
    let module = Module::load(
        guest,
        &format!(
            "mode=enforce max_stop_ms={EACH_MS} min_run_us={} {FREE} {NO_BUDGET}",
            EACH_MS * 1000
        ),
    )?;
    let mut accounts = Accounts::new(guest)?;
    let (low, high) = (guest.shape.full(), guest.shape.full() + 1);
    let queues = json!([greedy("low", low, 0), greedy("high", high, 15)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    let before = wait_for_saves(guest, &mut accounts, low, 1)?;
    let after = wait_for_saves(guest, &mut accounts, low, before.saves + TIMES)?;
    let times = after.saves - before.saves;
    let ran = after.running_time - before.running_time;
    let saved = after.saved_time - before.saved_time;
    // Half of it, since the transactions themselves take their time.
    let least = times * device_ns(EACH_MS) / 2;
    ensure!(
        saved >= least,
        "{times} stops of {EACH_MS} ms, but only {saved} ns saved"
    );
    ensure!(
        ran >= least,
        "{times} runs of {EACH_MS} ms, but only {ran} ns run"
    );
    ensure!(
        after.workgroups_done > before.workgroups_done,
        "nothing was done in its time: {after:?}"
    );
    end(guest, load, module)
}

fn rotation(guest: &mut Guest) -> Result<()> {
    const SLICE_MS: u64 = 100;
    const TURNS: u64 = 8;
    let module = Module::load(
        guest,
        &format!(
            "mode=enforce timeslice_us={} max_stop_ms=60000 min_run_us=0 {FREE} {NO_BUDGET}",
            SLICE_MS * 1000
        ),
    )?;
    let mut accounts = Accounts::new(guest)?;
    let grids = [guest.shape.full(), guest.shape.full() + 1];
    let queues = json!([greedy("one", grids[0], 7), greedy("other", grids[1], 7)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    for grid in grids {
        wait_for_saves(guest, &mut accounts, grid, 1)?;
    }
    let look = |guest: &mut Guest, accounts: &mut Accounts| -> Result<[QueueReport; 2]> {
        Ok([
            accounts.get(guest, grids[0])?,
            accounts.get(guest, grids[1])?,
        ])
    };
    let begin = now(guest)?;
    let before = look(guest, &mut accounts)?;
    for (grid, report) in grids.iter().zip(&before) {
        wait_for_saves(guest, &mut accounts, *grid, report.saves + TURNS)?;
    }
    let after = look(guest, &mut accounts)?;
    let elapsed = now(guest)? - begin;
    let ran: Vec<u64> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| after.running_time - before.running_time)
        .collect();
    for (at, ran) in ran.iter().enumerate() {
        let turns = after[at].saves - before[at].saves;
        ensure!(
            *ran >= turns * device_ns(SLICE_MS) / 2,
            "{turns} turns of {SLICE_MS} ms took {ran} ns"
        );
    }
    // One after the other: side by side each would run all the time.
    let sum = ran[0] + ran[1];
    ensure!(
        sum <= elapsed + elapsed / 4,
        "in {elapsed} ns they ran for {ran:?} ns"
    );
    ensure!(
        ran[0] <= 4 * ran[1] && ran[1] <= 4 * ran[0],
        "equals ran for {ran:?} ns"
    );
    end(guest, load, module)
}

/// How much of the device's time a queue lay in memory while a budget started it
/// again so often.
fn stopped_share(
    guest: &mut Guest,
    accounts: &mut Accounts,
    grid: u32,
    starts: usize,
) -> Result<f64> {
    let by_budget = |guest: &mut Guest| -> Result<usize> {
        let events = Table::Events.read(guest)?;
        let is_one = |event: &&Value| event["reason"] == "budget" && event["fate"] == "done";
        Ok(events.iter().filter(is_one).count())
    };
    wait_for_saves(guest, accounts, grid, 1)?;
    let already = by_budget(guest)?;
    let begin = now(guest)?;
    let before = accounts.get(guest, grid)?;
    guest.wait_until("the budget has started it", PATIENCE, |guest| {
        Ok(by_budget(guest)? >= already + starts)
    })?;
    let after = accounts.get(guest, grid)?;
    let elapsed = now(guest)? - begin;
    Ok((after.saved_time - before.saved_time) as f64 / elapsed as f64)
}

/// A tenth of each second, and no more than a third with all that a start takes.
const BUDGET: &str = "stop_budget_ms=100 max_stop_ms=60000 min_run_us=0";

fn budget(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {BUDGET} {FREE}"))?;
    let mut accounts = Accounts::new(guest)?;
    let (low, high) = (guest.shape.full(), guest.shape.full() + 1);
    let queues = json!([greedy("low", low, 0), greedy("high", high, 15)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    let share = stopped_share(guest, &mut accounts, low, 3)?;
    ensure!(share < 0.34, "it was stopped for {share} of the time");
    end(guest, load, module)
}

fn capped(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        &format!("mode=enforce user_priority=cap:7 max_stop_ms=60000 {FREE} {NO_BUDGET}"),
    )?;
    let mut accounts = Accounts::new(guest)?;
    let (low, high) = (guest.shape.full(), guest.shape.full() + 1);
    let queues = json!([greedy("low", low, 7), greedy("high", high, 15)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    let mut report = None;
    guest.wait_until("both get on", PATIENCE, |guest| {
        let high = accounts.find(guest, high)?;
        report = accounts.find(guest, low)?;
        let done = |report: &Option<QueueReport>| {
            report
                .as_ref()
                .is_some_and(|report| report.dispatches_done >= 10)
        };
        Ok(done(&report) && done(&high))
    })?;
    ensure!(
        report.as_ref().is_some_and(|report| report.saves == 0),
        "{report:?}"
    );
    let rows = Table::Queues.read(guest)?;
    let claim = rows.iter().find(|row| row["prio"] == 15);
    ensure!(claim.is_some_and(|row| row["eff_prio"] == 7), "{rows:?}");
    // The operator's word is above the cap.
    let pid = load.pid("high")?;
    module.add_rule(guest, &format!("1 pid={pid} prio=15"))?;
    wait_for_saves(guest, &mut accounts, low, 1)?;
    end(guest, load, module)
}

/// Writes bytes into the memory of a process, as that process could itself.
fn forge(guest: &mut Guest, pid: u32, address: u64, bytes: &[u8]) -> Result<()> {
    let escaped: Vec<String> = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let text = escaped.concat();
    let line = format!(
        "printf '{text}' | dd of=/proc/{pid}/mem bs=1 seek={address} conv=notrunc 2>/dev/null"
    );
    guest.agent().shell(&line).map(|_| ())
}

fn peek(guest: &mut Guest, pid: u32, address: u64) -> Result<u64> {
    let line =
        format!("dd if=/proc/{pid}/mem bs=1 skip={address} count=8 2>/dev/null | od -An -tu8");
    Ok(guest.agent().shell(&line)?.trim().parse()?)
}

/// A read pointer that lies: an idle queue of priority 15 that looks as if it had
/// waited for ever. Nothing of it is true, so nothing that is stopped helps it.
fn forged(guest: &mut Guest) -> Result<()> {
    /// Where an amd_queue_t has the ring's address.
    const RING: u64 = 8;
    const WRITE_INDEX: u64 = 0x38;
    const PACKET: u64 = 64;
    const KERNEL_DISPATCH: u8 = 2;
    let module = Module::load(guest, &format!("mode=enforce {BUDGET} {FREE}"))?;
    let mut accounts = Accounts::new(guest)?;
    let low = guest.shape.full();
    let idle = queue(
        "liar",
        1,
        10_000,
        json!({"group": "liar", "priority": 15, "requests": 1_000_000,
            "arrival": {"trace": {"times_ns": [0, 0, 0, 3_600_000_000_000_u64]}}}),
    );
    let load = Load::start(guest, json!({"queues": [greedy("low", low, 0), idle]}))?;
    guest.wait_until("the liar is idle", PATIENCE, |guest| {
        Ok(load.completed(guest, "liar")? == 3)
    })?;
    let pid = load.pid("liar")?;
    let status = load.control(guest, "liar", &["status"])?;
    let addresses = &status[0]["index_addresses"];
    let (Some(read), Some(write)) = (addresses[0].as_u64(), addresses[1].as_u64()) else {
        anyhow::bail!("no addresses in {status}");
    };
    let ring = peek(guest, pid, write - WRITE_INDEX + RING)?;
    let last = peek(guest, pid, read)?
        .checked_sub(1)
        .ok_or_else(|| anyhow::anyhow!("the liar has submitted nothing"))?;
    // What was consumed is marked so in its header: a lie about the pointer alone
    // is seen through.
    forge(guest, pid, read, &last.to_le_bytes())?;
    let passes = Table::Stats.sum(guest, "passes")?;
    let stops = Table::Stats.sum(guest, "stops")?;
    guest.wait_until("the lie was seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "passes")? > passes + 100)
    })?;
    ensure!(
        Table::Stats.sum(guest, "stops")? == stops,
        "a consumed packet stopped somebody"
    );
    // With a header that lies too it is believed, for as long as its budget lasts.
    forge(guest, pid, ring + last * PACKET, &[KERNEL_DISPATCH])?;
    let share = stopped_share(guest, &mut accounts, low, 3)?;
    ensure!(share < 0.34, "it was stopped for {share} of the time");
    // Where no progress is looked for, the lie is found out.
    module.set(guest, "noprogress_ms", "20")?;
    guest.wait_until("the lie is found out", PATIENCE, |guest| {
        let events = Table::Events.read(guest)?;
        Ok(events.iter().any(|event| event["reason"] == "no-progress"))
    })?;
    forge(guest, pid, read, &(last + 1).to_le_bytes())?;
    end(guest, load, module)
}
