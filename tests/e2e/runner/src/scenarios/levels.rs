// SPDX-License-Identifier: GPL-2.0-only
//! The sixteen levels are sixteen: told apart across
//! processes, and overridden by rules of each kind while work runs.

use anyhow::{ensure, Result};
use serde_json::{json, Value};
use vgpu_model::QueueReport;

use super::preemption::{PATIENCE, UNBOUNDED};
use crate::accounts::Accounts;
use crate::guest::Guest;
use crate::load::{extend, queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "sixteen levels of sixteen processes are told apart",
        needs: Needs::ONCE,
        run: all_levels,
    },
    Scenario {
        suite: Suite::E2e,
        name: "each level of a process stops the level below in another",
        needs: Needs::ONCE,
        run: two_processes,
    },
    Scenario {
        suite: Suite::E2e,
        name: "rules by pid, command and cgroup override levels live",
        needs: Needs::ONCE,
        run: rules,
    },
];

const LEVELS: u32 = 16;
/// Queues are stopped as early and started as late as possible.
pub(super) const AT_ONCE: &str =
    "min_run_us=0 rule_overhead_percent=100 claim_overhead_percent=100";

/// Work that does not end by itself and leaves no room. Its grid is the larger
/// the higher `number` is, by which the device's account of it is found.
pub(super) fn greedy(guest: &Guest, name: &str, number: u32, more: Value) -> Value {
    let mut work = queue(
        name,
        grid(guest, number),
        1_000_000,
        json!({"requests": 1_000_000, "arrival": {"closed_loop": {"depth": 2}}}),
    );
    extend(&mut work, &more);
    work
}

pub(super) fn grid(guest: &Guest, number: u32) -> u32 {
    guest.shape.full() + number
}

pub(super) fn runs(report: &QueueReport) -> bool {
    report.mapped.is_some() && report.workgroups_resident > 0
}

pub(super) fn is_off(report: &QueueReport) -> bool {
    report.mapped.is_none() && report.workgroups_resident == 0
}

/// The highest queue has the GPU for itself; when it has done, the next one.
fn all_levels(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {AT_ONCE}"))?;
    let mut accounts = Accounts::new(guest)?;
    let queues: Vec<Value> = (0..LEVELS)
        .map(|level| {
            greedy(
                guest,
                &format!("level{level}"),
                level,
                json!({"group": format!("level{level}"), "priority": level}),
            )
        })
        .collect();
    let load = Load::start(guest, json!({"queues": queues}))?;
    for level in (0..LEVELS).rev() {
        guest.wait_until(
            &format!("level {level} alone has the GPU"),
            PATIENCE,
            |guest| {
                let rows = Table::Queues.read(guest)?;
                let below_are_stopped = rows
                    .iter()
                    .filter(|row| row["internal"] == false)
                    .filter(|row| row["eff_prio"].as_u64() < Some(level.into()))
                    .all(|row| row["active"] == false);
                let Some(report) = accounts.find(guest, grid(guest, level))? else {
                    return Ok(false);
                };
                let resident = guest
                    .device
                    .queues()?
                    .iter()
                    .filter(|queue| queue.workgroups_resident > 0)
                    .count();
                Ok(below_are_stopped && resident == 1 && runs(&report))
            },
        )?;
        load.control(guest, &format!("level{level}"), &["stop"])?;
    }
    load.finish(guest)?;
    module.unload(guest)
}

