// SPDX-License-Identifier: GPL-2.0-only
//! Programs of the guest that run while the scenario goes on.
//!
//! A scenario waits for them or stops them. Whatever still runs when it ends is
//! killed with its children, so that the next scenario finds none of it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use e2e_protocol::{Finished, Program, Status};

use crate::guest::{on_disk, Guest};

/// How a program may end if nothing waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// By itself and well. The scenario fails when it ended otherwise, and when it
    /// still runs at the scenario's end.
    Success,
    /// In any way.
    Anything,
}

/// A program that was started.
#[derive(Clone, Debug)]
pub struct Background {
    handle: u64,
    line: String,
}

impl Background {
    /// Starts a program of the disk with its arguments.
    pub fn start(guest: &mut Guest, line: &[&str], expect: Expect) -> Result<Background> {
        Background::program(guest, on_disk(line), expect)
    }

    /// Starts a line of the guest's shell.
    pub fn shell(guest: &mut Guest, line: &str, expect: Expect) -> Result<Background> {
        let program = Program {
            program: "sh".into(),
            arguments: vec!["-ec".into(), line.into()],
            ..Program::default()
        };
        Background::program(guest, program, expect)
    }

    /// Starts a program as it is described.
    pub fn program(guest: &mut Guest, program: Program, expect: Expect) -> Result<Background> {
        let line = format!("{} {}", program.program, program.arguments.join(" "));
        let handle = guest.agent().spawn(program)?;
        let entry = Entry {
            line: line.clone(),
            expect,
        };
        guest.background.0.insert(handle, entry);
        Ok(Background { handle, line })
    }

    /// Sends it a signal, and its children none.
    pub fn signal(&self, guest: &mut Guest, signal: i32) -> Result<()> {
        guest.agent().kill(self.handle, signal)
    }

    /// What it has written to its standard output so far.
    pub fn output(&self, guest: &mut Guest) -> Result<String> {
        guest.agent().output(self.handle)
    }

    /// Waits for the first line that it prints, which it must outlive.
    pub fn first_line(&self, guest: &mut Guest, time: Duration) -> Result<String> {
        let mut text = String::new();
        guest.wait_until(&format!("'{}' prints a line", self.line), time, |guest| {
            if let Some(ended) = self.wait(guest, Duration::ZERO)? {
                bail!("'{}' has ended: {ended:?}", self.line);
            }
            text = self.output(guest)?;
            Ok(text.ends_with('\n'))
        })?;
        Ok(text)
    }

    /// Waits up to that time for it to end in any way; `None` if it still runs.
    pub fn wait(&self, guest: &mut Guest, time: Duration) -> Result<Option<Finished>> {
        let finished = guest.agent().wait(self.handle, time)?;
        if finished.is_some() {
            guest.background.0.remove(&self.handle);
        }
        Ok(finished)
    }

    /// Waits for it to end in any way, which it must do within that time.
    pub fn end(&self, guest: &mut Guest, time: Duration) -> Result<Finished> {
        self.wait(guest, time)?
            .with_context(|| format!("'{}' does not end", self.line))
    }

    /// Waits for its success, and returns what it printed.
    pub fn succeed(&self, guest: &mut Guest, time: Duration) -> Result<String> {
        let finished = self.end(guest, time)?;
        match complaint(&self.line, Expect::Success, Some(&finished)) {
            None => Ok(finished.stdout),
            Some(complaint) => bail!(complaint),
        }
    }

    /// Kills it with its children, and returns how it ended.
    pub fn stop(&self, guest: &mut Guest) -> Result<Finished> {
        let finished = guest.agent().end(self.handle)?;
        guest.background.0.remove(&self.handle);
        Ok(finished)
    }
}

/// The programs of a guest that were started and not yet waited for.
#[derive(Debug, Default)]
pub struct Register(BTreeMap<u64, Entry>);

#[derive(Debug)]
struct Entry {
    line: String,
    expect: Expect,
}

impl Register {
    /// Handle and command line of each.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.0
            .iter()
            .map(|(handle, entry)| (*handle, entry.line.as_str()))
    }
}

/// Ends all that runs still, and refuses what should not have been left so.
pub fn end_all(guest: &mut Guest) -> Result<()> {
    let mut complaints = Vec::new();
    for (handle, entry) in std::mem::take(&mut guest.background.0) {
        let finished = guest.agent().wait(handle, Duration::ZERO)?;
        if finished.is_none() {
            guest.agent().end(handle)?;
        }
        complaints.extend(complaint(&entry.line, entry.expect, finished.as_ref()));
    }
    if !complaints.is_empty() {
        bail!(complaints.join("\n"));
    }
    Ok(())
}

/// What there is to say against a program that ended so, or runs still.
fn complaint(line: &str, expect: Expect, finished: Option<&Finished>) -> Option<String> {
    match (expect, finished) {
        (Expect::Anything, _) => None,
        (Expect::Success, None) => Some(format!(
            "'{line}' still ran at the end of the scenario, which must wait for it or stop it"
        )),
        (Expect::Success, Some(finished)) if finished.status == Status::Exited(0) => None,
        (Expect::Success, Some(finished)) => Some(format!(
            "'{line}' ended with {:?}: {}{}",
            finished.status, finished.stdout, finished.stderr
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_must_succeed_is_complained_of() {
        let ended = |status| Finished {
            status,
            stdout: "out".into(),
            stderr: "err".into(),
        };
        let good = ended(Status::Exited(0));
        for bad in [Status::Exited(1), Status::Signalled(9), Status::TimedOut] {
            let bad = ended(bad);
            let text = complaint("load", Expect::Success, Some(&bad)).unwrap();
            assert!(text.contains("'load'") && text.contains("outerr"), "{text}");
            assert_eq!(complaint("load", Expect::Anything, Some(&bad)), None);
        }
        assert_eq!(complaint("load", Expect::Success, Some(&good)), None);
        let text = complaint("load", Expect::Success, None).unwrap();
        assert!(text.contains("still ran"), "{text}");
        assert_eq!(complaint("load", Expect::Anything, None), None);
    }
}
