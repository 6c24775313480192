// SPDX-License-Identifier: GPL-2.0-only
//! How a configuration with names compares with what is in force.

use crate::act::apply::{as_shown, differences};
use crate::act::follow::{blocks, Found, Waiting};
use crate::configuration::config::Config;
use crate::configuration::noted::{applied, given};
use crate::host::tree::{Host, Refusal};
use crate::module::difference::Difference;
use crate::module::kernel::Kernel;
use crate::words::rule::{Rule, Subject};

/// How a configuration compares with what is in force.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub differences: Vec<String>,
    /// What is no difference, since it is followed.
    pub waiting: Vec<String>,
}

/// Compares a configuration with what is in force. What comes and goes under a name
/// that was applied is no difference.
pub fn compare(host: &Host, config: &Config) -> Result<Comparison, Refusal> {
    with(host, config, &Found::new(host, config))
}

/// The same by what names stood for when they were last followed. Neither the files of
/// users nor those of runtimes are read for it.
pub fn compare_noted(host: &Host, config: &Config) -> Result<Comparison, Refusal> {
    with(host, config, &Found::noted(host, config)?)
}

fn with(host: &Host, config: &Config, found: &Found) -> Result<Comparison, Refusal> {
    let now = host.state()?;
    let resolved = found.resolve(config, &now);
    let applied = applied(host).unwrap_or_default();
    let given = given(host).unwrap_or_default();
    let is_applied = |rule: &Rule| applied.rules.contains(rule);
    let mut comparison = Comparison::default();
    for block in resolved.blocks.iter().filter(|one| !is_applied(&one.rule)) {
        let text = format!("rule '{}' has not been applied", block.rule);
        comparison.differences.push(text);
    }
    let waiting = resolved.waiting.iter().filter(|one| is_applied(&one.rule));
    comparison.waiting.extend(waiting.map(Waiting::to_string));
    let shown = as_shown(host, &resolved.config);
    for difference in differences(&now, &shown) {
        match resolved.cause(&difference, &given) {
            Some(rule) if is_applied(rule) => comparison.waiting.push(format!(
                "{difference}, until '{}' is followed the next time",
                rule_name(rule)
            )),
            _ if matches!(difference, Difference::Absent(_)) => {
                comparison.waiting.push(difference.to_string());
            }
            _ => comparison.differences.push(difference.to_string()),
        }
    }
    for block in blocks(&applied.rules) {
        if !config.rules.contains(&block.rule) {
            let rule = block.rule;
            let text = format!("rule '{rule}' is followed and should not be");
            comparison.differences.push(text);
        }
    }
    Ok(comparison)
}

fn rule_name(rule: &Rule) -> String {
    match &rule.subject {
        Subject::Named(name) => name.to_string(),
        _ => rule.to_string(),
    }
}
