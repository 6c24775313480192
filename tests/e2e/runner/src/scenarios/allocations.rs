// SPDX-License-Identifier: GPL-2.0-only
//! One allocation after the other fails, of what the module does beside the driver and a
//! load: each time the work goes on, nothing stays stopped, and the module either works
//! or says why it does not.

use anyhow::{ensure, Context, Result};
use serde_json::json;

use super::contention::{accounts, heavy, start_load, wait_until_stopped, Contention};
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::failing::{Failing, Tried, Within};
use crate::guest::{Guest, FILES};
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{check_log, Needs, Scenario, Suite};

const NEEDS: Needs = Needs {
    failing_allocations: true,
    ..Needs::ONCE
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "each allocation of loading the module fails in turn",
        needs: NEEDS,
        run: loading,
    },
    Scenario {
        suite: Suite::E2e,
        name: "each allocation of a stop and a start fails in turn",
        needs: NEEDS,
        run: |guest| transactions(guest, "transaction=driver"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "each allocation of a stop and a start with transaction=direct fails in turn",
        needs: NEEDS,
        run: |guest| transactions(guest, "transaction=direct"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "each allocation of who reads and writes the module's files fails in turn",
        needs: NEEDS,
        run: operators,
    },
    Scenario {
        suite: Suite::E2e,
        name: "each allocation of unloading the module fails in turn",
        needs: NEEDS,
        run: unloading,
    },
];

/// Folders of the module's files; those of the parameters have more of the same kind.
const FILES_OF: &str = "/sys/kernel/debug/amd_gpreempt /sys/devices/faux/amd_gpreempt";
const PARAMETERS: &str = "/sys/module/amd_gpreempt/parameters";
const DEVICE: &str = "/sys/devices/faux/amd_gpreempt";

/// Nothing that is tried has so many.
const MOST: u32 = 1000;
/// What programs print of ENOMEM.
const NO_MEMORY: &str = "memory";

/// The number of each allocation in turn, until one is not there. Returns how many were.
fn each(mut fails: impl FnMut(u32) -> Result<bool>) -> Result<u32> {
    for number in 1..=MOST {
        if !fails(number).with_context(|| format!("allocation {number}"))? {
            return Ok(number - 1);
        }
    }
    anyhow::bail!("there are more than {MOST} allocations")
}

/// What the log has said that contains this, since it was looked at last.
fn has_said(guest: &mut Guest, texts: &[&str]) -> Result<bool> {
    for text in texts {
        if guest.times_in_log(text)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn loading(guest: &mut Guest) -> Result<()> {
    let failing = Failing::new(guest)?;
    let load = start_load(guest, 0, json!({}))?;
    let within = Within::function(guest, "do_init_module")?;
    failing.only_within(guest, within)?;
    let failed = each(|number| {
        // The kernel is loud about a probe that it has no memory for, and takes the next
        // one for one that is there already.
        for warner in [
            "register_fprobe_ips",
            "fprobe_graph_add_ips",
            "register_ftrace_graph",
        ] {
            guest.expect_warning(warner, "register_fprobe");
        }
        // So it is about folders and files of sysfs and debugfs.
        for kernel in [
            "kobject: can not set name",
            "kobject_add_internal",
            "debugfs: ",
        ] {
            guest.expect_log(kernel);
        }
        let line = format!("insmod {FILES}/amd_gpreempt.ko mode=enforce {UNBOUNDED}");
        let tried = failing.run(guest, number, &line)?;
        loaded_or_not(guest, &load, &tried)?;
        check_log(guest)?;
        Ok(tried.hit)
    })?;
    println!("        {failed} allocations of loading failed");
    ensure!(failed > 0, "nothing has failed");
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// What the module says where it is loaded and cannot do all of its work.
const DEGRADED: &[&str] = &["is not watched", "cannot be watched", "cannot give hints"];

/// After an attempt to load the module it is loaded and works, or says why it does not;
/// or it is not loaded for want of memory.
fn loaded_or_not(guest: &mut Guest, load: &Load, tried: &Tried) -> Result<()> {
    for text in DEGRADED {
        guest.expect_log(text);
    }
    let is_loaded = guest
        .agent()
        .list("/sys/module")?
        .contains(&"amd_gpreempt".into());
    ensure!(is_loaded == tried.succeeded, "{tried:?}");
    if !is_loaded {
        ensure!(tried.hit && tried.said.contains(NO_MEMORY), "{tried:?}");
        return accounts(guest);
    }
    let module = Module::loaded();
    if !has_said(guest, DEGRADED)? {
        Table::Stats.wait_for_nodes(guest, 1)?;
        wait_until_stopped(guest, load, 0)?;
    }
    module.unload(guest)?;
    accounts(guest)
}

/// What the driver says where it has no memory for the list of queues.
const NO_LIST: &[&str] = &["failed to execute runlist", "Failed to allocate runlist IB"];

/// The thread of the node has no beginning to count from: it is counted from when it is
/// told to start what is stopped.
fn transactions(guest: &mut Guest, parameters: &str) -> Result<()> {
    const PARAMETERS: &str = "disarm_after=1000";
    let failing = Failing::new(guest)?;
    let parameters = format!("{PARAMETERS} {parameters}");
    let contention = Contention::start(guest, &parameters, json!({}))?;
    let within = Within::module(guest)?;
    failing.only_within(guest, within)?;
    let thread = thread(guest)?;
    let failed = each(|number| {
        NO_LIST.iter().for_each(|text| guest.expect_log(text));
        let before = contention.stops(guest)?;
        failing.arm(guest)?;
        failing.tell(guest, thread, number)?;
        contention.module.set(guest, "mode", "observe")?;
        guest.wait_until("the heavy queue runs", PATIENCE, |guest| {
            let row = heavy(guest, &contention.load)?.context("the queue is gone")?;
            Ok(row["active"] == true)
        })?;
        contention.module.set(guest, "mode", "enforce")?;
        contention.wait_until_stopped_again(guest, before)?;
        let hit = failing.disarm(guest)?;
        failing.tell(guest, thread, 0)?;
        is_armed(guest)?;
        check_log(guest)?;
        Ok(hit)
    })?;
    println!("        {failed} allocations of a stop and a start failed");
    ensure!(failed > 0, "nothing has failed");
    let Contention { module, load } = contention;
    module.unload(guest)?;
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// Whoever reads or writes a file may be refused, and is not when no allocation fails.
fn operators(guest: &mut Guest) -> Result<()> {
    let failing = Failing::new(guest)?;
    let contention = Contention::start(guest, "", json!({}))?;
    let mut failed = 0;
    // What a table is shown by is the kernel's own code.
    let read = format!("find {FILES_OF} -type f -perm -0400; echo {PARAMETERS}/mode");
    let files = guest.agent().shell(&read)?;
    for function in ["vfs_open", "vfs_read"] {
        let within = Within::function(guest, function)?;
        failing.only_within(guest, within)?;
        for file in files.lines() {
            failed += each_of(guest, &failing, &format!("cat {file}"))?;
        }
    }
    println!("        {failed} allocations of readers failed");
    ensure!(failed > 0, "nothing has failed");

    let within = Within::module(guest)?;
    failing.only_within(guest, within)?;
    let mut failed = 0;
    for rule in [
        "1 comm=sh prio=3",
        "2 cgroup=/ prio=4 timeslice_us=500",
        "3 pid=1 exempt",
    ] {
        failed += each_of(
            guest,
            &failing,
            &writing(rule, &format!("{DEVICE}/rules_add")),
        )?;
    }
    ensure!(failed > 0, "nothing has failed");
    let rules = guest
        .agent()
        .read_file("/sys/kernel/debug/amd_gpreempt/rules")?;
    ensure!(
        rules.contains("comm=sh") && rules.contains("pid=1"),
        "{rules}"
    );
    for number in 1..=3 {
        contention.module.delete_rule(guest, number)?;
    }
    // Each becomes what it is: another value may be one that does not stop the queue.
    for parameter in guest.agent().list(PARAMETERS)? {
        let path = format!("{PARAMETERS}/{parameter}");
        let value = guest.agent().read_file(&path)?;
        failed += each_of(guest, &failing, &writing(value.trim(), &path))?;
    }
    failed += each_of(guest, &failing, &format!("{FILES}/kfdctl hint-page"))?;
    println!("        {failed} allocations of writers failed");
    contention.finish(guest)
}

/// A program that writes a line to a file, as one of the shell's.
fn writing(text: &str, path: &str) -> String {
    format!("sh -c 'echo \"{text}\" >{path}'")
}

/// Runs a line again and again, of which one allocation after the other fails, and
/// returns how many there were. The line succeeds when it has no more.
fn each_of(guest: &mut Guest, failing: &Failing, line: &str) -> Result<u32> {
    each(|number| {
        let tried = failing.run(guest, number, line)?;
        ensure!(tried.hit || tried.succeeded, "{tried:?}");
        is_armed(guest)?;
        check_log(guest)?;
        Ok(tried.hit)
    })
    .with_context(|| line.to_owned())
}

/// Nothing that is allocated keeps the module from being unloaded, and from starting
/// what it has stopped.
fn unloading(guest: &mut Guest) -> Result<()> {
    let failing = Failing::new(guest)?;
    let load = start_load(guest, 0, json!({}))?;
    let failed = each(|number| {
        NO_LIST.iter().for_each(|text| guest.expect_log(text));
        let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
        wait_until_stopped(guest, &load, 0)?;
        let within = Within::module(guest)?;
        failing.only_within(guest, within)?;
        let tried = failing.run(guest, number, "rmmod amd_gpreempt")?;
        if !tried.succeeded {
            ensure!(tried.hit, "{tried:?}");
            module.unload(guest)?;
        }
        accounts(guest)?;
        check_log(guest)?;
        Ok(tried.hit)
    })?;
    println!("        {failed} allocations of unloading failed");
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// The thread of the first node.
fn thread(guest: &mut Guest) -> Result<u32> {
    let found = guest.agent().shell("grep -l '^gp/' /proc/[0-9]*/comm")?;
    let pid = found.trim().strip_prefix("/proc/");
    let pid = pid.and_then(|rest| rest.strip_suffix("/comm"));
    pid.and_then(|pid| pid.parse().ok())
        .with_context(|| format!("the thread is one of '{found}'"))
}

fn is_armed(guest: &mut Guest) -> Result<()> {
    guest.wait_until("the node is armed", PATIENCE, |guest| {
        Ok(Table::Stats
            .read(guest)?
            .iter()
            .all(|node| node["state"] == "armed"))
    })
}
