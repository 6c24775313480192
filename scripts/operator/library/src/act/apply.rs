// SPDX-License-Identifier: GPL-2.0-only
//! Bringing what is in force to what a configuration says: all of it, or
//! nothing.

use std::cmp::Ordering;
use std::fmt;

use crate::configuration::config::Config;
use crate::host::tree::Refusal;
use crate::module::difference::Difference;
use crate::module::kernel::{Added, Kernel, State};
use crate::module::mode_guard::Setting;
use crate::words::gpu::{activity, Modes};
use crate::words::parameters::{self, Parameters};
use crate::words::rule::{Rule, MOST_RULES};

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub changes: Vec<Difference>,
    /// What is not in force, because what it is for is not there yet.
    pub waiting: Vec<Waiting>,
}

/// What is not in force, because what it is for is not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A rule for a cgroup.
    Rule(Rule),
    /// The mode of a GPU, which is named.
    Gpu(String),
}

impl fmt::Display for Waiting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waiting::Rule(rule) => rule.fmt(out),
            Waiting::Gpu(gpu) => write!(out, "GPU {gpu}"),
        }
    }
}

/// When a change has its turn, so that on no GPU more is done in between than before
/// or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// The mode for all GPUs, where it does less. It comes before the modes of single
    /// GPUs, which may be given up for it.
    LessForAll,
    /// The mode of one GPU, where it does less.
    LessForOne,
    Any,
    /// The mode of one GPU, where it does more. It may be less than that for all.
    MoreForOne,
    /// The mode for all GPUs, where it does more.
    MoreForAll,
}

