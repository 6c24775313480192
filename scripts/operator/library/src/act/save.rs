// SPDX-License-Identifier: GPL-2.0-only
//! What is in force, as a configuration that a file can have.

use crate::act::follow::{Found, Resolved};
use crate::configuration::config::Config;
use crate::configuration::noted::{applied, given, Given};
use crate::host::cgroups::is_there;
use crate::host::tree::Host;
use crate::module::kernel::State;
use crate::words::gpu::Modes;
use crate::words::rule::{Rule, Subject, MOST_RULES};

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
            let numbers = block.rule.id..=block.last;
            let is_free = !others.map(|rule| rule.id).any(|id| numbers.contains(&id));
            // What is not followed need not be in force.
            if is_free && (self.given.is_none() || own.all(is_in_force)) {
                saved.rules.retain(|rule| !is_own(rule));
                saved.rules.push(block.rule.clone());
            }
        }
        saved.rules.sort_by_key(|rule| rule.id);
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
        let has_number = saved.rules.iter().any(|one| one.id == rule.id);
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
    saved.rules.sort_by_key(|rule| rule.id);
    NotInForce { waiting, gone }
}
