// SPDX-License-Identifier: GPL-2.0-only
//! Which rules of the kernel rules with names stand for, and which numbers they have.

use std::collections::BTreeMap;

use gpreempt_operator::act::apply::differences;
use gpreempt_operator::act::follow::{Others, Resolved};
use gpreempt_operator::act::resolve::Answer;
use gpreempt_operator::configuration::config::Config;
use gpreempt_operator::configuration::noted::Given;
use gpreempt_operator::module::kernel::{InForce, State};
use gpreempt_operator::words::parameters;
use gpreempt_operator::words::rule::{Rule, MOST_RULES};
use proptest::prelude::*;

/// What runs, by the words of its name.
type Running = BTreeMap<&'static str, Vec<String>>;

fn state(rules: &[&str]) -> State {
    let in_force = |text: &&str| {
        let (text, dead) = match text.strip_prefix("dead ") {
            Some(text) => (text, true),
            None => (*text, false),
        };
        let rule = Rule::parse(text).unwrap();
        InForce { rule, dead }
    };
    State {
        parameters: parameters::defaults(),
        gpus: Default::default(),
        rules: rules.iter().map(in_force).collect(),
        access: None,
    }
}

fn config(rules: &[(u32, &str, u32)]) -> Config {
    let rule = |(id, whom, prio): &(u32, &str, u32)| {
        let (word, text) = whom.split_once('=').unwrap();
        format!("[[rule]]\nid = {id}\n{word} = \"{text}\"\nprio = {prio}\n")
    };
    let text: String = rules.iter().map(rule).collect();
    Config::parse(&text).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

fn resolve(config: &Config, now: &State, others: Others<'_>, running: &Running) -> Resolved {
    Resolved::new(
        config,
        now,
        others,
        &mut |name| match running.get(name.to_string().as_str()) {
            Some(paths) if paths.is_empty() => Answer::Unknown("a file is broken".into()),
            Some(paths) => {
                let bytes = |path: &String| path.clone().into_bytes();
                Answer::Paths(paths.iter().map(bytes).collect())
            }
            None => Answer::Nothing("nothing runs".into()),
        },
    )
}

fn texts(rules: &[Rule]) -> Vec<String> {
    rules.iter().map(Rule::to_string).collect()
}

fn runs(name: &'static str, paths: &[&str]) -> Running {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    Running::from([(name, paths)])
}

const THREE: [(u32, &str, u32); 3] = [
    (5, "comm=x", 1),
    (10, "label=team=a", 3),
    (13, "cgroup=/z", 2),
];

#[test]
fn a_name_for_several_gives_numbers_up_to_the_next_rules() {
    let running = runs("label=team=a", &["/a", "/b", "/c"]);
    let resolved = resolve(&config(&THREE), &state(&[]), Others::Give, &running);
    assert_eq!(
        texts(&resolved.config.rules),
        [
            "5 comm=x prio=1",
            "10 cgroup=/a prio=3",
            "11 cgroup=/b prio=3",
            "12 cgroup=/c prio=3",
            "13 cgroup=/z prio=2"
        ]
    );
    assert!(resolved.waiting.is_empty());

    let running = runs("label=team=a", &["/a", "/b", "/c", "/d", "/e"]);
    let resolved = resolve(&config(&THREE), &state(&[]), Others::Give, &running);
    assert_eq!(resolved.config.rules.len(), 5);
    assert_eq!(
        resolved.waiting[0].to_string(),
        "rule '10 label=team=a prio=3' waits: 2 more cgroups have that name than the numbers \
         10 to 12 allow: give the next rule a higher number"
    );
}

/// What a name stands for has all else that the rule says.
#[test]
fn what_a_name_stands_for_counts_on_the_rules_node() {
    let rule = Rule::typed("10 label=team=a node=0000:c1:00.0/3 prio=3").unwrap();
    let mut wanted = config(&[]);
    wanted.rules.push(rule);
    let now = state(&[
        "11 cgroup=/b prio=3",
        "12 cgroup=/c node=0000:c1:00.0/3 prio=3",
    ]);
    let running = runs("label=team=a", &["/a", "/b", "/c"]);
    let resolved = resolve(&wanted, &now, Others::Give, &running);
    assert_eq!(
        texts(&resolved.config.rules),
        [
            "10 cgroup=/a node=0000:c1:00.0/3 prio=3",
            "11 cgroup=/b node=0000:c1:00.0/3 prio=3",
            "12 cgroup=/c node=0000:c1:00.0/3 prio=3"
        ]
    );
}

#[test]
fn a_name_that_stands_for_nothing_waits() {
    let resolved = resolve(&config(&THREE), &state(&[]), Others::Give, &Running::new());
    assert_eq!(
        texts(&resolved.config.rules),
        ["5 comm=x prio=1", "13 cgroup=/z prio=2"]
    );
    assert_eq!(
        resolved.waiting[0].to_string(),
        "rule '10 label=team=a prio=3' waits: nothing runs"
    );
}

#[test]
fn a_cgroup_keeps_its_number_and_new_ones_get_what_is_left() {
    let now = state(&[
        "10 cgroup=/gone prio=3",
        "11 cgroup=/b prio=3",
        "dead 12 cgroup=/c prio=3",
    ]);
    let running = runs("label=team=a", &["/a", "/b", "/c"]);
    let resolved = resolve(&config(&THREE[1..2]), &now, Others::Give, &running);
    assert_eq!(
        texts(&resolved.config.rules),
        [
            "10 cgroup=/a prio=3",
            "11 cgroup=/b prio=3",
            "12 cgroup=/c prio=3"
        ]
    );
    // The same cgroup twice, as nobody but a person would have it.
    let now = state(&["11 cgroup=/b prio=3", "12 cgroup=/b prio=3"]);
    let running = runs("label=team=a", &["/b"]);
    let resolved = resolve(&config(&THREE[1..2]), &now, Others::Give, &running);
    assert_eq!(texts(&resolved.config.rules), ["11 cgroup=/b prio=3"]);
    // One that does something else is replaced.
    let now = state(&["10 cgroup=/b prio=7"]);
    let resolved = resolve(&config(&THREE[1..2]), &now, Others::Give, &running);
    assert_eq!(texts(&resolved.config.rules), ["10 cgroup=/b prio=3"]);
}

#[test]
fn what_cannot_be_looked_up_stays_as_it_is() {
    let now = state(&["11 cgroup=/b prio=3", "dead 12 cgroup=/c prio=3"]);
    let running = runs("label=team=a", &[]);
    let resolved = resolve(&config(&THREE[1..2]), &now, Others::Give, &running);
    assert_eq!(texts(&resolved.config.rules), ["11 cgroup=/b prio=3"]);
    assert!(resolved.waiting[0]
        .to_string()
        .ends_with("a file is broken"));
}

#[test]
fn one_that_cannot_be_looked_up_stays_as_it_is_among_others() {
    let now = state(&[
        "10 cgroup=/b prio=3",
        "11 cgroup=/c prio=3",
        "12 cgroup=/gone prio=3",
    ]);
    let bytes = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    let mut find = |_: &_| Answer::Partly {
        paths: bytes(&["/a", "/c"]),
        unknown: bytes(&["/b", "/never"]),
        why: "a file is too long".into(),
    };
    let resolved = Resolved::new(&config(&THREE[1..2]), &now, Others::Give, &mut find);
    assert_eq!(
        texts(&resolved.config.rules),
        [
            "10 cgroup=/b prio=3",
            "11 cgroup=/c prio=3",
            "12 cgroup=/a prio=3"
        ]
    );
    assert!(resolved.waiting[0].to_string().ends_with("is too long"));
}

#[test]
fn rules_that_somebody_has_typed_keep_their_numbers_while_names_are_followed() {
    let now = state(&["10 comm=y prio=3", "12 cgroup=/q prio=4"]);
    let running = runs("label=team=a", &["/a", "/b"]);
    let rules = config(&THREE);
    let none = Given::new();
    let resolved = resolve(&rules, &now, Others::Stay(&none), &running);
    let own = |rule: &&Rule| resolved.origin(rule).is_some();
    let added: Vec<Rule> = resolved.config.rules.iter().filter(own).cloned().collect();
    assert_eq!(texts(&added), ["11 cgroup=/a prio=3"]);
    assert_eq!(resolved.waiting.len(), 1);
    let resolved = resolve(&rules, &now, Others::Give, &running);
    assert_eq!(
        texts(&resolved.config.rules)[1..3],
        ["10 cgroup=/a prio=3", "11 cgroup=/b prio=3"]
    );
    // Neither are they replaced where they could have been added for the name.
    let now = state(&["10 cgroup=/q prio=3", "dead 11 cgroup=/r prio=3"]);
    let own = Given::from(["11 cgroup=/r prio=3".to_owned()]);
    let resolved = resolve(&rules, &now, Others::Stay(&own), &running);
    let numbers: Vec<u32> = resolved.config.rules.iter().map(|rule| rule.id).collect();
    assert_eq!(numbers, [5, 11, 12, 13]);
}

#[test]
fn there_are_never_more_rules_than_the_kernel_takes() {
    let paths: Vec<String> = (0..MOST_RULES + 9).map(|n| format!("/{n:04}")).collect();
    let running = Running::from([("label=a=b", paths.clone()), ("container=x", paths)]);
    let rules = config(&[
        (1, "comm=x", 1),
        (2, "container=x", 3),
        (u32::MAX - 1, "label=a=b", 3),
    ]);
    let resolved = resolve(&rules, &state(&[]), Others::Give, &running);
    assert_eq!(resolved.config.rules.len(), MOST_RULES);
    assert_eq!(resolved.config.rules.last().unwrap().id, MOST_RULES as u32);
    assert_eq!(
        resolved.waiting[0].why,
        "there can be 256 rules, and 10 more are needed"
    );
    assert_eq!(
        resolved.waiting[1].why,
        "there can be 256 rules, and 265 more are needed"
    );
    // Those that somebody has typed take room as well.
    let typed: Vec<String> = (0..MOST_RULES)
        .map(|n| format!("{} comm=t prio=1", n + 500))
        .collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let none = Given::new();
    let resolved = resolve(&rules, &state(&typed), Others::Stay(&none), &running);
    assert_eq!(texts(&resolved.config.rules), ["1 comm=x prio=1"]);
    // The last number there is.
    let rules = config(&[(u32::MAX, "label=a=b", 3)]);
    let resolved = resolve(&rules, &state(&[]), Others::Give, &running);
    assert_eq!(
        texts(&resolved.config.rules),
        ["4294967295 cgroup=/0000 prio=3"]
    );
}

#[test]
fn a_unit_and_a_user_have_the_number_of_their_rule() {
    let running = Running::from([
        ("unit=a.service", vec!["/a".to_owned()]),
        ("user=7", vec!["/u".to_owned()]),
    ]);
    let rules = config(&[(1, "unit=a.service", 3), (9, "user=7", 3)]);
    let now = state(&["2 cgroup=/x prio=3", "10 cgroup=/y prio=3"]);
    let resolved = resolve(&rules, &now, Others::Give, &running);
    assert_eq!(
        texts(&resolved.config.rules),
        ["1 cgroup=/a prio=3", "9 cgroup=/u prio=3"]
    );
    for typed in &now.rules {
        assert_eq!(resolved.origin(&typed.rule), None);
    }
}

proptest! {
    /// Whatever comes and goes, what is there has one rule each, in the order of the
    /// file, and what is in force is not touched once it is right.
    #[test]
    fn what_is_followed_settles(
        steps in proptest::collection::vec(proptest::collection::btree_set(0u8..8, 1..8), 1..6),
        next in 11u32..20,
    ) {
        let rules = config(&[(5, "comm=x", 1), (10, "label=team=a", 3), (next, "comm=y", 2)]);
        let mut now = state(&[]);
        for step in steps {
            let paths: Vec<String> = step.iter().map(|n| format!("/{n}")).collect();
            let running = Running::from([("label=team=a", paths.clone())]);
            let resolved = resolve(&rules, &now, Others::Give, &running);
            let room = (next - 10) as usize;
            prop_assert_eq!(resolved.config.rules.len(), 2 + paths.len().min(room));
            prop_assert_eq!(resolved.waiting.is_empty(), paths.len() <= room);
            let ids: Vec<u32> = resolved.config.rules.iter().map(|rule| rule.id).collect();
            prop_assert!(ids.windows(2).all(|two| two[0] < two[1]), "{:?}", ids);
            prop_assert!(ids[0] == 5 && ids.last() == Some(&next));
            for one in &now.rules {
                let is_left = resolved.config.rules.iter().any(|rule| rule.subject == one.rule.subject);
                let keeps = resolved.config.rules.contains(&one.rule);
                prop_assert!(keeps || !is_left || paths.len() > room, "{}", one.rule);
            }
            let in_force = |rule: &Rule| InForce { rule: rule.clone(), dead: false };
            now.rules = resolved.config.rules.iter().map(in_force).collect();
            let again = resolve(&rules, &now, Others::Stay(&resolved.given()), &running);
            prop_assert!(differences(&now, &again.config).is_empty());
        }
    }
}