/// What differs, in the order in which it should be changed: a mode that does
/// less comes before everything else, and one that does more after it.
pub fn differences(now: &State, wanted: &Config) -> Vec<Difference> {
    let mut all: Vec<(Turn, Difference)> = Vec::new();
    for (&name, value) in &wanted.parameters {
        let current = now.parameters.get(name).map_or("", String::as_str);
        if current == value {
            continue;
        }
        // A module that does not have a parameter does what its default says.
        if current.is_empty() && parameters::defaults().get(name) == Some(value) {
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
        let turn = match name == "mode" {
            true if activity(value) < activity(current) => Turn::LessForAll,
            true => Turn::MoreForAll,
            false => Turn::Any,
        };
        all.push((turn, difference));
    }
    all.extend(own(now, wanted));
    all.extend(rules(now, wanted).into_iter().map(|rule| (Turn::Any, rule)));
    if let Some(access) = &wanted.access {
        if now.access.as_ref() != Some(access) {
            let difference = Difference::Access {
                now: now.access.clone(),
                wanted: access.clone(),
            };
            all.push((Turn::Any, difference));
        }
    }
    all.sort_by_key(|(turn, _)| *turn);
    all.into_iter().map(|(_, difference)| difference).collect()
}

/// What differs in the modes that single GPUs have of their own.
fn own(now: &State, wanted: &Config) -> Vec<(Turn, Difference)> {
    let mut all = Vec::new();
    let absent = wanted
        .gpus
        .keys()
        .filter(|gpu| !now.gpus.contains_key(*gpu));
    all.extend(absent.map(|gpu| (Turn::Any, Difference::Absent(gpu.clone()))));
    let of_all = |parameters: &Parameters| parameters.get("mode").map_or(0, |mode| activity(mode));
    for (gpu, current) in &now.gpus {
        let should = wanted.gpus.get(gpu).cloned();
        if *current == should {
            continue;
        }
        let does = |own: &Option<String>, all| own.as_deref().map_or(of_all(all), activity);
        let (before, after) = (
            does(current, &now.parameters),
            does(&should, &wanted.parameters),
        );
        let turn = match after.cmp(&before) {
            Ordering::Less => Turn::LessForOne,
            Ordering::Equal => Turn::Any,
            Ordering::Greater => Turn::MoreForOne,
        };
        let difference = Difference::Own {
            gpu: gpu.clone(),
            now: current.clone(),
            wanted: should,
        };
        all.push((turn, difference));
    }
    all
}

/// New rules come before old ones go, so that nobody is without one in between,
/// unless there is not room for both.
fn rules(now: &State, wanted: &Config) -> Vec<Difference> {
    let mut new = Vec::new();
    for rule in &wanted.rules {
        let current = now.rules.iter().find(|one| one.rule.id == rule.id);
        if current.is_some_and(|current| current.rule == *rule && !current.dead) {
            continue;
        }
        new.push(Difference::Rule {
            wanted: rule.clone(),
            now: current.cloned(),
        });
    }
    let is_wanted = |id| wanted.rules.iter().any(|rule| rule.id == id);
    let mut old: Vec<Difference> = now
        .rules
        .iter()
        .filter(|one| !is_wanted(one.rule.id))
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
    let now = kernel.state()?;
    let all = differences(&now, &as_shown(kernel, wanted));
    make(kernel, &now, all)
}

/// Makes these differences to a state go, in their order, or none of them. A mode that
/// somebody else sets meanwhile so that less is done stays.
pub fn make(
    kernel: &mut dyn Kernel,
    now: &State,
    all: Vec<Difference>,
) -> Result<Applied, Refusal> {
    let mut modes = Modes::of(now);
    let mut applied = Applied::default();
    for difference in all {
        let step = |kernel: &mut dyn Kernel| carry_out(kernel, &difference);
        match set(kernel, &mut modes, Setting::wanted(&difference), step) {
            Ok(true) => applied.changes.push(difference),
            Ok(false) => {
                applied.waiting.extend(waiting(&difference));
                // The rule that it replaces may have had to go.
                applied.changes.extend(replaced(&difference));
            }
            Err(refusal) => {
                return Err(put_back(kernel, &mut modes, applied, &difference, refusal))
            }
        }
    }
    Ok(applied)
}

/// Has a step made that may set a mode, unless that is somebody else's by now.
fn set<T>(
    kernel: &mut dyn Kernel,
    modes: &mut Modes,
    setting: Option<Setting<'_>>,
    step: impl FnOnce(&mut dyn Kernel) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    if let Some(setting) = setting {
        modes.check(kernel, setting)?;
    }
    let done = step(kernel)?;
    if let Some(setting) = setting {
        modes.note(setting);
    }
    Ok(done)
}

/// What waits where a change could not be made yet.
fn waiting(difference: &Difference) -> Option<Waiting> {
    match difference {
        Difference::Rule { wanted, .. } => Some(Waiting::Rule(wanted.clone())),
        // It has gone meanwhile.
        Difference::Own { gpu, .. } | Difference::Absent(gpu) => Some(Waiting::Gpu(gpu.clone())),
        _ => None,
    }
}

/// The rule that a waiting one of the same number has driven out.
fn replaced(difference: &Difference) -> Option<Difference> {
    match difference {
        Difference::Rule { now: Some(now), .. } => Some(Difference::Extra(now.rule.clone())),
        _ => None,
    }
}

/// Makes one change. `false`: it waits for what is not there; of a rule's number none
/// is in force.
fn carry_out(kernel: &mut dyn Kernel, difference: &Difference) -> Result<bool, Refusal> {
    match difference {
        Difference::Parameter { name, wanted, .. } => kernel.set_parameter(name, wanted)?,
        Difference::Own { gpu, wanted, .. } => match kernel.set_own(gpu, wanted.as_deref()) {
            Err(_) if !kernel.is_there(gpu) => return Ok(false),
            result => result?,
        },
        Difference::Absent(_) => return Ok(false),
        Difference::Extra(rule) => delete(kernel, rule)?,
        Difference::Access { wanted, .. } => kernel.set_access(wanted)?,
        Difference::Rule { wanted, now } => {
            if kernel.add_rule(wanted)? != Added::InForce {
                if let Some(now) = now {
                    delete(kernel, &now.rule)?;
                }
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Deletes a rule, which may have gone since: with its process, or because somebody else
/// has deleted it.
fn delete(kernel: &mut dyn Kernel, rule: &Rule) -> Result<(), Refusal> {
    kernel.delete_rule(rule.id).or_else(|refusal| {
        let rules = kernel.state()?.rules;
        match rules.iter().any(|one| one.rule.id == rule.id) {
            true => Err(refusal),
            false => Ok(()),
        }
    })
}

/// Undoes what was done, the last first, and says how that went.
fn put_back(
    kernel: &mut dyn Kernel,
    modes: &mut Modes,
    applied: Applied,
    failed: &Difference,
    refusal: Refusal,
) -> Refusal {
    let mut left = Vec::new();
    // A step that failed in its middle is undone as well.
    let half = matches!(failed, Difference::Access { .. }).then(|| failed.clone());
    for change in applied.changes.iter().chain(&half).rev() {
        let step = |kernel: &mut dyn Kernel| undo(kernel, change);
        if let Err(error) = set(kernel, modes, Setting::before(change), step) {
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
        Difference::Own { gpu, now, .. } => {
            let now = now.as_deref().unwrap_or("that for all GPUs");
            format!("mode of GPU {gpu} was {now}")
        }
        Difference::Absent(gpu) => format!("GPU {gpu} was not there"),
        Difference::Extra(rule) => format!("there was rule '{rule}'"),
        Difference::Rule { wanted, now: None } => format!("there was no rule {}", wanted.id),
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
        // What a GPU that has gone had is kept by the module, and cannot be reached.
        Difference::Own { gpu, .. } if !kernel.is_there(gpu) => Err(Refusal(format!(
            "GPU {gpu} has gone: apply again when it is there"
        ))),
        Difference::Own { gpu, now, .. } => kernel.set_own(gpu, now.as_deref()),
        Difference::Absent(_) => Ok(()),
        Difference::Extra(rule) => kernel.add_rule(rule).map(|_| ()),
        Difference::Rule { wanted, now: None } => kernel.delete_rule(wanted.id),
        Difference::Rule {
            wanted,
            now: Some(now),
        } => match kernel.add_rule(&now.rule)? {
            Added::InForce => Ok(()),
            // It was dead, or its cgroup or its process has gone since.
            Added::NoCgroup | Added::NoProcess => kernel.delete_rule(wanted.id),
        },
        Difference::Access { now: Some(now), .. } => kernel.set_access(now),
        Difference::Access { now: None, .. } => Ok(()),
    }
}
