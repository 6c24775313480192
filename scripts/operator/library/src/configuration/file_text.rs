// SPDX-License-Identifier: GPL-2.0-only
//! Writing a configuration as a file.

use std::fmt::Write;

use crate::configuration::config::{Access, Config};
use crate::words::escape::escaped;
use crate::words::parameters;
use crate::words::rule::{Rule, Subject};

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

fn write_rule(out: &mut String, rule: &Rule) {
    line(out, format_args!("\n[[rule]]\nid = {}", rule.id));
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
    if let Some(node) = &rule.node {
        line(out, format_args!("node = \"{node}\""));
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
