// SPDX-License-Identifier: GPL-2.0-only
//! Rules and the programs that they are for: a program that takes another name or is
//! moved to another cgroup while its queues run, and one that ends.

use anyhow::{bail, ensure, Result};
use serde_json::{json, Value};

use super::contexts::{start_context, CONTEXTS};
use super::levels::{above, greedy, grid, is_off, judged, runs, AT_ONCE};
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::accounts::Accounts;
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "rules follow a program that is renamed or moved while its queues run",
        needs: Needs {
            driver: CONTEXTS,
            ..Needs::ONCE
        },
        run: renamed_and_moved,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the rule of a process ends with it, and the next one of its number has none",
        needs: Needs::ONCE,
        run: same_number,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a rule's own budget bounds what its priority does",
        needs: Needs::ONCE,
        run: own_budget,
    },
];

const GROUP: &str = "/sys/fs/cgroup/tenant";

/// Two processes with a queue of the same priority each, both of which run.
fn two_equals(guest: &mut Guest, accounts: &mut Accounts) -> Result<[Load; 2]> {
    let queues =
        |guest: &Guest, number| json!({"queues": [greedy(guest, "work", number, json!({}))]});
    let specification = queues(guest, 0);
    let first = Load::start(guest, specification)?;
    let specification = queues(guest, 1);
    let second = Load::start(guest, specification)?;
    both_run(guest, accounts, "both run")?;
    Ok([first, second])
}

fn both_run(guest: &mut Guest, accounts: &mut Accounts, why: &str) -> Result<()> {
    guest.wait_until(why, PATIENCE, |guest| {
        let mut mapped = 0;
        for number in [0, 1] {
            let report = accounts.find(guest, grid(guest, number))?;
            mapped += usize::from(report.is_some_and(|report| report.mapped.is_some()));
        }
        Ok(mapped == 2 && Table::Stats.sum(guest, "stopped")? == 0)
    })
}

fn rename(guest: &mut Guest, load: &Load, name: &str) -> Result<()> {
    load.control(guest, "work", &["rename", "--name", name])?;
    Ok(())
}

/// The name that the table has for a process.
fn shown_name(guest: &mut Guest, pid: u32) -> Result<Value> {
    let rows = Table::Queues.read(guest)?;
    let row = rows.iter().find(|row| row["pid"] == pid);
    Ok(row.map_or(Value::Null, |row| row["comm"].clone()))
}

