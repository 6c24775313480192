// SPDX-License-Identifier: GPL-2.0-only
//! The prompt of `make shell`, and the commands that docs/tutorial.md gives there, as it
//! has them.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::operator::{install, PLACE};
use crate::background::{Background, Expect};
use crate::guest::{Guest, FILES};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "the commands of the tutorial do what it says",
    needs: NEEDS,
    run: tutorial,
}];

const NEEDS: Needs = Needs {
    one_die: true,
    once: true,
    ..Needs::ANY
};

const TUTORIAL: &str = include_str!("../../../../../docs/tutorial.md");
const LOADS: [(&str, &str); 2] = [
    ("training.json", include_str!("../../loads/training.json")),
    ("inference.json", include_str!("../../loads/inference.json")),
];

/// What its commands follow.
const PROMPT: &str = "guest# ";
/// A command that needs a terminal is tried by tests/top.rs of the command itself.
const ELSEWHERE: [&str; 2] = ["gpreempt top", "exit"];

/// Brings the operator's command and the loads.
pub fn prepare(guest: &mut Guest) -> Result<()> {
    install(guest)?;
    for (name, text) in LOADS {
        guest.agent().make_file(&format!("{FILES}/{name}"), text)?;
    }
    Ok(())
}

/// A line of the shell where the programs are found by their names.
pub fn line(command: &str) -> String {
    format!("cd {FILES}; export PATH=$PATH:{FILES}:{PLACE}; {command}")
}

fn commands() -> impl Iterator<Item = &'static str> {
    TUTORIAL
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(PROMPT))
        .map(str::trim_end)
}

fn tutorial(guest: &mut Guest) -> Result<()> {
    prepare(guest)?;
    let module = Module::load(guest, "")?;
    for command in commands().filter(|command| !ELSEWHERE.contains(command)) {
        if let Some(begun) = command.strip_suffix('&') {
            Background::shell(guest, &line(begun), Expect::Anything)?;
            guest.wait_until(
                "training runs",
                WAIT,
                |guest| Ok(training(guest)?.is_some()),
            )?;
            continue;
        }
        let pid = training(guest)?.map(|pid| pid.to_string());
        let command = command.replace("PID", &pid.unwrap_or_default());
        let says = guest.agent().shell(&line(&command));
        let says = says.with_context(|| format!("the tutorial's command '{command}'"))?;
        if command.starts_with("workload run ") {
            ensure!(is_well(&says), "{command}: {says}");
        }
    }
    // How long requests take with and without is for the demo to say.
    ensure!(
        Table::Stats.sum(guest, "observed")? > 0,
        "nothing was seen in mode observe"
    );
    ensure!(Table::Stats.sum(guest, "stops")? > 0, "nothing was stopped");
    module.unload(guest)?;
    let loads = LOADS.map(|(name, _)| format!("{FILES}/{name}")).join(" ");
    guest
        .agent()
        .shell(&format!("rm -r {loads} {PLACE} /boot"))?;
    Ok(())
}

const WAIT: std::time::Duration = std::time::Duration::from_secs(60);

/// The process of the load that is stopped, if it has a queue.
fn training(guest: &mut Guest) -> Result<Option<u64>> {
    let queues = Table::Queues.read(guest)?;
    let row = queues.iter().find(|row| row["prio"] == 2);
    Ok(row.and_then(|row| row["pid"].as_u64()))
}

/// Whether the load says that every workgroup ran once.
fn is_well(says: &str) -> bool {
    let reports = says
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    reports.last().is_some_and(|report| report["ok"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tutorial_has_commands_and_its_loads_are_json() {
        let all: Vec<&str> = commands().collect();
        assert!(all.len() > 8, "{all:?}");
        for elsewhere in ELSEWHERE {
            assert!(all.contains(&elsewhere), "{elsewhere}");
        }
        for (name, text) in LOADS {
            assert!(all.iter().any(|line| line.contains(name)), "{name}");
            serde_json::from_str::<Value>(text).unwrap();
        }
    }
}
