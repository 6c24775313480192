// SPDX-License-Identifier: GPL-2.0-only
//! A rule, of which two that mean the same are equal however they were written.

use std::fmt;

use gpreempt_policy::{unescaped, RuleEffect, RuleText, SetError};

use crate::words::escape::escaped;
use crate::words::names::{Name, Words, WORDS};

/// The most rules that the kernel takes.
pub const MOST_RULES: usize = 256;

/// Which processes a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Pid(i32),
    Comm(Vec<u8>),
    Cgroup(Vec<u8>),
    /// What has a cgroup while it runs, which the kernel does not take.
    Named(Name),
}

/// A rule, which is written as the kernel reads it where it has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule's number.
    pub id: u32,
    pub subject: Subject,
    /// The only node on which it counts.
    pub node: Option<Node>,
    pub effect: RuleEffect,
}

/// A node of a GPU, by the GPU's address and its number there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub gpu: String,
    pub index: u32,
}

impl Rule {
    /// Understands a rule by the kernel's own source.
    pub fn parse(text: &str) -> Result<Rule, SetError> {
        let rule = RuleText::parse(text)?;
        Ok(Rule {
            id: rule.id,
            subject: match rule.subject {
                gpreempt_policy::Subject::Pid(pid) => Subject::Pid(pid),
                gpreempt_policy::Subject::Comm(name) => Subject::Comm(unescaped(name)?.collect()),
                gpreempt_policy::Subject::Cgroup(path) => {
                    Subject::Cgroup(unescaped(path)?.collect())
                }
            },
            node: rule.node.map(|node| Node {
                gpu: node.gpu.to_owned(),
                index: node.index,
            }),
            effect: rule.effect,
        })
    }
}

impl Rule {
    /// Understands a rule as somebody types it, who may name what it is for.
    pub fn typed(text: &str) -> Result<Rule, String> {
        let (mut names, mut rest) = (Words::default(), String::new());
        for word in text.split_ascii_whitespace() {
            match word.split_once('=') {
                Some((name, value)) if WORDS.contains(&name) => names.take(name, value)?,
                _ => rest = format!("{rest} {word}"),
            }
        }
        Rule::named(&rest, names.name()).map_err(|error| error.to_string())
    }

    /// A rule of the kernel's words, and of a name where that says whom it is for.
    pub fn named(text: &str, name: Option<Name>) -> Result<Rule, SetError> {
        let Some(name) = name else {
            return Rule::parse(text);
        };
        // A subject for the name's place, so that the kernel's source says what is wrong
        // with everything else.
        let rule = Rule::parse(&format!("{text} pid=1"))?;
        Ok(Rule {
            subject: Subject::Named(name),
            ..rule
        })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.gpu, self.index)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.id)?;
        match &self.subject {
            Subject::Pid(pid) => write!(out, " pid={pid}")?,
            Subject::Comm(name) => write!(out, " comm={}", escaped(name))?,
            Subject::Cgroup(path) => write!(out, " cgroup={}", escaped(path))?,
            Subject::Named(name) => write!(out, " {name}")?,
        }
        if let Some(node) = &self.node {
            write!(out, " node={node}")?;
        }
        if let Some(priority) = self.effect.priority {
            write!(out, " prio={}", priority.level())?;
        }
        if let Some(timeslice) = self.effect.timeslice {
            write!(out, " timeslice_us={}", timeslice.0 / 1000)?;
        }
        if let Some(budget) = self.effect.stop_budget {
            write!(out, " stop_budget_ms={}", budget.0 / 1_000_000)?;
        }
        if self.effect.exempt {
            write!(out, " exempt")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_mean_the_same_are_equal_and_written_in_one_way() {
        for (one, other) in [
            ("7 comm=a%20b prio=3", " 7  prio=3 comm=%61%20b\n"),
            ("7 cgroup=/a/%C3%BC exempt", "7 exempt cgroup=/a/ü"),
            (
                "7 pid=4 node=0000:c1:00.0/3 exempt",
                "7 exempt node=0000:c1:00.0/03 pid=4",
            ),
            (
                "1 pid=4 prio=0 timeslice_us=5 stop_budget_ms=7",
                "1 stop_budget_ms=007 timeslice_us=5 prio=0 pid=4",
            ),
        ] {
            let (rule, same) = (Rule::parse(one).unwrap(), Rule::parse(other).unwrap());
            assert_eq!(rule, same);
            assert_eq!(rule.to_string(), one);
            assert_eq!(same.to_string(), one);
        }
        let percent = Rule::parse("1 comm=%25%22 exempt").unwrap();
        assert_eq!(percent.subject, Subject::Comm(b"%\"".to_vec()));
        assert_eq!(percent.to_string(), "1 comm=%25%22 exempt");
    }
}
