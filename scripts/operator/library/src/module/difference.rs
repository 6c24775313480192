// SPDX-License-Identifier: GPL-2.0-only
//! What is in force and should not be, or the other way round.

use std::fmt;

use crate::configuration::config::Access;
use crate::module::kernel::InForce;
use crate::words::rule::Rule;

/// One difference between what is in force and what should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    Parameter {
        name: &'static str,
        now: String,
        wanted: String,
    },
    /// A mode that one GPU has of its own, or should have. Without one, that for all
    /// GPUs holds.
    Own {
        gpu: String,
        now: Option<String>,
        wanted: Option<String>,
    },
    /// A GPU that should have a mode of its own is not there.
    Absent(String),
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
            Difference::Own { gpu, now, wanted } => {
                let words = |value: &Option<String>| match value {
                    Some(value) => value.clone(),
                    None => "that for all GPUs".to_owned(),
                };
                let (now, wanted) = (words(now), words(wanted));
                write!(out, "mode of GPU {gpu} is {now} and should be {wanted}")
            }
            Difference::Absent(gpu) => write!(out, "GPU {gpu} is not there"),
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
