// SPDX-License-Identifier: GPL-2.0-only
//! What failed scenarios leave behind. Each run of a suite that has a failure gets a
//! folder, and in it each failed scenario; the folders of the last runs stay.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::cache::{make_directory, target};
use crate::guest::Guest;
use crate::module::Table;

/// How many runs stay.
const KEEP: usize = 10;

/// The folders of failed runs, and this run's, once something has failed.
pub struct Failures {
    folder: PathBuf,
    run: Mutex<Option<PathBuf>>,
}

impl Failures {
    pub fn new() -> Result<Failures> {
        Ok(Failures::at(target()?.join("failed")))
    }

    fn at(folder: PathBuf) -> Failures {
        Failures {
            folder,
            run: Mutex::new(None),
        }
    }

    /// A folder for what the scenario of this name leaves.
    pub fn place(&self, name: &str) -> Result<PathBuf> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match &*run {
            Some(run) => run.clone(),
            None => run.insert(new_run(&self.folder)?).clone(),
        };
        let words: Vec<&str> = name
            .split(|letter: char| !letter.is_alphanumeric() && letter != '.')
            .filter(|word| !word.is_empty())
            .collect();
        let place = run.join(words.join("-"));
        make_directory(&place)?;
        Ok(place)
    }
}

/// Makes the folder of a run, numbered on from the last one, and removes the oldest.
fn new_run(folder: &Path) -> Result<PathBuf> {
    make_directory(folder)?;
    loop {
        let mut runs = numbers(folder)?;
        let next = runs.last().map_or(1, |last| last + 1);
        let run = folder.join(next.to_string());
        match fs::create_dir(&run) {
            Ok(()) => {}
            // A run beside this one has taken the number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make {}", run.display()))
            }
        }
        runs.push(next);
        for old in &runs[..runs.len().saturating_sub(KEEP)] {
            // A run beside this one may be removing it as well.
            let _ = fs::remove_dir_all(folder.join(old.to_string()));
        }
        return Ok(run);
    }
}

/// The runs that have a folder, the oldest first.
fn numbers(folder: &Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u64>().ok()),
        );
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// A guest that did not come up, with the files of its machine.
#[derive(Debug)]
pub struct NotStarted {
    pub directory: TempDir,
    pub reason: String,
}

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the guest does not start: {}", self.reason)
    }
}

impl std::error::Error for NotStarted {}

/// Keeps what there is of a machine: console, QEMU's output, the GPUs' logs.
pub fn keep_machine(directory: &Path, place: &Path) {
    const LOGS: [&str; 6] = [
        "console", "qemu.log", "gpu.log", "gpu2.log", "gpu3.log", "gpu4.log",
    ];
    for name in LOGS {
        // There may be none.
        let _ = fs::copy(directory.join(name), place.join(name));
    }
}

/// Keeps what a guest can still tell. It may have died of the failure.
pub fn keep_guest(guest: &mut Guest, place: &Path) {
    keep_machine(guest.directory(), place);
    let keep = |name: &str, text: String| {
        let _ = fs::write(place.join(name), text);
    };
    if let Ok(state) = guest.device.state() {
        keep("gpu-state", format!("{state:#?}"));
    }
    if let Ok(hiq) = guest.device.hiq(0) {
        let lines: Vec<String> = hiq.iter().map(|record| format!("{record:?}")).collect();
        keep("hiq", lines.join("\n"));
    }
    if let Ok(trace) = guest.device.trace() {
        keep("trace.json", trace.to_string());
    }
    // One that does not answer once is not asked again, since that takes minutes.
    let Ok((lines, _)) = guest.agent().log(0) else {
        return;
    };
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("{:.6} {}", line.time_us as f64 / 1e6, line.text))
        .collect();
    keep("dmesg", lines.join("\n"));
    for table in [Table::Queues, Table::Events, Table::Stats] {
        let path = table.path();
        let name = path.rsplit('/').next().unwrap_or_default();
        if let Ok(text) = guest.agent().read_file(&path) {
            keep(name, text);
        }
    }
    let programs: Vec<(u64, String)> = guest
        .background
        .iter()
        .map(|(handle, line)| (handle, line.to_owned()))
        .collect();
    for (handle, line) in programs {
        let output = guest.agent().output(handle).unwrap_or_default();
        keep(&format!("program-{handle}"), format!("{line}\n{output}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_one_folder_and_each_scenario_one_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let failures = Failures::at(folder.path().join("failed"));
        let first = failures.place("7.3, 1 XCC: a queue/is stopped").unwrap();
        assert!(first.is_dir());
        assert!(first.ends_with("1/7.3-1-XCC-a-queue-is-stopped"));
        assert!(failures.place("another").unwrap().ends_with("1/another"));
        // The next run has the next number.
        let next = Failures::at(folder.path().join("failed"));
        assert!(next.place("another").unwrap().ends_with("2/another"));
        assert!(first.exists());
    }

    #[test]
    fn a_run_without_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let _ = Failures::at(folder.path().join("failed"));
        assert!(!folder.path().join("failed").exists());
    }

    #[test]
    fn the_folders_of_the_last_runs_stay() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes"), "").unwrap();
        for _ in 0..KEEP + 3 {
            Failures::at(folder.path().into()).place("one").unwrap();
        }
        let numbers = numbers(folder.path()).unwrap();
        assert_eq!(numbers, (4..=KEEP as u64 + 3).collect::<Vec<_>>());
        assert!(folder.path().join("notes").exists());
    }

    #[test]
    fn what_a_machine_has_written_is_kept() {
        let (directory, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(directory.path().join("qemu.log"), "no memory").unwrap();
        keep_machine(directory.path(), place.path());
        let kept = fs::read_to_string(place.path().join("qemu.log")).unwrap();
        assert_eq!(kept, "no memory");
        assert!(!place.path().join("console").exists());
    }
}
