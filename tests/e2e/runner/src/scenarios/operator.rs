// SPDX-License-Identifier: GPL-2.0-only
//! The operator's command in the guest, with the files of the running module.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::{Finished, Program, Status};

use super::preemption::{inversion, wait_for_heavy, PATIENCE, UNBOUNDED};
use crate::cache::program;
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

const NEEDS: Needs = Needs {
    one_die: true,
    once: true,
    ..Needs::ANY
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "the operator's command shows and steers",
        needs: NEEDS,
        run: command,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the operator's metrics agree with the module under load",
        needs: NEEDS,
        run: metrics,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the operator's configuration is in force as a whole or not at all",
        needs: NEEDS,
        run: configuration,
    },
];

/// Where the command is in the guest.
pub const PLACE: &str = "/operator";

/// The command and the kernel's configuration.
fn disk(guest: &Guest) -> Result<BTreeMap<String, PathBuf>> {
    let beside = |directory| {
        guest
            .image
            .kernel
            .image
            .join(format!("../{directory}/.config"))
    };
    // A kernel of the cache, one that was built for tests, or one without Rust, whose headers
    // alone are there.
    let headers = format!(
        "/usr/src/linux-headers-{}/.config",
        guest.image.kernel.release
    );
    let configuration = ["kdir", "tree"]
        .map(beside)
        .into_iter()
        .chain([headers.into()])
        .find(|file| file.exists())
        .context("the kernel's configuration is not beside its image")?;
    Ok(BTreeMap::from([
        ("gpreempt".to_owned(), program("gpreempt")?),
        ("config".to_owned(), configuration),
    ]))
}

pub fn install(guest: &mut Guest) -> Result<()> {
    let files = disk(guest)?;
    guest.add_files(&files, PLACE)?;
    let release = guest.image.kernel.release.clone();
    guest
        .agent()
        .shell(&format!(
            "mkdir -p /boot && mv {PLACE}/config /boot/config-{release}"
        ))
        .map(|_| ())
}

/// Takes away what [`install`] brought: it takes memory.
pub fn remove(guest: &mut Guest) -> Result<()> {
    guest
        .agent()
        .shell(&format!("rm -r {PLACE} /boot"))
        .map(|_| ())
}

fn run(guest: &mut Guest, line: &str) -> Result<Finished> {
    let program = Program {
        program: format!("{PLACE}/gpreempt"),
        arguments: line.split_whitespace().map(String::from).collect(),
        ..Program::default()
    };
    guest.agent().run(program, PATIENCE)
}

/// What the command prints when it succeeds.
fn shown(guest: &mut Guest, line: &str) -> Result<String> {
    let finished = run(guest, line)?;
    if finished.status != Status::Exited(0) {
        bail!("gpreempt {line}: {finished:?}");
    }
    Ok(finished.stdout)
}

/// The command fails and says so in words.
pub(super) fn refused(guest: &mut Guest, line: &str, why: &str) -> Result<String> {
    let finished = run(guest, line)?;
    ensure!(
        finished.status == Status::Exited(1) && finished.stderr.contains(why),
        "gpreempt {line}: {finished:?}"
    );
    Ok(finished.stdout)
}

pub(super) fn says(text: &str, wanted: &[&str]) -> Result<()> {
    for word in wanted {
        ensure!(text.contains(word), "'{word}' is not in:\n{text}");
    }
    Ok(())
}

/// The line of a table that is about a process.
fn line_of(text: &str, pid: u32) -> Result<Vec<String>> {
    text.lines()
        .map(|line| {
            line.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        })
        .find(|words| words.get(1) == Some(&pid.to_string()) && words.get(4) == Some(&"0".into()))
        .with_context(|| format!("no line of {pid} in:\n{text}"))
}