/// Two processes climb over each other, level by level.
fn two_processes(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {AT_ONCE}"))?;
    let mut accounts = Accounts::new(guest)?;
    let names = ["even", "odd"];
    let queues: Vec<Value> = (0..2)
        .map(|level| {
            let name = names[level as usize];
            greedy(
                guest,
                name,
                level,
                json!({"group": name, "priority": level}),
            )
        })
        .collect();
    let load = Load::start(guest, json!({"queues": queues}))?;
    for level in 1..LEVELS {
        let (above, below) = (level % 2, (level + 1) % 2);
        if level > 1 {
            let name = names[above as usize];
            load.control(guest, name, &["update", "--priority", &level.to_string()])?;
        }
        guest.wait_until(
            &format!("level {level} has level {} stopped", level - 1),
            PATIENCE,
            |guest| {
                let above = accounts.find(guest, grid(guest, above))?;
                let below = accounts.find(guest, grid(guest, below))?;
                Ok(above.is_some_and(|queue| runs(&queue))
                    && below.is_some_and(|queue| is_off(&queue)))
            },
        )?;
    }
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

/// The rule and the priority that count for a process's queue. There is neither until the
/// module has looked.
pub(super) fn judged(guest: &mut Guest, pid: u32) -> Result<(Option<u64>, Option<u64>)> {
    let rows = Table::Queues.read(guest)?;
    let row = rows
        .iter()
        .find(|row| row["pid"] == pid && row["internal"] == false);
    Ok(row.map_or((None, None), |row| {
        (row["rule"].as_u64(), row["eff_prio"].as_u64())
    }))
}

/// Two processes that claim the same: only rules make a difference.
fn rules(guest: &mut Guest) -> Result<()> {
    const GROUP: &str = "/sys/fs/cgroup/tenant";
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {AT_ONCE}"))?;
    let mut accounts = Accounts::new(guest)?;
    let other = guest
        .agent()
        .shell("cd /files && ln -f workload infer && echo infer")?;
    let queues =
        |guest: &Guest, number| json!({"queues": [greedy(guest, "work", number, json!({}))]});
    let specification = queues(guest, 0);
    let train = Load::start(guest, specification)?;
    let specification = queues(guest, 1);
    let infer = Load::start_as(guest, other.trim(), specification)?;
    let (train_pid, infer_pid) = (train.pid("work")?, infer.pid("work")?);
    guest.wait_until("both run", PATIENCE, |guest| {
        let reports = [
            accounts.find(guest, grid(guest, 0))?,
            accounts.find(guest, grid(guest, 1))?,
        ];
        Ok(reports
            .iter()
            .flatten()
            .filter(|queue| queue.mapped.is_some())
            .count()
            == 2)
    })?;
    ensure!(
        Table::Stats.sum(guest, "stops")? == 0,
        "equals were stopped for each other"
    );
    guest.agent().shell(&format!(
        "mkdir -p {GROUP}/job && echo {train_pid} >{GROUP}/job/cgroup.procs"
    ))?;

    // Rules added one by one, the number of the rule and the priority that the
    // process named has then, and whether the first process is the one above.
    let pid_rule = format!("20 pid={train_pid} prio=12");
    let steps: [(&str, u32, u64, u64, bool); 4] = [
        ("40 comm=infer prio=11", infer_pid, 40, 11, false),
        (&pid_rule, train_pid, 20, 12, true),
        ("30 comm=infer prio=13", infer_pid, 30, 13, false),
        // Of the rules for one process the lowest number wins.
        ("10 cgroup=/tenant prio=14", train_pid, 10, 14, true),
    ];
    for (rule, pid, number, priority, train_above) in steps {
        module.add_rule(guest, rule)?;
        above(guest, &mut accounts, train_above, rule)?;
        let judged = judged(guest, pid)?;
        ensure!(
            judged == (Some(number), Some(priority)),
            "{rule}: {judged:?}"
        );
    }
    // Deleting them takes it all back.
    for (number, train_above) in [(10, false), (30, true), (20, false)] {
        module.delete_rule(guest, number)?;
        above(
            guest,
            &mut accounts,
            train_above,
            &format!("without rule {number}"),
        )?;
    }
    module.delete_rule(guest, 40)?;
    guest.wait_until("both run again", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "stopped")? == 0)
    })?;
    for load in [train, infer] {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    guest.agent().shell(&format!(
        "rmdir {GROUP}/job {GROUP} && rm /files/{}",
        other.trim()
    ))?;
    module.unload(guest)
}

/// Waits until one process has the GPU and the other is stopped.
pub(super) fn above(
    guest: &mut Guest,
    accounts: &mut Accounts,
    train: bool,
    why: &str,
) -> Result<()> {
    let (runner, victim) = if train { (0, 1) } else { (1, 0) };
    guest.wait_until(why, PATIENCE, |guest| {
        let runner = accounts.get(guest, grid(guest, runner))?;
        let victim = accounts.get(guest, grid(guest, victim))?;
        Ok(runs(&runner) && is_off(&victim))
    })
}
