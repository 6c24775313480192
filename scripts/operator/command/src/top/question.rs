// SPDX-License-Identifier: GPL-2.0-only
//! What can be changed, and the question before that.

use gpreempt_operator::host::{Host, Refusal};
use gpreempt_operator::kernel::{parameter_path, rules_path, Added, Kernel};
use gpreempt_operator::rule::{escaped, Rule};
use gpreempt_operator::tables::ShownRule;

use super::rows::Row;
use crate::clean::clean;
use crate::cli::Mode;

/// A change of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Mode(Mode),
    Add(Rule),
    Delete(u32),
}

impl Change {
    /// What is written.
    pub fn words(&self) -> String {
        match self {
            Change::Mode(mode) => mode.name().to_owned(),
            Change::Add(rule) => rule.to_string(),
            Change::Delete(number) => number.to_string(),
        }
    }

    /// Where to.
    pub fn file(&self) -> String {
        let path = match self {
            Change::Mode(_) => parameter_path("mode"),
            Change::Add(_) => rules_path("add"),
            Change::Delete(_) => rules_path("del"),
        };
        format!("/{path}")
    }

    /// Makes it.
    pub fn make(&self, host: &mut Host) -> Result<(), Refusal> {
        host.need_module()?;
        match self {
            Change::Mode(mode) => host.put_mode(mode.name()),
            Change::Add(rule) => match host.add_rule(rule)? {
                Added::InForce => Ok(()),
                Added::NoCgroup => Err(Refusal::new(
                    "there is no such cgroup, so the rule was not added: make the cgroup first",
                )),
                Added::NoProcess => Err(Refusal::new(
                    "the process has ended, so the rule was not added",
                )),
            },
            Change::Delete(number) => host.delete_rule(*number),
        }
    }

    /// The question, and what is to be known for the answer.
    pub fn question(&self, rules: &[ShownRule], applies: Option<u64>) -> String {
        let mut text = format!("Write '{}' to {}?", self.words(), self.file());
        let known = |number: u32| rules.iter().find(|rule| rule.id == number);
        match self {
            Change::Mode(_) => {}
            Change::Add(rule) => match (known(rule.id()), applies) {
                (Some(old), _) => {
                    text.push_str(&format!(" It takes the place of '{}'.", clean(&old.text)));
                }
                (None, Some(other)) if other < u64::from(rule.id()) => text.push_str(&format!(
                    " Rule {other} has a lower number and stays the one that applies here."
                )),
                (None, _) => {}
            },
            Change::Delete(number) => match known(*number) {
                Some(old) => text.push_str(&format!(" It deletes '{}'.", clean(&old.text))),
                None => text.push_str(" There is no such rule in the last look."),
            },
        }
        text.push_str(" y does it, n does not.");
        text
    }
}

/// A rule that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// The rule that applies to the process now.
    pub applies: Option<u64>,
    /// The words for the process, one of which is taken.
    subjects: Vec<String>,
}

/// What a rule may do, as far as it is offered.
const EFFECTS: [&str; 2] = ["prio=", "exempt"];
/// The longest text that is taken.
const LONGEST: usize = 1200;

impl Draft {
    /// The beginning of a rule for a process.
    pub fn of(row: &Row, rules: &[ShownRule]) -> Draft {
        let mut subjects = vec![format!("pid={}", row.key.pid)];
        if let Some(name) = row.comm.as_ref().filter(|name| !name.is_empty()) {
            subjects.push(format!("comm={}", escaped(name)));
        }
        if row.cgroup.len() > 1 && row.cgroup.starts_with('/') {
            subjects.push(format!("cgroup={}", escaped(row.cgroup.as_bytes())));
        }
        Draft {
            text: format!("{} {} prio=", number(rules, row.rule), subjects[0]),
            applies: row.rule,
            subjects,
        }
    }

    pub fn push(&mut self, character: char) {
        if character.is_ascii() && !character.is_ascii_control() && self.text.len() < LONGEST {
            self.text.push(character);
        }
    }

    pub fn pop(&mut self) {
        self.text.pop();
    }

    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// Names the process in the next way.
    pub fn next_subject(&mut self) {
        let begins = |word: &str| {
            ["pid=", "comm=", "cgroup="]
                .iter()
                .any(|name| word.starts_with(name))
        };
        let at = |word: &str| self.subjects.iter().position(|own| own == word);
        let words: Vec<&str> = self.text.split_whitespace().collect();
        let own = words.iter().find(|word| begins(word));
        let next = own
            .and_then(|word| at(word))
            .map_or(0, |at| (at + 1) % self.subjects.len());
        self.replace(begins, &self.subjects[next].clone());
    }

    /// Takes the other effect.
    pub fn next_effect(&mut self) {
        let begins = |word: &str| word.starts_with(EFFECTS[0]) || word == EFFECTS[1];
        let is_exempt = self.text.split_whitespace().any(|word| word == EFFECTS[1]);
        self.replace(begins, EFFECTS[usize::from(!is_exempt)]);
    }

