// SPDX-License-Identifier: GPL-2.0-only
//! A rule for a process while it is being written.

use std::ops::RangeInclusive;

use gpreempt_operator::host::tables::ShownRule;
use gpreempt_operator::words::escape::escaped;
use gpreempt_operator::words::rule::Rule;

use super::look::Look;
use super::rows::Row;

/// A process, which its number alone does not tell from later ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i64,
    /// When it was started, unless it had ended by then.
    pub started: Option<u64>,
}

/// A rule that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// The rule that applies to the process now.
    pub applies: Option<u64>,
    /// The process, as it was when this was begun.
    pub process: Process,
    /// The words for the process, one of which is taken.
    subjects: Vec<String>,
}

/// What a rule may do, as far as it is offered.
const EFFECTS: [&str; 2] = ["prio=", "exempt"];
/// The longest text that is taken.
const LONGEST: usize = 1200;

impl Draft {
    /// The beginning of a rule for a process.
    pub fn of(row: &Row, look: &Look) -> Draft {
        let mut subjects = vec![format!("pid={}", row.key.pid)];
        if let Some(name) = row.comm.as_ref().filter(|name| !name.is_empty()) {
            subjects.push(format!("comm={}", escaped(name)));
        }
        if row.cgroup.len() > 1 && row.cgroup.starts_with('/') {
            subjects.push(format!("cgroup={}", escaped(row.cgroup.as_bytes())));
        }
        let number = number(&look.rules, &look.named, row.rule);
        Draft {
            text: format!("{number} {} prio=", subjects[0]),
            applies: row.rule,
            process: Process {
                pid: row.key.pid,
                started: look.started.get(&row.key.pid).copied(),
            },
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
/// wins, or behind all others. Those that rules with names may give are theirs as long
/// as there are others.
fn number(rules: &[ShownRule], named: &[RangeInclusive<u32>], applies: Option<u64>) -> u32 {
    let is_free = |number: &u32| rules.iter().all(|rule| rule.id != *number);
    let is_named = |number: &u32| named.iter().any(|own| own.contains(number));
    let is_nobodys = |number: &u32| is_free(number) && !is_named(number);
    let applies = applies.and_then(|number| u32::try_from(number).ok());
    if let Some(number) = applies {
        let mut lower = (0..number).rev();
        let found = lower.clone().find(is_nobodys);
        return found.or_else(|| lower.find(is_free)).unwrap_or(number);
    }
    let ends = named.iter().map(|own| *own.end());
    let last = rules.iter().map(|rule| rule.id).chain(ends).max();
    let last = last.unwrap_or(0);
    let next = (last / 10).saturating_add(1).checked_mul(10);
    next.or_else(|| (0..=last).rev().find(is_nobodys))
        .unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::tests::{look, rows, rule};

    fn draft(pid: i64) -> Draft {
        let row = rows(&look()).into_iter().find(|row| row.key.pid == pid);
        Draft::of(&row.unwrap(), &look())
    }

    #[test]
    fn a_draft_knows_the_process_for_which_it_was_begun() {
        let mut look = look();
        look.started.insert(20, 777);
        let all = rows(&look);
        for (pid, started) in [(20, Some(777)), (10, None)] {
            let row = all.iter().find(|row| row.key.pid == pid).unwrap();
            assert_eq!(Draft::of(row, &look).process, Process { pid, started });
        }
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
        look.rules.clear();
        let mut draft = Draft::of(&row, &look);
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
            (&[u32::MAX, u32::MAX - 1], None, u32::MAX - 2),
            (&[], Some(u64::MAX), 10),
        ] {
            let found = number(&rules(there), &[], applies);
            assert_eq!(found, new, "{there:?} {applies:?}");
        }
    }

    #[test]
    fn the_numbers_of_rules_with_names_are_left_to_them() {
        let rules = |numbers: &[u32]| numbers.iter().map(|id| rule(*id, "")).collect::<Vec<_>>();
        for (there, named, applies, new) in [
            (&[][..], 10..=19, None, 20),
            (&[10, 11], 10..=265, None, 270),
            (&[30], 10..=19, None, 40),
            // Above the rule that applies a new one would do nothing.
            (&[10, 12], 10..=19, Some(12), 9),
            (&[20], 10..=19, Some(20), 9),
            (&[20, 9, 8], 10..=19, Some(20), 7),
            // Where there are no others, one of theirs is better than none.
            (&[20], 0..=19, Some(20), 19),
            (&[1, 0], 0..=9, Some(1), 1),
            (&[4], u32::MAX - 255..=u32::MAX, None, u32::MAX - 256),
        ] {
            let found = number(&rules(there), std::slice::from_ref(&named), applies);
            assert_eq!(found, new, "{there:?} {named:?} {applies:?}");
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
}
