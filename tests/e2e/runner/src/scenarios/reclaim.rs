// SPDX-License-Identifier: GPL-2.0-only
//! A job in a memory cgroup whose pages are taken from it: also those in which waves are
//! saved, once the driver has moved them out of video memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{ensure, Context, Result};
use serde_json::json;

use super::contention::{urgent_goes_on, Contention};
use super::disturbance::run_out;
use crate::guest::Guest;
use crate::scenario::{Needs, Scenario, Suite};
use crate::strict::strictly;

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "the pages of a job are reclaimed while its queue is stopped",
    needs: Needs {
        small: true,
        one_die: true,
        spoils: true,
        ..Needs::ANY
    },
    run: |guest| strictly(guest, reclaimed),
}];

const ROOT: &str = "/sys/fs/cgroup";
const GROUP: &str = "/sys/fs/cgroup/job";
const SWAP: &str = "zram";
const PLACE: &str = "/tmp/swap";

fn reclaimed(guest: &mut Guest) -> Result<()> {
    make_swap(guest)?;
    let group = format!("echo +memory >{ROOT}/cgroup.subtree_control; mkdir {GROUP}");
    guest.agent().shell(&group)?;
    // What is allocated is on the account of where a process is at that moment.
    enter(guest, GROUP)?;
    let contention = Contention::start(guest, "", json!({"place": "device"}));
    enter(guest, ROOT)?;
    let contention = contention?;
    // Save areas begin in video memory, of which no cgroup has an account.
    contention.disturb(guest, |guest| run_out(guest, &contention))?;
    for _ in 0..3 {
        let before = taken(guest)?;
        contention.disturb(guest, |guest| {
            // Files are left alone, and no more is asked for than the job comes to, since it
            // takes its pages back meanwhile. It says so where it did not get as much.
            let line =
                format!("echo '64M swappiness=200' >{GROUP}/memory.reclaim 2>/dev/null || :");
            guest.agent().shell(&line)?;
            let after = taken(guest)?;
            ensure!(
                after > before,
                "nothing was reclaimed: {before} and {after} pages"
            );
            Ok(())
        })?;
        urgent_goes_on(guest, &contention.load)?;
    }
    contention.finish(guest)
}

/// Gives the guest swap space, without which memory that no file has is not reclaimed.
fn make_swap(guest: &mut Guest) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut files, mut names) = (BTreeMap::new(), Vec::new());
    for (name, data) in guest.image.module_files(&[SWAP])? {
        let file: PathBuf = folder.path().join(&name);
        fs::write(&file, data)?;
        files.insert(format!("{name}.ko"), file);
        names.push(name);
    }
    guest.add_files(&files, PLACE)?;
    for name in names {
        guest.agent().insmod(&format!("{PLACE}/{name}.ko"), "")?;
    }
    let line = "echo 1G >/sys/block/zram0/disksize; mkswap /dev/zram0; swapon /dev/zram0";
    guest
        .agent()
        .shell(line)
        .map(drop)
        .context("making swap space")
}

/// Moves what starts programs, which is the parent of the shell, to a cgroup.
fn enter(guest: &mut Guest, group: &str) -> Result<()> {
    let line = format!("echo $PPID >{group}/cgroup.procs");
    guest.agent().shell(&line).map(drop)
}

/// How many pages were ever taken from the job: they come back at once.
fn taken(guest: &mut Guest) -> Result<u64> {
    let text = guest.agent().read_file(&format!("{GROUP}/memory.stat"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("pgsteal "));
    let count = line.context("no count of reclaimed pages")?;
    count.trim().parse().context("it is no number")
}
