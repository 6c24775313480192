// SPDX-License-Identifier: GPL-2.0-only
//! What a rule may say, and what is said about one that makes no sense.

use gpreempt_policy::{unescaped, NodeName, RuleText, Subject};
use gpreempt_policy::{Nanos, Priority};
use proptest::prelude::*;
use std::fmt::Write as _;

fn bytes(text: &str) -> Vec<u8> {
    unescaped(text).unwrap().collect()
}

#[test]
fn a_whole_rule_is_understood() {
    let rule = RuleText::parse(" 10  comm=a%20b prio=15 timeslice_us=5\n").unwrap();
    assert_eq!(rule.subject, Subject::Comm("a%20b"));
    assert_eq!(bytes("a%20b"), b"a b");
    assert_eq!(rule.id, 10);
    assert_eq!(rule.effect.priority, Priority::new(15));
    assert_eq!(rule.effect.timeslice, Some(Nanos::from_micros(5)));
    assert_eq!(rule.effect.stop_budget, None);
    assert!(!rule.effect.exempt);
}

#[test]
fn each_subject_is_understood() {
    let subject = |text: &'static str| RuleText::parse(text).map(|rule| rule.subject);
    assert_eq!(subject("0 pid=1 exempt"), Ok(Subject::Pid(1)));
    assert_eq!(
        subject("0 pid=2147483647 exempt"),
        Ok(Subject::Pid(i32::MAX))
    );
    assert_eq!(subject("4294967295 comm=x prio=0"), Ok(Subject::Comm("x")));
    assert_eq!(subject("1 cgroup=/ prio=0"), Ok(Subject::Cgroup("/")));
}

#[test]
fn a_rule_may_name_a_node() {
    let node = |text: &'static str| RuleText::parse(text).map(|rule| rule.node);
    let name = |gpu, index| Ok(Some(NodeName { gpu, index }));
    assert_eq!(node("1 pid=1 exempt"), Ok(None));
    assert_eq!(
        node("1 node=0000:c1:00.0/0 pid=1 exempt"),
        name("0000:c1:00.0", 0)
    );
    assert_eq!(
        node("1 pid=1 prio=1 node=10af0:0e:1f.7/63"),
        name("10af0:0e:1f.7", 63)
    );
    assert_eq!(
        node("1 pid=1 prio=1 node=10000af0:0e:1f.7/07"),
        name("10000af0:0e:1f.7", 7)
    );
    for wrong in [
        "",
        "/",
        "0",
        "/0",
        "0000:c1:00.0",
        "0000:c1:00.0/",
        "0000:c1:00.0/64",
        "0000:c1:00.0/-1",
        "0000:c1:00.0/0/0",
        "c1:00.0/0",
        "0000:c1:00:0/0",
        "0000.c1:00.0/0",
        "0000:c1:00.0 /0",
        "000:c1:00.0/0",
        "000000000:c1:00.0/0",
        "0000:C1:00.0/0",
        "0000:cl:00.0/0",
        "0\"000:c1:00.0/0",
        "\\u0030000:c1:00.0/0",
        "gpu_0000:c1:00.0/0",
    ] {
        let text = format!("1 pid=1 exempt node={wrong}");
        let said = RuleText::parse(&text).unwrap_err().to_string();
        assert!(said.starts_with("node= takes"), "{text}: {said}");
    }
}

