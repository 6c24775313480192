// SPDX-License-Identifier: GPL-2.0-only
//! Mode, parameters and rules as they were, and a process that puts them back.
//!
//! The process has a session of its own and ignores what ends the self test. It puts
//! everything back when its input is closed, which happens however the self test ends,
//! even if it is killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use anyhow::{ensure, Context, Result};
use nix::errno::Errno;
use nix::sys::signal::SigSet;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::module::Module;

const MODE: &str = "mode";
const ACTS: &str = "enforce";

/// What the operator has set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub parameters: BTreeMap<String, String>,
    pub rules: BTreeMap<u32, String>,
}

impl Kept {
    pub fn of(module: &Module) -> Result<Kept> {
        Ok(Kept {
            parameters: module.parameters()?,
            rules: module.rules()?,
        })
    }

    /// Puts everything back, as far as it goes, and says what does not.
    fn restore(&self, module: &Module) -> Result<()> {
        let mut first = Ok(());
        let mut note = |outcome: Result<()>| {
            if first.is_ok() {
                first = outcome;
            }
        };
        let wanted = self
            .parameters
            .get(MODE)
            .map(String::as_str)
            .unwrap_or_default();
        // A mode that does not act is in force before anything else changes, and one that
        // acts when everything else is as it was.
        if wanted != ACTS {
            note(module.set(MODE, wanted));
        }
        note(self.restore_rules(module));
        for (name, value) in self.parameters.iter().filter(|(name, _)| *name != MODE) {
            note(self.restore_one(module, name, value));
        }
        if wanted == ACTS {
            note(module.set(MODE, wanted));
        }
        first
    }

    fn restore_one(&self, module: &Module, name: &str, value: &str) -> Result<()> {
        let now = module.parameters()?;
        if now.get(name).is_some_and(|now| now == value) {
            return Ok(());
        }
        module.set(name, value)
    }

    fn restore_rules(&self, module: &Module) -> Result<()> {
        let now = module.rules()?;
        for (number, text) in &now {
            if self.rules.get(number) != Some(text) {
                let deleted = module.delete_rule(*number);
                unless_process_ended(text, deleted, Errno::ENOENT)?;
            }
        }
        for (number, text) in &self.rules {
            if now.get(number) != Some(text) {
                unless_process_ended(text, module.add_rule(text), Errno::ESRCH)?;
            }
        }
        Ok(())
    }

    /// What is not as it was.
    pub fn differences(&self, now: &Kept) -> Vec<String> {
        let mut all = Vec::new();
        for (name, value) in &self.parameters {
            let found = now.parameters.get(name);
            if found != Some(value) {
                let found = found.map_or("gone", String::as_str);
                all.push(format!("{name} is {found} instead of {value}"));
            }
        }
        // The rule of a process may have gone with it.
        let is_lost = |(number, text): (&u32, &String)| {
            now.rules.get(number) != Some(text)
                && (!is_for_process(text) || now.rules.contains_key(number))
        };
        let is_new = |number: &u32| !self.rules.contains_key(number);
        if self.rules.iter().any(is_lost) || now.rules.keys().any(is_new) {
            all.push(format!(
                "the rules are {:?} instead of {:?}",
                now.rules, self.rules
            ));
        }
        all
    }
}

/// Whether a rule is for a single process, with which it goes.
fn is_for_process(rule: &str) -> bool {
    let mut words = rule.split_ascii_whitespace();
    words.any(|word| word.starts_with("pid="))
}

/// What became of a change of a rule. That it fails because the rule's process has ended
/// is as good as its success.
fn unless_process_ended(rule: &str, outcome: Result<()>, ended: Errno) -> Result<()> {
    let of_system = |error: &anyhow::Error| {
        let error = error.downcast_ref::<std::io::Error>()?;
        error.raw_os_error()
    };
    outcome.or_else(|error| match of_system(&error) {
        Some(number) if is_for_process(rule) && number == ended as i32 => Ok(()),
        _ => Err(error),
    })
}

/// The process, while the self test runs.
pub struct Keeper(Child);

impl Keeper {
    /// Starts the process, which is this program with other arguments.
    pub fn start(kept: &Kept, root: &std::path::Path) -> Result<Keeper> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .arg("--root")
            .arg(root)
            .arg("keep")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the process that puts everything back")?;
        let mut input = child.stdin.take().context("that process has no input")?;
        writeln!(input, "{}", serde_json::to_string(kept)?)?;
        child.stdin = Some(input);
        // It answers when nothing can end it any more.
        let mut ready = [0];
        let output = child
            .stdout
            .as_mut()
            .context("that process has no output")?;
        output
            .read_exact(&mut ready)
            .context("the process that puts everything back did not start")?;
        Ok(Keeper(child))
    }

    /// Has everything put back, and says what could not be.
    pub fn restore(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        let mut said = String::new();
        if let Some(output) = &mut self.0.stdout {
            output.read_to_string(&mut said)?;
        }
        self.0.wait()?;
        ensure!(said.is_empty(), "{said}");
        Ok(())
    }
}

