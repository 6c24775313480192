// SPDX-License-Identifier: GPL-2.0-only
//! What must have been built before a suite runs, and of the sources as they are
//! now: a scenario on a stale module tells nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, ensure, Context, Result};

use crate::cache::{clients, gate, module, tinygrad};

/// The project's folder, of which this program was built.
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Refuses a module for this kernel that is missing or of other sources.
pub fn check_module(release: &str) -> Result<()> {
    let module = module(release)?;
    let state = state_of(&module, |build| {
        let output = Command::new(format!("{PROJECT}/scripts/build/sources"))
            .arg("--changed")
            .arg(build)
            .output()
            .context("cannot run scripts/build/sources")?;
        ensure!(
            output.status.success(),
            "scripts/build/sources: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let file = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((!file.is_empty()).then_some(file))
    })?;
    refuse_for("module", release, state)
}

/// The same of what holds unbinding up.
pub fn check_gate(release: &str) -> Result<()> {
    let sources = Path::new(PROJECT).join("tests/gate");
    let state = state_of(&gate(release)?, |build| changed(&sources, build))?;
    refuse_for("gate", release, state)
}

/// The same of the programs in HIP and OpenCL.
pub fn check_clients() -> Result<()> {
    let sources = Path::new(PROJECT).join("tests/clients");
    let state = state_of(&clients()?, |build| {
        changed(&sources, &build.join("sources"))
    })?;
    refuse(
        "the programs in HIP and OpenCL are",
        "scripts/build/clients",
        state,
    )
}

/// The same of tinygrad and the programs for it.
pub fn check_tinygrad() -> Result<()> {
    let sources = Path::new(PROJECT).join("tests/tinygrad");
    let state = state_of(&tinygrad()?.join("python3"), |build| {
        changed(&sources, build)
    })?;
    refuse(
        "the programs for tinygrad are",
        "scripts/build/tinygrad",
        state,
    )
}

/// What is wrong with something that is built.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Good,
    Missing,
    /// This source file was changed since.
    Stale(String),
}

fn state_of(file: &Path, changed: impl Fn(&Path) -> Result<Option<String>>) -> Result<State> {
    let Some(build) = file.parent().filter(|_| file.exists()) else {
        return Ok(State::Missing);
    };
    Ok(changed(build)?.map_or(State::Good, State::Stale))
}

/// The first file that is not the same in both directories.
fn changed(sources: &Path, build: &Path) -> Result<Option<String>> {
    for entry in
        fs::read_dir(sources).with_context(|| format!("cannot read {}", sources.display()))?
    {
        let file = entry?.file_name();
        let source = fs::read(sources.join(&file))?;
        if fs::read(build.join(&file)).ok() != Some(source) {
            return Ok(Some(sources.join(file).display().to_string()));
        }
    }
    Ok(None)
}

/// `what` is built by a command.
fn refuse(what: &str, command: &str, state: State) -> Result<()> {
    let remedy =
        format!("run '{command}', or the suite by 'scripts/test/e2e', which builds what it needs");
    match state {
        State::Good => Ok(()),
        State::Missing => bail!("{what} not built: {remedy}"),
        State::Stale(file) => bail!("{what} stale, since {file} has changed: {remedy}"),
    }
}

/// The same of what is built for a kernel.
fn refuse_for(what: &str, release: &str, state: State) -> Result<()> {
    let command = format!("scripts/build/{what} {release}");
    refuse(&format!("the {what} for {release} is"), &command, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_stale_is_refused_with_the_command() {
        let place = tempfile::tempdir().unwrap();
        let (sources, build) = (place.path().join("sources"), place.path().join("build"));
        for directory in [&sources, &build] {
            fs::create_dir(directory).unwrap();
        }
        let module = build.join("module.ko");
        fs::write(sources.join("module.c"), "int new;").unwrap();
        let state = || state_of(&module, |build| changed(&sources, build)).unwrap();
        assert_eq!(state(), State::Missing);
        fs::write(&module, "").unwrap();
        assert!(matches!(state(), State::Stale(file) if file.ends_with("module.c")));
        fs::write(build.join("module.c"), "int old;").unwrap();
        assert!(matches!(state(), State::Stale(_)));
        fs::write(build.join("module.c"), "int new;").unwrap();
        assert_eq!(state(), State::Good);

        for bad in [State::Missing, State::Stale("engine.rs".into())] {
            let error = refuse_for("module", "7.3.4", bad).unwrap_err().to_string();
            assert!(error.contains("'scripts/build/module 7.3.4'"), "{error}");
            assert!(error.contains("'scripts/test/e2e'"), "{error}");
        }
        assert!(refuse_for("module", "7.3.4", State::Good).is_ok());
    }

    #[test]
    fn the_script_that_compares_the_module_is_there() {
        assert!(Path::new(PROJECT).join("scripts/build/sources").exists());
    }
}