#[test]
fn nonsense_is_refused_for_its_reason() {
    for (text, error) in [
        (
            "1 pid=1 node=0000:c1:00.0/0 node=0000:c1:00.0/1 exempt",
            "give each word once",
        ),
        ("", "begin with the rule's number"),
        ("x pid=1 prio=1", "begin with the rule's number"),
        ("-1 pid=1 prio=1", "begin with the rule's number"),
        ("+1 pid=1 prio=1", "begin with the rule's number"),
        ("4294967296 pid=1 prio=1", "begin with the rule's number"),
        ("1 prio=1", "name a process"),
        (
            "1 pid=1 comm=x prio=1",
            "give each word once, and only one of pid=",
        ),
        (
            "1 pid=1 pid=2 prio=1",
            "give each word once, and only one of pid=",
        ),
        ("1 pid=1 nice=1", "words are pid="),
        ("1 pid=1 prio", "prio= takes"),
        ("1 pid=1 exempt=1", "words are pid="),
        ("1 pid=1 prio=1 prio=2", "give each word once"),
        ("1 pid=1 exempt exempt", "give each word once"),
        ("1 pid=0 prio=1", "pid= takes"),
        ("1 pid=2147483648 prio=1", "pid= takes"),
        ("1 comm= prio=1", "comm= takes"),
        ("1 comm=1234567890123456 prio=1", "comm= takes"),
        ("1 cgroup= prio=1", "cgroup= takes"),
        ("1 cgroup=a/b prio=1", "cgroup= takes"),
        ("1 comm=% prio=1", "% must be followed"),
        ("1 comm=%2 prio=1", "% must be followed"),
        ("1 comm=%zz prio=1", "% must be followed"),
        ("1 comm=%+1 prio=1", "% must be followed"),
        ("1 comm=a%00 prio=1", "% must be followed"),
        ("1 pid=1 prio=16", "prio= takes"),
        ("1 pid=1 prio=", "prio= takes"),
        ("1 pid=1 timeslice_us=10000001", "times are whole"),
        ("1 pid=1 stop_budget_ms=0", "stop_budget_ms= takes"),
        ("1 pid=1 stop_budget_ms=1001", "stop_budget_ms= takes"),
        ("1 pid=1 stop_budget_ms=", "stop_budget_ms= takes"),
        ("1 pid=1 stop_budget_ms=-1", "stop_budget_ms= takes"),
        ("1 pid=1 stop_budget_ms", "stop_budget_ms= takes"),
        (
            "1 pid=1 stop_budget_ms=5 stop_budget_ms=5",
            "give each word once",
        ),
        ("1 pid=1", "say what it does"),
        (
            "1 pid=1 exempt stop_budget_ms=5",
            "exempt goes with nothing",
        ),
        ("1 pid=1 exempt prio=1", "exempt goes with nothing"),
    ] {
        let said = RuleText::parse(text).unwrap_err().to_string();
        assert!(said.starts_with(error), "{text}: {said}");
    }
}

#[test]
fn the_longest_time_fits() {
    let rule = RuleText::parse("1 pid=1 timeslice_us=10000000").unwrap();
    assert_eq!(rule.effect.timeslice, Some(Nanos::from_micros(10_000_000)));
    assert_eq!(bytes("%4A%4a%4F%4f"), b"JJOO");
}

#[test]
fn a_budget_of_stopped_time_is_one_of_the_parameters_values() {
    for (word, millis) in [("1", 1), ("1000", 1_000)] {
        let text = format!("1 pid=1 stop_budget_ms={word}");
        let rule = RuleText::parse(&text).unwrap();
        assert_eq!(rule.effect.stop_budget, Some(Nanos::from_millis(millis)));
        assert_eq!(rule.effect.priority, None);
    }
    let both = RuleText::parse("1 comm=x prio=9 stop_budget_ms=30").unwrap();
    assert_eq!(both.effect.stop_budget, Some(Nanos::from_millis(30)));
    assert_eq!(both.effect.priority, Priority::new(9));
}

#[test]
fn the_longest_names_fit() {
    assert!(RuleText::parse("1 comm=123456789012345 prio=1").is_ok());
    // Fifteen bytes, however they are written.
    let escaped = "%41".repeat(15);
    assert!(RuleText::parse(&format!("1 comm={escaped} prio=1")).is_ok());
    let path = |length: usize| format!("1 cgroup=/{} prio=1", "a".repeat(length - 1));
    assert!(RuleText::parse(&path(1024)).is_ok());
    assert!(RuleText::parse(&path(1025)).is_err());
}

proptest! {
    /// Whatever is written, an answer comes back.
    #[test]
    fn anything_is_answered(text in ".{0,200}") {
        let _ = RuleText::parse(&text);
    }

    /// Words of rules in any order and number.
    #[test]
    fn words_are_answered(words in proptest::collection::vec(
        prop_oneof![
            Just("pid=1"), Just("comm=a%41"), Just("cgroup=/a"), Just("prio=3"), Just("exempt"),
            Just("timeslice_us=1"), Just("node=0000:c1:00.0/3"), Just("node=0"), Just("%"),
            Just("stop_budget_ms=1"), Just("stop_budget_ms=1001"),
        ], 0..8)) {
        let text = format!("5 {}", words.join(" "));
        if let Ok(rule) = RuleText::parse(&text) {
            prop_assert_eq!(rule.id, 5);
            let changes = rule.effect.priority.is_some() || rule.effect.timeslice.is_some()
                || rule.effect.stop_budget.is_some();
            prop_assert!(changes != rule.effect.exempt);
        }
    }

    /// What is escaped byte by byte comes back.
    #[test]
    fn escapes_come_back(name in proptest::collection::vec(1u8.., 0..40)) {
        let mut text = String::new();
        for byte in &name {
            write!(text, "%{byte:02x}").unwrap();
        }
        prop_assert_eq!(bytes(&text), name);
    }
}