/// The process's side.
pub fn keep(root: &std::path::Path) -> Result<()> {
    // Signals to the terminal's processes are not for it.
    nix::unistd::setsid().context("a session of its own")?;
    SigSet::all().thread_block()?;
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let kept: Kept = serde_json::from_str(&line)?;
    let mut output = std::io::stdout().lock();
    output.write_all(b".")?;
    output.flush()?;
    // Nothing more comes: this waits for the end of the other one.
    let _ = input.read_to_string(&mut line);
    let module = Module::of(&Host::at(root));
    if let Err(error) = kept.restore(&module) {
        // Nobody may be left to hear it.
        let _ = write!(output, "{error:#}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::files;

    fn kept(mode: &str, rules: &[(u32, &str)]) -> Kept {
        Kept {
            parameters: [("mode", mode), ("user_priority", "honour")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            rules: rules.iter().map(|&(id, text)| (id, text.into())).collect(),
        }
    }

    /// A module with these settings; what is written replaces a file's content.
    fn module(mode: &str, priority: &str, rules: &str) -> (tempfile::TempDir, Module) {
        let (directory, host) = files(&[
            ("sys/module/amd_gpreempt/parameters/mode", mode),
            ("sys/module/amd_gpreempt/parameters/user_priority", priority),
            ("sys/kernel/debug/amd_gpreempt/rules.json", rules),
            (
                "sys/devices/faux/amd_gpreempt/rules_add",
                "-----------------------",
            ),
            (
                "sys/devices/faux/amd_gpreempt/rules_del",
                "-----------------------",
            ),
        ]);
        (directory, Module::of(&host))
    }

    const NONE: &str = r#"{"schema":1,"rules":[]}"#;
    const OTHERS: &str = r#"{"schema":1,"rules":[{"id":3,"text":"3 pid=1 exempt","dead":false}]}"#;

    #[test]
    fn parameters_and_rules_are_put_back() {
        let (files, module) = module("observe", "ignore", OTHERS);
        kept("enforce", &[(7, "7 pid=2 prio=3")])
            .restore(&module)
            .unwrap();
        let now = module.parameters().unwrap();
        assert_eq!(
            (now["mode"].as_str(), now["user_priority"].as_str()),
            ("enforce", "honour")
        );
        let written = |name: &str| {
            let path = files
                .path()
                .join("sys/devices/faux/amd_gpreempt")
                .join(name);
            std::fs::read_to_string(path).unwrap()
        };
        assert!(written("rules_del").starts_with("3-"));
        assert!(written("rules_add").starts_with("7 pid=2 prio=3-"));
    }

    #[test]
    fn what_is_as_it_was_is_left_alone() {
        let (files, module) = module("observe", "honour", OTHERS);
        kept("observe", &[(3, "3 pid=1 exempt")])
            .restore(&module)
            .unwrap();
        for name in ["rules_add", "rules_del"] {
            let path = files
                .path()
                .join("sys/devices/faux/amd_gpreempt")
                .join(name);
            assert!(
                std::fs::read_to_string(path).unwrap().starts_with('-'),
                "{name}"
            );
        }
    }

    #[test]
    fn one_failure_does_not_keep_the_rest_from_being_put_back() {
        let (files, module) = module("enforce", "ignore", NONE);
        std::fs::remove_file(
            files
                .path()
                .join("sys/kernel/debug/amd_gpreempt/rules.json"),
        )
        .unwrap();
        assert!(kept("observe", &[]).restore(&module).is_err());
        let now = module.parameters().unwrap();
        assert_eq!(
            (now["mode"].as_str(), now["user_priority"].as_str()),
            ("observe", "honour")
        );
    }

    #[test]
    fn the_rule_of_a_process_that_has_ended_is_not_missed() {
        let failed = |error: Errno| {
            let error = std::io::Error::from_raw_os_error(error as i32);
            Err(anyhow::Error::new(error).context("writing"))
        };
        for (rule, error, ended, good) in [
            ("3 pid=1 exempt", Errno::ESRCH, Errno::ESRCH, true),
            ("3 pid=1 exempt", Errno::ENOENT, Errno::ENOENT, true),
            ("3 pid=1 exempt", Errno::EINVAL, Errno::ESRCH, false),
            ("3 comm=x exempt", Errno::ESRCH, Errno::ESRCH, false),
        ] {
            let outcome = unless_process_ended(rule, failed(error), ended);
            assert_eq!(outcome.is_ok(), good, "{rule}: {error}");
        }
        let before = kept("observe", &[(3, "3 pid=1 exempt"), (4, "4 comm=x exempt")]);
        for (rules, same) in [
            (&[(4, "4 comm=x exempt")][..], true),
            (&[(3, "3 pid=1 exempt")][..], false),
            (&[(3, "3 pid=2 exempt"), (4, "4 comm=x exempt")][..], false),
            (&[(4, "4 comm=x exempt"), (5, "5 pid=1 exempt")][..], false),
        ] {
            let differences = before.differences(&kept("observe", rules));
            assert_eq!(differences.is_empty(), same, "{differences:?}");
        }
    }

    #[test]
    fn differences_are_named() {
        let before = kept("observe", &[]);
        assert!(before.differences(&before).is_empty());
        let after = kept("enforce", &[(1, "1 pid=1 exempt")]);
        let text = before.differences(&after).join("; ");
        assert!(
            text.contains("mode is enforce instead of observe"),
            "{text}"
        );
        assert!(text.contains("the rules are"), "{text}");
    }
}
