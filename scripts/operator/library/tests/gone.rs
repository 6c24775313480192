// SPDX-License-Identifier: GPL-2.0-only
//! What versions before could be told: each name is said with its own words, and the rest
//! of a configuration counts.

use std::collections::BTreeSet;

use gpreempt_operator::configuration::config::Config;
use gpreempt_operator::words::gone::{all, setting, word_of_rule, Gone, What};
use gpreempt_operator::words::parameters;
use gpreempt_operator::words::rule::Rule;
use gpreempt_operator::words::table::Fault;
use gpreempt_policy::{choice, RuleText};

/// The parameters of the version that had policies, of which each is still there or in
/// the table.
const BEFORE: [&str; 29] = [
    "mode",
    "policy",
    "user_priority",
    "same_process",
    "sampler",
    "backend",
    "transaction",
    "timeslice_us",
    "poll_interval_us",
    "idle_poll_us",
    "idle_poll_ms",
    "expect_ms",
    "grace_us",
    "min_run_us",
    "resume_delay_us",
    "max_stop_ms",
    "noprogress_ms",
    "min_interval_us",
    "max_switches_per_s",
    "switch_cost_us",
    "cost_ratio",
    "stop_budget_ms",
    "cool_down_ms",
    "cool_down_max_ms",
    "retry_ms",
    "retry_max_ms",
    "disarm_after",
    "hint_limit_us",
    "fair_slice_us",
];

/// What a configuration says that is gone, each as `line:column: what`.
fn said(config: &Config) -> Vec<String> {
    let line = |fault: &Fault| format!("{}:{}: {}", fault.line, fault.column, fault.what);
    config.gone.iter().map(line).collect()
}

#[test]
fn every_parameter_of_before_is_there_or_in_the_table_and_never_both() {
    let now: BTreeSet<&str> = parameters::names().collect();
    for name in BEFORE {
        let is_gone = setting(name, "anything").is_some();
        assert_ne!(now.contains(name), is_gone, "{name}");
    }
    for gone in all() {
        match gone.what {
            What::Parameter(name) => {
                assert!(BEFORE.contains(&name) && !now.contains(name), "{name}");
            }
            What::Value(name, value) => {
                assert!(BEFORE.contains(&name), "{name}");
                let words = choice(name).map_or(&[][..], |choice| choice.words);
                assert!(!words.contains(&value), "{name}={value}");
                assert!(
                    parameters::canonical(name, value).is_err(),
                    "{name}={value}"
                );
            }
            What::OfOneGpu(name) => assert!(name != "mode" && now.contains(name), "{name}"),
            What::RuleWord(word) => {
                let rule = format!("1 pid=1 prio=1 {word}=1");
                assert!(RuleText::parse(&rule).is_err(), "{rule}");
                assert!(!now.contains(word), "{word}");
            }
        }
    }
}

#[test]
fn nothing_that_there_is_counts_as_gone() {
    for (name, value) in parameters::defaults() {
        assert_eq!(setting(name, &value), None, "{name}={value}");
        for value in choice(name).map_or(&[][..], |choice| choice.words) {
            assert_eq!(setting(name, value), None, "{name}={value}");
        }
    }
    for word in [
        "id",
        "comm",
        "cgroup",
        "prio",
        "timeslice_us",
        "stop_budget_ms",
        "exempt",
    ] {
        assert_eq!(word_of_rule(word), None, "{word}");
    }
    assert_eq!(setting("period_us", "1"), None, "it was no parameter");
    assert_eq!(word_of_rule("retry_ms"), None, "it was no word of a rule");
}

#[test]
fn each_has_its_own_words_and_they_name_only_what_there_is() {
    let names: BTreeSet<What> = all().map(|gone| gone.what).collect();
    assert_eq!(names.len(), all().count(), "one entry for each");
    for (at, gone) in all().enumerate() {
        // A value behind its parameter would never be found.
        if let What::Value(name, value) = gone.what {
            assert_eq!(setting(name, value), Some(gone), "entry {at}");
        }
        let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
        let words = gone.instead.split(|c| !is_word(c));
        for word in words.filter(|word| word.contains('_') && *word != "sched_policy") {
            assert!(parameters::names().any(|name| name == word), "{gone}");
        }
        assert!(
            gone.instead.len() > 10 && !gone.instead.ends_with('.'),
            "{gone}"
        );
    }
    let of = |name, value| setting(name, value).map(|gone| gone.to_string());
    assert_eq!(
        of("resume_delay_us", "300").as_deref(),
        Some("resume_delay_us is gone: pauses are learned; remove the line")
    );
    assert_eq!(
        of("policy", "fair").as_deref(),
        Some("policy=fair is gone: give timeslice_us for turns within a level")
    );
}

