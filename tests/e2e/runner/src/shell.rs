// SPDX-License-Identifier: GPL-2.0-only
//! A prompt in a guest, or one command: to look around, and to try programs that are not of
//! this project beside the module.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{ensure, Result};
use e2e_protocol::{Program, Status};

use crate::cache::Cache;
use crate::guest::FILES;
use crate::image::files_below;
use crate::machine::Console;
use crate::scenario::{Configuration, Needs};
use crate::scenarios::tutorial;

const MODULE: &str = "amd_gpreempt.ko";
const PROMPT: &str = "export PS1='guest# '; exec setsid -c sh -i </dev/ttyS0 >/dev/ttyS0 2>&1";
/// Nobody waits for the guest but who is at the prompt.
const A_WHILE: Duration = Duration::from_secs(3600);
/// What a shell reports of a program that a signal has ended.
const SIGNALLED: i32 = 128;

/// What the guest has, and what is done in it.
#[derive(Debug)]
pub struct Shell {
    /// Directories whose files it has besides its own.
    pub add: Vec<PathBuf>,
    /// Instead of a prompt.
    pub command: Option<String>,
    pub with_module: bool,
    /// A GPU with few compute units and 512 MiB.
    pub small: bool,
    pub second_gpu: bool,
}

impl Shell {
    /// Returns what the command does.
    pub fn run(&self, cache: &Cache, configuration: &Configuration) -> Result<ExitCode> {
        let files = files_of(&self.add)?;
        let needs = Needs {
            small: self.small,
            ..Needs::ANY
        };
        let mut guest = configuration.start_at(cache, &needs, Console::Terminal)?;
        if self.second_gpu {
            guest.add_second_gpu()?;
        }
        if !files.is_empty() {
            guest.add_files(&files, FILES)?;
        }
        if self.with_module && guest.agent().list(FILES)?.contains(&MODULE.into()) {
            let module = format!("{FILES}/{MODULE}");
            guest.agent().insmod(&module, &configuration.parameters)?;
        }
        tutorial::prepare(&mut guest)?;
        let command = match &self.command {
            Some(command) => format!("exec </dev/null >/dev/ttyS0 2>&1; {command}"),
            None => {
                eprintln!("gpreempt, workload and kfdctl are in the path, loads and the module here; 'exit' ends the guest");
                PROMPT.to_owned()
            }
        };
        let handle = guest.agent().spawn(Program {
            program: "sh".into(),
            arguments: vec!["-c".into(), tutorial::line(&command)],
            ..Program::default()
        })?;
        let finished = loop {
            if let Some(finished) = guest.agent().wait(handle, A_WHILE)? {
                break finished;
            }
        };
        // What the command did counts, however QEMU ends.
        if let Err(error) = guest.machine.quit() {
            eprintln!("{error:#}");
        }
        let status = match (&self.command, finished.status) {
            (None, _) => 0,
            (_, Status::Exited(status)) => status,
            (_, Status::Signalled(signal)) => SIGNALLED + signal,
            (_, Status::TimedOut) => 1,
        };
        Ok(u8::try_from(status).map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

/// The files of some directories, by the names that they have in them.
fn files_of(directories: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for directory in directories {
        let own = files_below(directory)?;
        ensure!(
            !own.is_empty(),
            "{} has no file of its own: name a directory with what the guest is to have",
            directory.display()
        );
        files.extend(own);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_keep_their_places_below_a_directory() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("lib")).unwrap();
        fs::write(place.path().join("program"), "").unwrap();
        fs::write(place.path().join("lib/a.so"), "").unwrap();
        let files = files_of(&[place.path().to_owned()]).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["lib/a.so", "program"]);
    }

    #[test]
    fn a_directory_without_files_is_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("lib")).unwrap();
        let error = files_of(&[place.path().to_owned()]).unwrap_err();
        assert!(error.to_string().contains("has no file of its own"));
        let missing = files_of(&[place.path().join("none")]).unwrap_err();
        assert!(missing.to_string().contains("cannot read"));
    }
}
