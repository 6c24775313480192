// SPDX-License-Identifier: GPL-2.0-only
//! Writing a configuration as a file.

use std::fmt::Write;

use crate::cgroups::is_there;
use crate::config::{Access, Config};
use crate::follow::{Found, Resolved};
use crate::host::Host;
use crate::kernel::State;
use crate::modes::Modes;
use crate::noted::{applied, given, Given};
use crate::parameters;
use crate::rule::{escaped, Rule, Subject, MOST_RULES};

/// The text of a file that says this, and no more than it has to.
pub fn toml(config: &Config) -> String {
    let mut out = String::new();
    let mut parameters = String::new();
    let defaults = parameters::defaults();
    for (name, value) in &config.parameters {
        if *name == "mode" {
            line(&mut out, format_args!("mode = {}", quoted(value)));
        } else if defaults.get(name) != Some(value) {
            line(&mut parameters, format_args!("{name} = {}", written(value)));
        }
    }
    if !parameters.is_empty() {
        line(
            &mut out,
            format_args!("\n[parameters]\n{}", parameters.trim_end()),
        );
    }
    for (gpu, mode) in &config.gpus {
        let (gpu, mode) = (quoted(gpu), quoted(mode));
        line(&mut out, format_args!("\n[gpu.{gpu}]\nmode = {mode}"));
    }
    if let Some(Access { owner, group, mode }) = &config.access {
        let (owner, group) = (quoted(owner), quoted(group));
        line(
            &mut out,
            format_args!("\n[hints]\nowner = {owner}\ngroup = {group}"),
        );
        line(&mut out, format_args!("mode = \"{mode:04o}\""));
    }
    for rule in &config.rules {
        write_rule(&mut out, rule);
    }
    out
}

/// What is in force as a file, and the rules that a file cannot have, because
/// they name single processes.
pub fn in_force(state: &State) -> (Config, Vec<Rule>) {
    let (fleeting, lasting) = state
        .rules
        .iter()
        .map(|one| one.rule.clone())
        .partition(|rule| matches!(rule.subject, Subject::Pid(_)));
    let mut config = Config {
        gpus: Modes::of(state).own,
        rules: lasting,
        access: state.access.clone(),
        ..Config::new()
    };
    config.parameters.extend(state.parameters.clone());
    (config, fleeting)
}

/// The names that rules in force may stand for.
pub struct Names {
    config: Config,
    found: Found,
    /// The rules that were added for them, where that is noted.
    given: Option<Given>,
}

impl Names {
    /// Those that were applied; where none is noted, as after the unit was stopped, those
    /// of the host's file.
    pub fn new(host: &Host, file: &Config) -> Names {
        let (applied, given) = (applied(host), given(host));
        let (config, given) = match (applied, given) {
            (Ok(applied), Ok(given)) if !applied.rules.is_empty() => (applied, Some(given)),
            _ => (file.clone(), None),
        };
        Names {
            found: Found::new(host, &config),
            config,
            given,
        }
    }

    /// Puts them in the place of the rules that they stand for, unless what is in force
    /// contradicts them.
    pub fn put_back(&self, host: &Host, now: &State, saved: &mut Config) {
        let resolved = self.found.resolve(&self.config, now);
        let given = self.given.clone();
        let given = given.unwrap_or_else(|| standing(host, &resolved, now));
        for block in &resolved.blocks {
            let is_in_force = |rule: &Rule| {
                let mut all = now.rules.iter();
                all.any(|one| one.rule == *rule && !one.dead)
            };
            let mut own = resolved.config.rules.iter().filter(|rule| block.has(rule));
            let is_own = |rule: &Rule| block.has(rule) && given.contains(&rule.to_string());
            let others = saved.rules.iter().filter(|rule| !is_own(rule));
            let numbers = block.rule.id()..=block.last;
            let is_free = !others.map(Rule::id).any(|id| numbers.contains(&id));
            // What is not followed need not be in force.
            if is_free && (self.given.is_none() || own.all(is_in_force)) {
                saved.rules.retain(|rule| !is_own(rule));
                saved.rules.push(block.rule.clone());
            }
        }
        saved.rules.sort_by_key(Rule::id);
    }
}

/// The rules in force that names stand for by now, or did before their cgroups went.
fn standing(host: &Host, resolved: &Resolved, now: &State) -> Given {
    let mut given = resolved.given();
    let is_gone = |rule: &Rule| match &rule.subject {
        Subject::Cgroup(path) => !is_there(host, path),
        _ => false,
    };
    let all = now.rules.iter().map(|one| &one.rule);
    let gone = all.filter(|rule| resolved.origin(rule).is_some() && is_gone(rule));
    given.extend(gone.map(Rule::to_string));
    given
}

/// What became of the rules of a file that are not in force.
#[derive(Clone, Debug, Default)]
pub struct NotInForce {
    /// They wait for their cgroups and are kept.
    pub waiting: Vec<Rule>,
    /// They are not saved.
    pub gone: Vec<Rule>,
}

/// Keeps the rules of a file that wait for their cgroups, since nobody can tell them from
/// ones that were deleted.
pub fn keep_waiting(host: &Host, file: &Config, saved: &mut Config) -> NotInForce {
    let NotInForce {
        mut waiting,
        mut gone,
    } = NotInForce::default();
    for rule in &file.rules {
        let has_number = saved.rules.iter().any(|one| one.id() == rule.id());
        match &rule.subject {
            Subject::Named(_) if saved.rules.contains(rule) => {}
            Subject::Named(_) => gone.push(rule.clone()),
            _ if has_number => {}
            Subject::Cgroup(path) if !is_there(host, path) && saved.rules.len() < MOST_RULES => {
                waiting.push(rule.clone());
                saved.rules.push(rule.clone());
            }
            _ => gone.push(rule.clone()),
        }
    }
    saved.rules.sort_by_key(Rule::id);
    NotInForce { waiting, gone }
}

fn write_rule(out: &mut String, rule: &Rule) {
    line(out, format_args!("\n[[rule]]\nid = {}", rule.id()));
    match &rule.subject {
        // A file with one is refused, with the place.
        Subject::Pid(pid) => line(out, format_args!("pid = {pid}")),
        Subject::Comm(name) => line(out, format_args!("comm = \"{}\"", escaped(name))),
        Subject::Cgroup(path) => line(out, format_args!("cgroup = \"{}\"", escaped(path))),
        Subject::Named(name) => {
            for (word, text) in name.words() {
                line(
                    out,
                    format_args!("{word} = \"{}\"", escaped(text.as_bytes())),
                );
            }
        }
    }
    if let Some(priority) = rule.effect.priority {
        line(out, format_args!("prio = {}", priority.level()));
    }
    if let Some(timeslice) = rule.effect.timeslice {
        line(out, format_args!("timeslice_us = {}", timeslice.0 / 1000));
    }
    if let Some(budget) = rule.effect.stop_budget {
        line(
            out,
            format_args!("stop_budget_ms = {}", budget.0 / 1_000_000),
        );
    }
    if rule.effect.exempt {
        line(out, format_args!("exempt = true"));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = writeln!(out, "{text}");
}

/// A number, several of them, or a word.
fn written(value: &str) -> String {
    if value.parse::<u32>().is_ok() {
        value.to_owned()
    } else if value.contains(',') {
        format!("[{}]", value.replace(',', ", "))
    } else {
        quoted(value)
    }
}

/// A text in TOML, which has the escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