fn command(guest: &mut Guest) -> Result<()> {
    install(guest)?;
    let missing = "the module is not loaded: modprobe amd_gpreempt";
    refused(guest, "status", missing)?;
    let target = guest.shape.product.facts().target;
    let (major, minor, step) = (target / 10_000, target / 100 % 100, target % 100);
    says(
        &refused(guest, "doctor", "1 of the above must be mended first")?,
        &[
            "MISSING  amd_gpreempt is loaded",
            &format!("gfx {major}.{minor}.{step}"),
            "CONFIG_HSA_AMD",
        ],
    )?;

    let module = Module::load(guest, UNBOUNDED)?;
    says(
        &shown(guest, "doctor")?,
        &["node 0 is armed", "this host is supported and ready"],
    )?;
    ensure!(shown(guest, "mode")?.trim() == "observe");
    ensure!(shown(guest, "mode enforce")?.trim() == "enforce");
    ensure!(
        guest
            .agent()
            .read_file("/sys/module/amd_gpreempt/parameters/mode")?
            .trim()
            == "enforce"
    );
    says(
        &shown(guest, "status")?,
        &["armed, mode enforce", "sampler auto"],
    )?;

    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    let (low, high) = (load.pid("heavy")?, load.pid("urgent")?);
    // A queue that is idle for a moment has the other one started.
    let mut top = String::new();
    guest.wait_until("the heavy queue is shown as stopped", PATIENCE, |guest| {
        top = shown(guest, "top --once")?;
        // GPU PID COMMAND QUEUE PRIO EFF STATE
        Ok(line_of(&top, low)?[6] == "stopped")
    })?;
    says(&top, &["mode enforce", "workload", "1 stopped"])?;
    says(
        &shown(guest, "events")?,
        &["stop", "inversion", &format!("{low}/"), &format!("{high}/")],
    )?;

    guest.expect_log("rule 'nonsense' refused");
    refused(guest, "rules add nonsense", "dmesg | grep amd_gpreempt")?;
    shown(guest, &format!("rules add 7 pid={low} prio=9"))?;
    ensure!(shown(guest, "rules")?.trim() == format!("7 pid={low} prio=9"));
    guest.wait_until("the rule is in force", PATIENCE, |guest| {
        let queues = shown(guest, "queues")?;
        Ok(line_of(&queues, low)?[5] == "9")
    })?;
    shown(guest, "rules del 7")?;
    ensure!(shown(guest, "rules")?.trim().is_empty());

    ensure!(shown(guest, "mode observe")?.trim() == "observe");
    wait_for_heavy(guest, &load, false)?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)?;
    remove(guest)
}

/// The value of a metric of the first node, by the rest of its labels.
fn metric(text: &str, name: &str, labels: &str) -> Result<f64> {
    metric_of(text, name, 0, labels)
}

/// The same of another node.
fn metric_of(text: &str, name: &str, node: u64, labels: &str) -> Result<f64> {
    let of_it = |line: &&str| {
        line.starts_with(&format!("{name}{{gpu="))
            && line.contains(&format!("node=\"{node}\"{labels}}}"))
    };
    let line = text.lines().find(of_it);
    let line = line.with_context(|| format!("no {name} with {labels} in:\n{text}"))?;
    let (_, value) = line.rsplit_once(' ').context("no value")?;
    Ok(value.parse()?)
}

/// The counters of the module, by the name that the metrics have for them.
const COUNTERS: [&str; 5] = ["inversions", "stops", "starts", "transactions", "passes"];

/// Every reading of a counter of each node lies between what the module says before and
/// after it.
fn agree(guest: &mut Guest, line: &str) -> Result<String> {
    let before = Table::Stats.read(guest)?;
    let text = shown(guest, line)?;
    let after = Table::Stats.read(guest)?;
    ensure!(!before.is_empty(), "the module has no node");
    for (least, most) in before.iter().zip(&after) {
        let node = least["node"].as_u64().context("no number")?;
        for name in COUNTERS {
            let full = format!("amd_gpreempt_{name}_total");
            let value = metric_of(&text, &full, node, "")?;
            let range = least[name].as_f64()..=most[name].as_f64();
            ensure!(
                range.contains(&Some(value)),
                "{name}: {value} not in {range:?}"
            );
        }
    }
    Ok(text)
}

fn metrics(guest: &mut Guest) -> Result<()> {
    install(guest)?;
    let up = |text: &str| text.lines().any(|line| line == "amd_gpreempt_up 1");
    ensure!(!up(&refused(guest, "export", "modprobe amd_gpreempt")?));
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    for _ in 0..guest.cycles.clamp(3, 10) {
        ensure!(up(&agree(guest, "export")?));
    }
    let own = ",kind=\"command\",workload=\"workload\"";
    let stops = "amd_gpreempt_workload_stops_total";
    let stopped = "amd_gpreempt_workload_stopped_seconds_total";
    let file = format!("{PLACE}/metrics.prom");
    let keep = format!("export --output {file}");
    shown(guest, &keep)?;
    let first = guest.agent().read_file(&file)?;
    ensure!(metric(&first, stops, own)? >= 1.0, "{first}");
    load.stop(guest)?;
    load.finish(guest)?;
    guest.wait_until("the queues are gone", PATIENCE, |guest| {
        Ok(Table::Queues.read(guest)?.is_empty())
    })?;
    // What the workload had stays when its queues are gone.
    shown(guest, &keep)?;
    let second = guest.agent().read_file(&file)?;
    for name in [stops, stopped] {
        let (before, after) = (metric(&first, name, own)?, metric(&second, name, own)?);
        ensure!(after >= before, "{name}: {after} after {before}");
    }
    let ended = metric(&second, "amd_gpreempt_stopped_seconds_count", "")?;
    ensure!(ended >= 1.0, "{second}");
    module.unload(guest)?;
    guest.agent().shell("rm -r /var/lib/amd-gpreempt")?;
    remove(guest)
}

/// Where the host's configuration is in the guest.
const FILE: &str = "/etc/amd-gpreempt/config.toml";
const PARAMETERS: &str = "/sys/module/amd_gpreempt/parameters";

