// SPDX-License-Identifier: GPL-2.0-only
//! The operator's command in the guest, with the files of the running module.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::{Finished, Program, Status};

use super::preemption::{inversion, wait_for_heavy, PATIENCE, UNBOUNDED};
use crate::guest::Guest;
use crate::image::libraries;
use crate::load::Load;
use crate::module::Module;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "the operator's command shows and steers",
    needs: Needs {
        one_die: true,
        once: true,
        ..Needs::ANY
    },
    run: command,
}];

const COMMAND: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../scripts/operator/gpreempt"
);
const PYTHON: &str = "/usr/bin/python3";
/// Where the disk with python is unpacked: beside the guest's own libraries,
/// which are in use.
const PLACE: &str = "/python";

/// Python with its library, the command, and the kernel's configuration.
fn disk(guest: &Guest) -> Result<BTreeMap<String, PathBuf>> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    let own = Path::new(PYTHON).canonicalize()?;
    let name = own.file_name().and_then(|name| name.to_str());
    let library = PathBuf::from(format!("/usr/lib/{}", name.context("python has no name")?));
    let mut directories = vec![library];
    while let Some(directory) = directories.pop() {
        let entries = directory
            .read_dir()
            .with_context(|| format!("cannot read {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.is_file() {
                files.insert(path.display().to_string(), path);
            }
        }
    }
    let mut users: Vec<PathBuf> = files
        .values()
        .filter(|path| path.to_string_lossy().contains("/lib-dynload/"))
        .cloned()
        .collect();
    users.push(own.clone());
    for user in users {
        for library in libraries(&user)? {
            let name = library.file_name().context("a library without a name")?;
            files.insert(format!("lib/{}", name.to_string_lossy()), library);
        }
    }
    files.insert("python3".into(), own);
    files.insert("gpreempt".into(), COMMAND.into());
    let beside = |directory| {
        guest
            .image
            .kernel
            .image
            .join(format!("../{directory}/.config"))
    };
    // A kernel of the cache, or one that was built for tests.
    let configuration = ["kdir", "tree"]
        .map(beside)
        .into_iter()
        .find(|file| file.exists())
        .context("the kernel's configuration is not beside its image")?;
    files.insert("config".into(), configuration);
    Ok(files
        .into_iter()
        .map(|(name, path)| (name.trim_start_matches('/').to_owned(), path))
        .collect())
}

fn install(guest: &mut Guest) -> Result<()> {
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
fn remove(guest: &mut Guest) -> Result<()> {
    guest
        .agent()
        .shell(&format!("rm -r {PLACE} /boot"))
        .map(|_| ())
}

fn run(guest: &mut Guest, line: &str) -> Result<Finished> {
    let mut arguments = vec![format!("{PLACE}/gpreempt")];
    arguments.extend(line.split_whitespace().map(String::from));
    let program = Program {
        program: format!("{PLACE}/python3"),
        arguments,
        environment: vec![
            ("PYTHONHOME".into(), format!("{PLACE}/usr")),
            ("LD_LIBRARY_PATH".into(), format!("{PLACE}/lib")),
        ],
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
fn refused(guest: &mut Guest, line: &str, why: &str) -> Result<String> {
    let finished = run(guest, line)?;
    ensure!(
        finished.status == Status::Exited(1) && finished.stderr.contains(why),
        "gpreempt {line}: {finished:?}"
    );
    ensure!(
        !finished.stderr.contains("Traceback"),
        "gpreempt {line}: {}",
        finished.stderr
    );
    Ok(finished.stdout)
}

fn says(text: &str, wanted: &[&str]) -> Result<()> {
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
    says(
        &refused(guest, "doctor", "1 of the above must be mended first")?,
        &[
            "MISSING  amd_gpreempt is loaded",
            "gfx 9.4.2",
            "CONFIG_RUST",
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
        &["armed, mode enforce", "policy strict"],
    )?;

    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    let (low, high) = (load.pid("heavy")?, load.pid("urgent")?);
    let top = shown(guest, "top --once")?;
    says(&top, &["mode enforce", "workload", "1 stopped"])?;
    // GPU PID COMMAND QUEUE PRIO EFF STATE
    ensure!(line_of(&top, low)?[6] == "stopped", "{top}");
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