/// A line of a file that says this.
fn line(gone: &Gone) -> String {
    match gone.what {
        What::Parameter(name) | What::RuleWord(name) | What::OfOneGpu(name) => {
            format!("{name} = 3\n")
        }
        What::Value(name, value) => format!("{name} = \"{value}\"\n"),
    }
}

#[test]
fn each_is_said_where_it_stands_and_the_rest_of_the_file_counts() {
    for gone in all() {
        let text = match gone.what {
            What::RuleWord(_) => {
                format!("[[rule]]\n{}id = 4\ncomm = \"x\"\nprio = 3\n", line(&gone))
            }
            What::OfOneGpu(_) => {
                let gpu = "[gpu.\"0000:c1:00.0\"]";
                format!("{gpu}\n{}[parameters]\ngrace_us = 77\n", line(&gone))
            }
            _ => format!("[parameters]\n{}grace_us = 77\n", line(&gone)),
        };
        let config = Config::parse(&text).unwrap();
        assert_eq!(said(&config), [format!("2:1: {gone}")]);
        match gone.what {
            What::RuleWord(_) => {
                let rules: Vec<String> = config.rules.iter().map(Rule::to_string).collect();
                assert_eq!(rules, ["4 comm=x prio=3"]);
            }
            _ => {
                assert_eq!(config.parameters["grace_us"], "77");
                assert_eq!(config.parameters["backend"], "hws");
            }
        }
    }
}

#[test]
fn a_gpu_and_the_top_of_the_file_are_told_too() {
    let text = "policy = \"fair\"\n[gpu.\"0000:c1:00.0\"]\nretry_ms = 5\ngrace_us = 9\n\
        mode = \"off\"\n[gpu.\"0000:c2:00.0\"]\nexpect_ms = 1\n";
    let config = Config::parse(text).unwrap();
    let starts = [
        "1:1: policy=fair",
        "3:1: retry_ms",
        "4:1: grace_us of one GPU",
        "7:1: expect_ms",
    ];
    let said = said(&config);
    assert_eq!(said.len(), starts.len(), "{said:?}");
    for (said, start) in said.iter().zip(starts) {
        assert!(said.starts_with(&format!("{start} is gone: ")), "{said}");
    }
    assert_eq!(
        config.gpus.len(),
        1,
        "a table in which all is gone says nothing"
    );
    assert_eq!(config.gpus["0000:c1:00.0"], "off");
}

#[test]
fn a_rule_that_only_reserved_is_left_out_with_a_word_about_it() {
    let text = "[[rule]]\nid = 4\ncomm = \"x\"\nperiod_us = 9\nbudget_us = 8\n\
        [[rule]]\nid = 5\ncomm = \"y\"\nexempt = true\n";
    let config = Config::parse(text).unwrap();
    let rules: Vec<String> = config.rules.iter().map(Rule::to_string).collect();
    assert_eq!(rules, ["5 comm=y exempt"]);
    let said = said(&config);
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(
        said[0],
        "1:1: rule 4 does nothing without what is gone and is left out"
    );
    // One that is wrong besides is a fault as before.
    let wrong = Config::parse("[[rule]]\nid = 4\nperiod_us = 9\nprio = 99\n").unwrap_err();
    assert_eq!((wrong.len(), wrong[0].line), (1, 4), "{wrong:?}");
}

#[test]
fn what_is_gone_is_no_part_of_what_a_file_says() {
    let with = Config::parse("mode = \"enforce\"\n[parameters]\npolicy = \"fair\"\n").unwrap();
    let without = Config::parse("mode = \"enforce\"\n").unwrap();
    let text = gpreempt_operator::configuration::file_text::toml(&with);
    assert_eq!(
        text,
        gpreempt_operator::configuration::file_text::toml(&without)
    );
}
