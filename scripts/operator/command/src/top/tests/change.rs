// SPDX-License-Identifier: GPL-2.0-only
//! What is written when the answer is yes, and what is not since it has changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use super::{later, rows};
use crate::cli::Mode;
use crate::top::draft::{Draft, Process};
use crate::top::look::Look;
use crate::top::question::{Change, Seen};
use gpreempt_operator::host::tree::Host;
use gpreempt_operator::module::kernel::rules_path;
use gpreempt_operator::words::rule::Rule;
use tempfile::TempDir;

const MODE: &str = "sys/module/amd_gpreempt/parameters/mode";
const RULES: &str = "sys/kernel/debug/amd_gpreempt/rules.json";

/// A module with rule 4, and process 20.
struct Tree {
    host: Host,
    _folder: TempDir,
}

impl Tree {
    fn new() -> Tree {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree {
            host: Host::new(folder.path()),
            _folder: folder,
        };
        for file in [rules_path("add"), rules_path("del"), MODE.into()] {
            tree.file(&file, "");
        }
        tree.rule("4 comm=infer prio=12");
        tree.starts(Some(777));
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Has rule 4 be another one.
    fn rule(&self, text: &str) {
        let rule = format!(r#"{{"id":4,"text":"{text}","dead":false}}"#);
        self.file(RULES, &format!(r#"{{"schema":1,"rules":[{rule}]}}"#));
    }

    fn no_rule(&self) {
        self.file(RULES, r#"{"schema":1,"rules":[]}"#);
    }

    /// Has process 20 be one that was started at another time, or none.
    fn starts(&self, time: Option<u64>) {
        let rest = "S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0";
        let text = time.map(|time| format!("20 (train) {rest} {time} 9"));
        self.file("proc/20/stat", &text.unwrap_or_default());
    }

    fn look(&self) -> Look {
        let mut look = later();
        look.rules = self.host.rules().unwrap().rules;
        let started = gpreempt_operator::host::workload::started(&self.host, 20);
        look.started.extend(started.map(|time| (20, time)));
        look
    }

    /// The change that a draft for process 20 leads to.
    fn add(&self, text: &str) -> Change {
        let look = self.look();
        let row = rows(&look).into_iter().find(|row| row.key.pid == 20);
        let draft = Draft::of(&row.unwrap(), &look);
        Change::add(Rule::parse(text).unwrap(), &draft, &look)
    }

    fn delete(&self, number: u32) -> Change {
        Change::delete(number, &self.look())
    }

    fn makes(&self, change: &Change, file: &str) {
        self.file(file, "");
        change.make(&mut self.host.clone()).unwrap();
        assert_eq!(self.host.read(file).unwrap(), change.words());
    }

    fn refuses(&self, change: &Change, words: &str) {
        let refusal = change.make(&mut self.host.clone()).unwrap_err().to_string();
        assert!(
            refusal.contains(words) && refusal.ends_with("nothing was written: look again"),
            "{refusal}"
        );
        for file in ["add", "del"] {
            assert_eq!(self.host.read(&rules_path(file)).unwrap(), "", "{change:?}");
        }
    }
}

#[test]
fn what_is_as_it_was_shown_is_done() {
    let tree = Tree::new();
    tree.makes(&tree.delete(4), &rules_path("del"));
    tree.makes(&tree.delete(5), &rules_path("del"));
    for text in ["4 pid=20 prio=3", "5 pid=20 prio=3", "5 pid=21 prio=3"] {
        tree.makes(&tree.add(text), &rules_path("add"));
    }
    tree.makes(&Change::Mode(Mode::Enforce), MODE);
}

#[test]
fn a_rule_that_is_another_one_by_now_is_not_deleted_or_replaced() {
    let tree = Tree::new();
    let (delete, replace) = (tree.delete(4), tree.add("4 comm=x exempt"));
    let words = "rule 4 has changed since the question";
    tree.rule("4 comm=other exempt");
    for change in [&delete, &replace] {
        tree.refuses(change, words);
    }
    tree.no_rule();
    for change in [&delete, &replace] {
        tree.refuses(change, words);
    }
    let (delete, add) = (tree.delete(4), tree.add("4 comm=x exempt"));
    tree.rule("4 comm=infer prio=12");
    for change in [&delete, &add] {
        tree.refuses(change, words);
    }
}

#[test]
fn a_process_that_has_the_number_of_another_one_gets_no_rule_for_that() {
    let tree = Tree::new();
    let change = tree.add("5 pid=20 prio=3");
    for later in [Some(778), None] {
        tree.starts(later);
        tree.refuses(&change, "process 20 is not the one that was shown");
    }
    // It had ended when it was shown.
    let change = tree.add("5 pid=20 prio=3");
    let (pid, started) = (20, None);
    let process = Some(Process { pid, started });
    let seen = Seen {
        rule: None,
        process,
    };
    assert_eq!(
        change,
        Change::Add(Rule::parse("5 pid=20 prio=3").unwrap(), seen)
    );
    tree.starts(Some(779));
    tree.refuses(&change, "process 20 is not the one that was shown");
    // A name is for whoever has it.
    let change = tree.add("5 comm=train prio=3");
    tree.starts(Some(780));
    tree.makes(&change, &rules_path("add"));
}

#[test]
fn a_change_waits_for_its_turn() {
    let tree = Tree::new();
    let file = rules_path("add");
    let tables = tree.host.path(RULES);
    let node = fs::metadata(tables.parent().unwrap()).unwrap().ino();
    let mode = Change::Mode(Mode::Off);
    for (change, file) in [
        (tree.delete(4), rules_path("del")),
        (tree.add("5 pid=20 prio=3"), file),
        (mode, MODE.to_owned()),
    ] {
        let turn = tree.host.turn().unwrap();
        let (mut host, own) = (tree.host.clone(), change.clone());
        let made = thread::spawn(move || own.make(&mut host));
        let waits = |line: &str| line.contains("->") && line.contains(&format!(":{node} "));
        while !fs::read_to_string("/proc/locks")
            .unwrap()
            .lines()
            .any(waits)
        {
            assert!(!made.is_finished(), "it did not wait");
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(tree.host.read(&file).unwrap(), "");
        drop(turn);
        made.join().unwrap().unwrap();
        assert_eq!(tree.host.read(&file).unwrap(), change.words());
    }
}
