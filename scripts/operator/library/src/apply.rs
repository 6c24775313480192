// SPDX-License-Identifier: GPL-2.0-only
//! Bringing what is in force to what a configuration says: all of it, or
//! nothing.

use std::fmt;

use gpreempt_policy::CHOICES;

use crate::config::{Access, Config};
use crate::host::Refusal;
use crate::kernel::{Added, InForce, Kernel, State};
use crate::rule::{Rule, MOST_RULES};

/// One difference between what is in force and what should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    Parameter {
        name: &'static str,
        now: String,
        wanted: String,
    },
    /// A rule that is missing, dead or another one.
    Rule {
        wanted: Rule,
        now: Option<InForce>,
    },
    /// A rule that should not be there.
    Extra(Rule),
    Access {
        now: Option<Access>,
        wanted: Access,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Parameter { name, now, wanted } => {
                write!(out, "{name} is {now} and should be {wanted}")
            }
            Difference::Rule { wanted, now: None } => {
                write!(out, "rule '{wanted}' is not there")
            }
            Difference::Rule {
                wanted,
                now: Some(now),
            } if now.rule == *wanted => {
                write!(out, "rule '{wanted}' is dead: its cgroup is gone")
            }
            Difference::Rule {
                wanted,
                now: Some(now),
            } => write!(out, "rule '{}' should be '{wanted}'", now.rule),
            Difference::Extra(rule) => write!(out, "rule '{rule}' should not be there"),
            Difference::Access { now: None, wanted } => write!(
                out,
                "/dev/amd_gpreempt is not there and should belong to {wanted}"
            ),
            Difference::Access {
                now: Some(now),
                wanted,
            } => write!(
                out,
                "/dev/amd_gpreempt belongs to {now} and should belong to {wanted}"
            ),
        }
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub changes: Vec<Difference>,
    /// Rules that are not in force, because their cgroups are not there yet.
    pub waiting: Vec<Rule>,
}

/// What differs, in the order in which it should be changed: a mode that does
/// less comes before everything else, and one that does more after it.
pub fn differences(now: &State, wanted: &Config) -> Vec<Difference> {
    let mut mode = None;
    let mut all = Vec::new();
    for (&name, value) in &wanted.parameters {
        let current = now.parameters.get(name).map_or("", String::as_str);
        if current == value {
            continue;
        }
        // A module that does not have a parameter does what its default says.
        if current.is_empty() && crate::parameters::defaults().get(name) == Some(value) {
            continue;
        }
        let difference = Difference::Parameter {
            name,
            now: if current.is_empty() {
                "missing"
            } else {
                current
            }
            .to_owned(),
            wanted: value.clone(),
        };
        if name == "mode" {
            mode = Some((difference, activity(value) < activity(current)));
        } else {
            all.push(difference);
        }
    }
    all.extend(rules(now, wanted));
    if let Some(access) = &wanted.access {
        if now.access.as_ref() != Some(access) {
            all.push(Difference::Access {
                now: now.access.clone(),
                wanted: access.clone(),
            });
        }
    }
    match mode {
        Some((difference, true)) => all.insert(0, difference),
        Some((difference, false)) => all.push(difference),
        None => {}
    }
    all
}

/// How much the module does in a mode.
fn activity(mode: &str) -> usize {
    const ORDER: [&str; 3] = ["off", "observe", "enforce"];
    debug_assert!(CHOICES[0].words.iter().all(|word| ORDER.contains(word)));
    ORDER.iter().position(|word| *word == mode).unwrap_or(0)
}

/// New rules come before old ones go, so that nobody is without one in between,
/// unless there is not room for both.
fn rules(now: &State, wanted: &Config) -> Vec<Difference> {
    let mut new = Vec::new();
    for rule in &wanted.rules {
        let current = now.rules.iter().find(|one| one.rule.id() == rule.id());
        if current.is_some_and(|current| current.rule == *rule && !current.dead) {
            continue;
        }
        new.push(Difference::Rule {
            wanted: rule.clone(),
            now: current.cloned(),
        });
    }
    let is_wanted = |id| wanted.rules.iter().any(|rule| rule.id() == id);
    let mut old: Vec<Difference> = now
        .rules
        .iter()
        .filter(|one| !is_wanted(one.rule.id()))
        .map(|one| Difference::Extra(one.rule.clone()))
        .collect();
    if wanted.rules.len() + old.len() > MOST_RULES {
        old.append(&mut new);
        return old;
    }
    new.append(&mut old);
    new
}