/// Rules are there from the beginning, and the programs come under them and leave them.
fn renamed_and_moved(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {AT_ONCE}"))?;
    let mut accounts = Accounts::new(guest)?;
    guest
        .agent()
        .shell(&format!("mkdir -p {GROUP}/one {GROUP}/other"))?;
    for rule in ["10 comm=urgent prio=12", "20 cgroup=/tenant prio=14"] {
        module.add_rule(guest, rule)?;
    }
    let [train, infer] = two_equals(guest, &mut accounts)?;
    let (train_pid, infer_pid) = (train.pid("work")?, infer.pid("work")?);
    let of_none = (None, Some(7));
    guest.wait_until("neither comes under a rule", PATIENCE, |guest| {
        Ok(judged(guest, train_pid)? == of_none && judged(guest, infer_pid)? == of_none)
    })?;
    let to = |guest: &mut Guest, pid: u32, group: &str| {
        let line = format!("echo {pid} >{group}/cgroup.procs");
        guest.agent().shell(&line).map(|_| ())
    };

    rename(guest, &train, "urgent")?;
    above(
        guest,
        &mut accounts,
        true,
        "the one with the rule's name is above",
    )?;
    ensure!(judged(guest, train_pid)? == (Some(10), Some(12)));
    ensure!(shown_name(guest, train_pid)? == "urgent");

    to(guest, infer_pid, &format!("{GROUP}/one"))?;
    above(
        guest,
        &mut accounts,
        false,
        "the one below the rule's cgroup is above",
    )?;
    ensure!(judged(guest, infer_pid)? == (Some(20), Some(14)));

    // Within the rule's cgroup nothing changes.
    to(guest, infer_pid, &format!("{GROUP}/other"))?;
    rename(guest, &infer, "settled")?;
    guest.wait_until("the new name is seen", PATIENCE, |guest| {
        Ok(shown_name(guest, infer_pid)? == "settled")
    })?;
    ensure!(judged(guest, infer_pid)? == (Some(20), Some(14)));

    to(guest, infer_pid, "/sys/fs/cgroup")?;
    above(
        guest,
        &mut accounts,
        true,
        "what has left the rule's cgroup is not above",
    )?;
    ensure!(judged(guest, infer_pid)? == of_none);

    rename(guest, &train, "workload")?;
    both_run(guest, &mut accounts, "both run when no name is the rule's")?;
    ensure!(judged(guest, train_pid)? == of_none);

    // A thread's name is not the process's: once the other's new name is seen, this one
    // was looked at since.
    let thread = ["rename", "--name", "urgent", "--thread"];
    train.control(guest, "work", &thread)?;
    rename(guest, &infer, "later")?;
    guest.wait_until("the newer name is seen", PATIENCE, |guest| {
        Ok(shown_name(guest, infer_pid)? == "later")
    })?;
    ensure!(judged(guest, train_pid)? == of_none);

    for load in [train, infer] {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    moved_without_main_thread(guest)?;
    guest
        .agent()
        .shell(&format!("rmdir {GROUP}/one {GROUP}/other {GROUP}"))?;
    module.unload(guest)
}

/// A program whose main thread has ended is moved: that thread stays behind.
fn moved_without_main_thread(guest: &mut Guest) -> Result<()> {
    let (program, pid) = start_context(guest, &["--end-main"])?;
    let pid = u32::try_from(pid)?;
    let status = format!("/proc/{pid}/status");
    guest.wait_until("the main thread has ended", PATIENCE, |guest| {
        let said = guest.agent().shell(&format!("grep State: {status}"))?;
        Ok(said.contains("zombie"))
    })?;
    for (group, rule) in [
        (format!("{GROUP}/one"), Some(20)),
        ("/sys/fs/cgroup".into(), None),
    ] {
        guest
            .agent()
            .shell(&format!("echo {pid} >{group}/cgroup.procs"))?;
        guest.wait_until("its rule is that of its new cgroup", PATIENCE, |guest| {
            let (found, level) = judged(guest, pid)?;
            Ok(found == rule && level.is_some())
        })?;
    }
    program.stop(guest).map(|_| ())
}

/// A process ends, and another one gets its number while the rule is still written down.
fn same_number(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {AT_ONCE}"))?;
    let start = |guest: &mut Guest| {
        let specification = json!({"queues": [greedy(guest, "work", 0, json!({}))]});
        Load::start(guest, specification)
    };
    let end = |guest: &mut Guest, load: Load| {
        load.stop(guest)?;
        load.finish(guest)
    };
    let load = start(guest)?;
    let pid = load.pid("work")?;
    module.add_rule(guest, &format!("20 pid={pid} prio=3"))?;
    guest.wait_until("the rule is seen", PATIENCE, |guest| {
        Ok(judged(guest, pid)? == (Some(20), Some(3)))
    })?;
    end(guest, load)?;

    // How many numbers are given from where the kernel is told to go on to the one of the
    // process with the queue: mostly the same, but kernel threads get some as well.
    let mut ahead = 2;
    let mut tries = 0;
    let next = loop {
        let last = pid - ahead;
        let line = format!("echo {last} >/proc/sys/kernel/ns_last_pid");
        guest.agent().shell(&line)?;
        let next = start(guest)?;
        let got = next.pid("work")?;
        if got == pid {
            break next;
        }
        end(guest, next)?;
        tries += 1;
        if tries == 20 {
            bail!("no process got the number {pid} again, at last {got}");
        }
        ahead = got.saturating_sub(last).clamp(1, 50);
    };
    let mut judgement = judged(guest, pid)?;
    guest.wait_until("the next one is seen", PATIENCE, |guest| {
        judgement = judged(guest, pid)?;
        Ok(judgement.1.is_some())
    })?;
    ensure!(judgement == (None, Some(7)), "the next one: {judgement:?}");
    let rules = "/sys/kernel/debug/amd_gpreempt/rules";
    ensure!(guest.agent().read_file(rules)?.is_empty());
    // A rule for the new one is for the new one.
    module.add_rule(guest, &format!("20 pid={pid} prio=4"))?;
    guest.wait_until("its rule is seen", PATIENCE, |guest| {
        Ok(judged(guest, pid)? == (Some(20), Some(4)))
    })?;
    end(guest, next)?;
    ensure!(guest.agent().read_file(rules)?.is_empty());
    module.unload(guest)
}

/// A priority that a rule gives has no limit, until the rule has one.
fn own_budget(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        &format!("mode=enforce {UNBOUNDED} stop_budget_ms=1 {AT_ONCE}"),
    )?;
    let mut accounts = Accounts::new(guest)?;
    let [train, infer] = two_equals(guest, &mut accounts)?;
    let pid = infer.pid("work")?;
    module.add_rule(guest, &format!("5 pid={pid} prio=12"))?;
    above(guest, &mut accounts, false, "the rule's priority is above")?;
    let reasons = |guest: &mut Guest| -> Result<usize> {
        let events = Table::Events.read(guest)?;
        let of_budget = |event: &&Value| event["reason"] == "budget";
        Ok(events.iter().filter(of_budget).count())
    };
    ensure!(reasons(guest)? == 0, "a rule's priority had a budget");
    module.add_rule(guest, &format!("5 pid={pid} prio=12 stop_budget_ms=30"))?;
    guest.wait_until("the rule's budget is spent", PATIENCE, |guest| {
        Ok(reasons(guest)? > 0)
    })?;
    // It is the same again without it: what is below stays off for good.
    module.add_rule(guest, &format!("5 pid={pid} prio=12 stop_budget_ms=1000"))?;
    guest.wait_until("it is stopped again", PATIENCE, |guest| {
        let runner = accounts.get(guest, grid(guest, 1))?;
        let victim = accounts.get(guest, grid(guest, 0))?;
        Ok(runs(&runner) && is_off(&victim))
    })?;
    // What is above goes first, or what is below would wait for its end.
    for load in [infer, train] {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    module.unload(guest)
}
