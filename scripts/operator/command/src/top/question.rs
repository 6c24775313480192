// SPDX-License-Identifier: GPL-2.0-only
//! What can be changed, and the question before that.

use gpreempt_operator::host::tables::ShownRule;
use gpreempt_operator::host::tree::{Host, Refusal};
use gpreempt_operator::host::workload;
use gpreempt_operator::module::kernel::{parameter_path, rules_path, Added, Kernel};
use gpreempt_operator::words::rule::{Rule, Subject};

use super::draft::{Draft, Process};
use super::look::Look;
use crate::clean::clean;
use crate::cli::Mode;

/// A change of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Mode(Mode),
    Add(Rule, Seen),
    Delete(u32, Seen),
}

/// What a question is based on, which has to be so still when the answer comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The text of the rule that had the number.
    pub rule: Option<String>,
    /// The process for which a rule with `pid=` is, where it was in view.
    pub process: Option<Process>,
}

impl Seen {
    fn rule(rules: &[ShownRule], number: u32) -> Option<String> {
        let known = rules.iter().find(|rule| rule.id == number);
        known.map(|rule| rule.text.clone())
    }

    /// Refuses where something is no longer as it was seen.
    fn must_hold(&self, host: &Host, number: u32) -> Result<(), Refusal> {
        if Seen::rule(&host.rules()?.rules, number) != self.rule {
            return Err(Refusal(format!(
                "rule {number} has changed since the question, so nothing was written: look again"
            )));
        }
        match &self.process {
            Some(seen) if workload::started(host, seen.pid) != seen.started => {
                Err(Refusal(format!(
                    "process {} is not the one that was shown any more, so nothing was written: \
                     look again",
                    seen.pid
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Change {
    /// Adds the rule of a draft.
    pub fn add(rule: Rule, draft: &Draft, look: &Look) -> Change {
        let process = match rule.subject {
            Subject::Pid(pid) if i64::from(pid) == draft.process.pid => Some(draft.process.clone()),
            // Somebody knows the number from elsewhere; what it stood for when the
            // question was asked is known if it has queues.
            Subject::Pid(pid) => {
                let started = look.started.get(&i64::from(pid)).copied();
                started.map(|started| Process {
                    pid: pid.into(),
                    started: Some(started),
                })
            }
            _ => None,
        };
        let there = Seen::rule(&look.rules, rule.id);
        let seen = Seen {
            rule: there,
            process,
        };
        Change::Add(rule, seen)
    }

    /// Deletes the rule that has a number in a look.
    pub fn delete(number: u32, look: &Look) -> Change {
        let seen = Seen {
            rule: Seen::rule(&look.rules, number),
            process: None,
        };
        Change::Delete(number, seen)
    }

    /// What is written.
    pub fn words(&self) -> String {
        match self {
            Change::Mode(mode) => mode.name().to_owned(),
            Change::Add(rule, _) => rule.to_string(),
            Change::Delete(number, _) => number.to_string(),
        }
    }

    /// Where to.
    pub fn file(&self) -> String {
        let path = match self {
            Change::Mode(_) => parameter_path("mode"),
            Change::Add(..) => rules_path("add"),
            Change::Delete(..) => rules_path("del"),
        };
        format!("/{path}")
    }

    /// Makes it, unless what the question said is no longer so.
    pub fn make(&self, host: &mut Host) -> Result<(), Refusal> {
        let _turn = host.turn()?;
        match self {
            Change::Mode(mode) => host.put_mode(mode.name()).map(|_| ()),
            Change::Add(rule, seen) => {
                seen.must_hold(host, rule.id)?;
                match host.add_rule(rule)? {
                    Added::InForce => Ok(()),
                    Added::NoCgroup => Err(Refusal::new(
                        "there is no such cgroup, so the rule was not added: make the cgroup first",
                    )),
                    Added::NoProcess => Err(Refusal::new(
                        "the process has ended, so the rule was not added",
                    )),
                }
            }
            Change::Delete(number, seen) => {
                seen.must_hold(host, *number)?;
                host.delete_rule(*number)
            }
        }
    }

    /// The question, and what is to be known for the answer.
    pub fn question(&self, applies: Option<u64>) -> String {
        let mut text = format!("Write '{}' to {}?", self.words(), self.file());
        match self {
            // No GPU can do more than that.
            Change::Mode(Mode::Enforce) => {}
            Change::Mode(_) => text.push_str(" A GPU whose own mode does more gives it up."),
            Change::Add(rule, seen) => match (&seen.rule, applies) {
                (Some(old), _) => {
                    text.push_str(&format!(" It takes the place of '{}'.", clean(old)));
                }
                (None, Some(other)) if other < u64::from(rule.id) => text.push_str(&format!(
                    " Rule {other} has a lower number and stays the one that applies here."
                )),
                (None, _) => {}
            },
            Change::Delete(_, seen) => match &seen.rule {
                Some(old) => text.push_str(&format!(" It deletes '{}'.", clean(old))),
                None => text.push_str(" There is no such rule in the last look."),
            },
        }
        text.push_str(" y does it, n does not.");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::tests::{look, rows};

    #[test]
    fn a_question_has_the_words_and_what_they_do_to_other_rules() {
        let look = look();
        let draft = Draft::of(&rows(&look)[0], &look);
        let add = |text| Change::add(Rule::parse(text).unwrap(), &draft, &look);
        let delete = |number| Change::delete(number, &look);
        let end = " y does it, n does not.";
        for (change, applies, question) in [
            (
                add("4 pid=1 prio=3"),
                Some(4),
                "Write '4 pid=1 prio=3' to /sys/devices/faux/amd_gpreempt/rules_add? \
                 It takes the place of '4 comm=infer prio=12'.",
            ),
            (
                add("5  exempt pid=1"),
                Some(4),
                "Write '5 pid=1 exempt' to /sys/devices/faux/amd_gpreempt/rules_add? \
                 Rule 4 has a lower number and stays the one that applies here.",
            ),
            (
                add("3 pid=1 exempt"),
                Some(4),
                "Write '3 pid=1 exempt' to /sys/devices/faux/amd_gpreempt/rules_add?",
            ),
            (
                delete(4),
                None,
                "Write '4' to /sys/devices/faux/amd_gpreempt/rules_del? \
                 It deletes '4 comm=infer prio=12'.",
            ),
            (
                delete(5),
                None,
                "Write '5' to /sys/devices/faux/amd_gpreempt/rules_del? \
                 There is no such rule in the last look.",
            ),
            (
                Change::Mode(Mode::Off),
                None,
                "Write 'off' to /sys/module/amd_gpreempt/parameters/mode? \
                 A GPU whose own mode does more gives it up.",
            ),
            (
                Change::Mode(Mode::Enforce),
                None,
                "Write 'enforce' to /sys/module/amd_gpreempt/parameters/mode?",
            ),
        ] {
            assert_eq!(change.question(applies), format!("{question}{end}"));
        }
    }
}