/// What differs at this moment.
pub fn drift(kernel: &dyn Kernel, wanted: &Config) -> Result<Vec<Difference>, Refusal> {
    Ok(differences(&kernel.state()?, &as_shown(kernel, wanted)))
}

/// The same configuration with the names that the state would show.
pub fn as_shown(kernel: &dyn Kernel, wanted: &Config) -> Config {
    let access = wanted.access.as_ref().map(|access| kernel.as_shown(access));
    Config {
        access,
        ..wanted.clone()
    }
}

/// Makes the differences go. When one of them cannot be, what was is put back.
pub fn apply(kernel: &mut dyn Kernel, wanted: &Config) -> Result<Applied, Refusal> {
    let all = drift(kernel, wanted)?;
    make(kernel, all)
}

/// Makes these differences go, in their order, or none of them.
pub fn make(kernel: &mut dyn Kernel, all: Vec<Difference>) -> Result<Applied, Refusal> {
    let mut applied = Applied::default();
    for difference in all {
        match carry_out(kernel, &difference) {
            Ok(true) => applied.changes.push(difference),
            Ok(false) => {
                if let Difference::Rule { wanted, .. } = &difference {
                    applied.waiting.push(wanted.clone());
                }
                // The rule that it replaces may have had to go.
                applied.changes.extend(replaced(&difference));
            }
            Err(refusal) => return Err(put_back(kernel, applied, &difference, refusal)),
        }
    }
    Ok(applied)
}

/// The rule that a waiting one of the same number has driven out.
fn replaced(difference: &Difference) -> Option<Difference> {
    match difference {
        Difference::Rule { now: Some(now), .. } => Some(Difference::Extra(now.rule.clone())),
        _ => None,
    }
}

/// Makes one change. `false`: a rule waits for its cgroup, and none of its number
/// is in force.
fn carry_out(kernel: &mut dyn Kernel, difference: &Difference) -> Result<bool, Refusal> {
    match difference {
        Difference::Parameter { name, wanted, .. } => kernel.set_parameter(name, wanted)?,
        Difference::Extra(rule) => kernel.delete_rule(rule.id())?,
        Difference::Access { wanted, .. } => kernel.set_access(wanted)?,
        Difference::Rule { wanted, now } => {
            if kernel.add_rule(wanted)? == Added::NoCgroup {
                if now.is_some() {
                    kernel.delete_rule(wanted.id())?;
                }
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Undoes what was done, the last first, and says how that went.
fn put_back(
    kernel: &mut dyn Kernel,
    applied: Applied,
    failed: &Difference,
    refusal: Refusal,
) -> Refusal {
    let mut left = Vec::new();
    // A step that failed in its middle is undone as well.
    let half = matches!(failed, Difference::Access { .. }).then(|| failed.clone());
    for change in applied.changes.iter().chain(&half).rev() {
        if let Err(error) = undo(kernel, change) {
            left.push(format!("{} ({error})", before(change)));
        }
    }
    if left.is_empty() {
        Refusal(format!("{refusal}; everything is as it was"))
    } else {
        Refusal(format!(
            "{refusal}; of what was changed before, this could not be put back: {}",
            left.join(", ")
        ))
    }
}

/// What was in force before a change, in words.
fn before(change: &Difference) -> String {
    match change {
        Difference::Parameter { name, now, .. } => format!("{name} was {now}"),
        Difference::Extra(rule) => format!("there was rule '{rule}'"),
        Difference::Rule { wanted, now: None } => format!("there was no rule {}", wanted.id()),
        Difference::Rule { now: Some(now), .. } => format!("there was rule '{}'", now.rule),
        Difference::Access { now: None, .. } => "there was no /dev/amd_gpreempt".into(),
        Difference::Access { now: Some(now), .. } => {
            format!("/dev/amd_gpreempt belonged to {now}")
        }
    }
}

fn undo(kernel: &mut dyn Kernel, change: &Difference) -> Result<(), Refusal> {
    match change {
        Difference::Parameter { name, now, .. } => kernel.set_parameter(name, now),
        Difference::Extra(rule) => kernel.add_rule(rule).map(|_| ()),
        Difference::Rule { wanted, now: None } => kernel.delete_rule(wanted.id()),
        Difference::Rule {
            wanted,
            now: Some(now),
        } => match kernel.add_rule(&now.rule)? {
            Added::InForce => Ok(()),
            // It was dead, or its cgroup has gone since.
            Added::NoCgroup => kernel.delete_rule(wanted.id()),
        },
        Difference::Access { now: Some(now), .. } => kernel.set_access(now),
        Difference::Access { now: None, .. } => Ok(()),
    }
}