    /// Puts a word in the place of one, or behind all.
    fn replace(&mut self, which: impl Fn(&str) -> bool, word: &str) {
        let mut words: Vec<&str> = self.text.split_whitespace().collect();
        match words.iter_mut().find(|own| which(own)) {
            Some(own) => *own = word,
            None => words.push(word),
        }
        self.text = words.join(" ");
    }

    /// The rule, or what is wrong with it.
    pub fn rule(&self) -> Result<Rule, String> {
        Rule::parse(&self.text).map_err(|error| error.to_string())
    }
}

/// A number for a new rule: below that of the rule that applies, since the lowest one
/// wins, or behind all others.
fn number(rules: &[ShownRule], applies: Option<u64>) -> u32 {
    let is_free = |number: &u32| rules.iter().all(|rule| rule.id != *number);
    let applies = applies.and_then(|number| u32::try_from(number).ok());
    match applies {
        Some(number) => (0..number).rev().find(is_free).unwrap_or(number),
        None => {
            let last = rules.iter().map(|rule| rule.id).max().unwrap_or(0);
            (last / 10)
                .saturating_add(1)
                .checked_mul(10)
                .unwrap_or(last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::tests::{look, rows, rule};

    fn draft(pid: i64) -> Draft {
        let row = rows(&look()).into_iter().find(|row| row.key.pid == pid);
        Draft::of(&row.unwrap(), &look().rules)
    }

    #[test]
    fn a_draft_names_the_process_in_each_way_that_there_is() {
        let mut draft = draft(20);
        assert_eq!(draft.text, "20 pid=20 prio=");
        draft.next_subject();
        assert_eq!(draft.text, "20 comm=train prio=");
        draft.next_subject();
        assert_eq!(draft.text, "20 cgroup=/batch.slice prio=");
        draft.next_subject();
        assert_eq!(draft.text, "20 pid=20 prio=");
        draft.next_effect();
        assert_eq!(draft.text, "20 pid=20 exempt");
        draft.next_effect();
        assert_eq!(draft.text, "20 pid=20 prio=");
        draft.clear();
        draft.next_effect();
        draft.next_subject();
        assert_eq!(draft.text, "exempt pid=20");
    }

    #[test]
    fn names_of_any_bytes_are_escaped() {
        let mut look = look();
        look.queues[0].comm = "a b\u{1b}\u{ff}%".into();
        look.cgroups.insert(20, "/ä b".into());
        let row = rows(&look)
            .into_iter()
            .find(|row| row.key.pid == 20)
            .unwrap();
        let mut draft = Draft::of(&row, &[]);
        draft.next_subject();
        assert_eq!(draft.text, "10 comm=a%20b%1B%FF%25 prio=");
        draft.push('3');
        draft.next_subject();
        assert_eq!(draft.text, "10 cgroup=/%C3%A4%20b prio=3");
        assert!(draft.rule().is_ok());
    }

    #[test]
    fn a_new_rule_has_a_number_with_which_it_applies() {
        let rules = |numbers: &[u32]| numbers.iter().map(|id| rule(*id, "")).collect::<Vec<_>>();
        for (there, applies, new) in [
            (&[][..], None, 10),
            (&[9], None, 10),
            (&[10, 4], None, 20),
            (&[10, 4], Some(10), 9),
            (&[10, 9, 8], Some(10), 7),
            (&[1, 0], Some(1), 1),
            (&[0], Some(0), 0),
            (&[u32::MAX], None, u32::MAX),
            (&[], Some(u64::MAX), 10),
        ] {
            assert_eq!(number(&rules(there), applies), new, "{there:?} {applies:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_draft_is_said_in_the_words_of_the_kernel() {
        let mut draft = draft(20);
        assert!(draft.rule().unwrap_err().contains("prio= takes a number"));
        draft.push('3');
        draft.push('\u{1b}');
        draft.push('ä');
        assert_eq!(draft.rule().unwrap().to_string(), "20 pid=20 prio=3");
        draft.pop();
        draft.pop();
        assert!(draft.rule().is_err());
        for _ in 0..2 * LONGEST {
            draft.push('x');
        }
        assert_eq!(draft.text.len(), LONGEST);
    }

    #[test]
    fn a_question_has_the_words_and_what_they_do_to_other_rules() {
        let rules = [rule(4, "4 comm=infer prio=12")];
        let add = |text| Change::Add(Rule::parse(text).unwrap());
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
                Change::Delete(4),
                None,
                "Write '4' to /sys/devices/faux/amd_gpreempt/rules_del? \
                 It deletes '4 comm=infer prio=12'.",
            ),
            (
                Change::Delete(5),
                None,
                "Write '5' to /sys/devices/faux/amd_gpreempt/rules_del? \
                 There is no such rule in the last look.",
            ),
            (
                Change::Mode(Mode::Off),
                None,
                "Write 'off' to /sys/module/amd_gpreempt/parameters/mode?",
            ),
        ] {
            assert_eq!(change.question(&rules, applies), format!("{question}{end}"));
        }
    }
}
