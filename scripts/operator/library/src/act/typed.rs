// SPDX-License-Identifier: GPL-2.0-only
//! Adding several rules of the kernel for one that somebody has typed.

use crate::act::apply::{make, Applied};
use crate::host::tree::Refusal;
use crate::module::difference::Difference;
use crate::module::kernel::{InForce, Kernel, State};
use crate::words::rule::Rule;

/// Adds all of these rules, or none where one is refused. `false`: none was added,
/// because a cgroup of theirs has gone.
pub fn add_all(kernel: &mut dyn Kernel, now: &State, rules: Vec<Rule>) -> Result<bool, Refusal> {
    let due = rules.into_iter().map(|wanted| {
        let mut all = now.rules.iter();
        let now = all.find(|one| one.rule.id == wanted.id).cloned();
        Difference::Rule { wanted, now }
    });
    let applied = make(kernel, now, due.collect())?;
    if applied.waiting.is_empty() {
        return Ok(true);
    }
    make(kernel, now, reversed(applied))?;
    Ok(false)
}

/// What makes changes of rules undone, the last first.
fn reversed(applied: Applied) -> Vec<Difference> {
    let undone = applied.changes.into_iter().rev();
    undone
        .map(|change| match change {
            Difference::Rule { wanted, now: None } => Difference::Extra(wanted),
            Difference::Rule {
                wanted,
                now: Some(now),
            } => Difference::Rule {
                wanted: now.rule,
                now: Some(InForce {
                    rule: wanted,
                    dead: false,
                }),
            },
            Difference::Extra(wanted) => Difference::Rule { wanted, now: None },
            other => other,
        })
        .collect()
}