fn configure(guest: &mut Guest, text: &str) -> Result<()> {
    guest.agent().shell("mkdir -p /etc/amd-gpreempt")?;
    guest
        .agent()
        .shell(&format!("printf %s '{text}' > {FILE}"))?;
    Ok(())
}

/// Everything that a configuration can change.
fn in_force(guest: &mut Guest) -> Result<(String, String, String)> {
    let all = format!("cd {PARAMETERS} && for p in *; do echo $p $(cat $p); done");
    let agent = guest.agent();
    let parameters = agent.shell(&all)?;
    let rules = agent.read_file("/sys/kernel/debug/amd_gpreempt/rules.json")?;
    let access = agent.shell("stat -c '%u:%g %a' /dev/amd_gpreempt")?;
    Ok((parameters, rules, access))
}

fn configuration(guest: &mut Guest) -> Result<()> {
    install(guest)?;
    let module = Module::load(guest, "")?;
    module.add_rule(guest, "9 comm=old prio=3")?;
    let first = in_force(guest)?;

    let good = "mode = \"enforce\"\n[parameters]\nmax_stop_ms = 77\ntimeslice_us = 5\n\
        [hints]\nmode = \"0640\"\n[[rule]]\nid = 10\ncomm = \"a b\"\nprio = 12\n";
    configure(guest, good)?;
    let drift = [
        "is not in force",
        "mode is observe and should be enforce",
        "max_stop_ms is 100 and should be 77",
        "rule '10 comm=a%20b prio=12' is not there",
        "rule '9 comm=old prio=3' should not be there",
        "/dev/amd_gpreempt belongs to root:root 0600",
    ];
    says(&shown(guest, "status")?, &drift)?;
    ensure!(in_force(guest)? == first, "who looks changes nothing");
    says(&shown(guest, "apply")?, &["is in force"])?;
    says(&shown(guest, "status")?, &["config.toml is in force"])?;
    let second = in_force(guest)?;
    says(
        &second.0,
        &["mode enforce", "max_stop_ms 77", "timeslice_us 5"],
    )?;
    says(&second.1, &["10 comm=a%20b prio=12"])?;
    ensure!(second.2.trim().ends_with(" 640"), "{}", second.2);

    module.set(guest, "max_stop_ms", "78")?;
    says(
        &shown(guest, "status")?,
        &["max_stop_ms is 78 and should be 77"],
    )?;
    let odd = in_force(guest)?;
    let refused_in_the_middle = "mode = \"observe\"\n[hints]\ngroup = \"no-such-group\"\n\
        [parameters]\ngrace_us = 7\n[[rule]]\nid = 10\ncomm = \"other\"\nprio = 1\n\
        [[rule]]\nid = 11\ncomm = \"new\"\nexempt = true\n";
    configure(guest, refused_in_the_middle)?;
    refused(guest, "apply", "everything is as it was")?;
    ensure!(
        in_force(guest)? == odd,
        "{:?} was {odd:?}",
        in_force(guest)?
    );

    waits_for_its_cgroup(guest)?;
    // While its cgroup is not there, nobody can tell whether it waits or is not wanted.
    let rule = "3 cgroup=/later prio=9";
    shown(guest, "rules del 3")?;
    let kept = format!("kept, because it waits for its cgroup: {rule}");
    says(&shown(guest, "rules save")?, &[&kept])?;
    guest.agent().shell("mkdir /sys/fs/cgroup/later")?;
    let gone = format!("left out, because it is not in force any more: {rule}");
    says(&shown(guest, "rules save")?, &[&gone])?;
    guest.agent().shell("rmdir /sys/fs/cgroup/later")?;
    says(&shown(guest, "status")?, &["config.toml is in force"])?;
    module.unload(guest)?;
    guest.agent().shell("rm -r /etc/amd-gpreempt")?;
    remove(guest)
}

/// A rule for a cgroup that is made later is added by the next `apply`, and is shown
/// as dead when the cgroup is gone.
fn waits_for_its_cgroup(guest: &mut Guest) -> Result<()> {
    configure(guest, "[[rule]]\nid = 3\ncgroup = \"/later\"\nprio = 9\n")?;
    guest.expect_log("there is no cgroup /later");
    let rule = "rule '3 cgroup=/later prio=9'";
    says(&shown(guest, "apply")?, &[&format!("{rule} waits")])?;
    says(&shown(guest, "status")?, &[&format!("{rule} is not there")])?;
    let cgroup = "/sys/fs/cgroup/later";
    guest.agent().shell(&format!("mkdir {cgroup}"))?;
    ensure!(!shown(guest, "apply")?.contains("waits"));
    says(&shown(guest, "status")?, &["config.toml is in force"])?;
    guest.agent().shell(&format!("rmdir {cgroup}"))?;
    says(&shown(guest, "status")?, &[&format!("{rule} is dead")])
}
