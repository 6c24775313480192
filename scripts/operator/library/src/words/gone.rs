// SPDX-License-Identifier: GPL-2.0-only
//! What versions before this one could be told and this one cannot, and what to write
//! instead.
//!
//! A configuration or an option of the module that says it is not refused for that: it
//! is said, and the rest counts.

use std::fmt;

use gpreempt_policy::{ChoiceSpec, CHOICES};

use crate::words::parameters;

/// What is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A parameter, whatever its value.
    Parameter(&'static str),
    /// One value of a parameter.
    Value(&'static str, &'static str),
    /// A word of a rule.
    RuleWord(&'static str),
    /// A parameter that one GPU had a value of its own for.
    OfOneGpu(&'static str),
}

impl fmt::Display for What {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Parameter(name) | What::RuleWord(name) => out.write_str(name),
            What::Value(name, value) => write!(out, "{name}={value}"),
            What::OfOneGpu(name) => write!(out, "{name} of one GPU"),
        }
    }
}

/// Something that is gone, with what is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    pub what: What,
    pub instead: &'static str,
}

impl fmt::Display for Gone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is gone: {}", self.what, self.instead)
    }
}

const fn parameter(name: &'static str, instead: &'static str) -> Gone {
    let what = What::Parameter(name);
    Gone { what, instead }
}

const fn value(name: &'static str, value: &'static str, instead: &'static str) -> Gone {
    let what = What::Value(name, value);
    Gone { what, instead }
}

const fn rule_word(name: &'static str, instead: &'static str) -> Gone {
    let what = What::RuleWord(name);
    Gone { what, instead }
}

/// Parameters with their values, and words of rules. A value stands before its parameter.
const GONE: &[Gone] = &[
    value("policy", "strict", "it is what the module does; remove the line"),
    value("policy", "fair", "give timeslice_us for turns within a level"),
    value(
        "policy",
        "deadline",
        "give the more urgent process a rule with a higher prio",
    ),
    parameter("policy", "levels decide, and timeslice_us gives turns within one; remove the line"),
    parameter(
        "fair_slice_us",
        "timeslice_us says how long the turns within a level are",
    ),
    parameter(
        "same_process",
        "no queue is stopped for one of its own process; remove the line",
    ),
    parameter(
        "idle_poll_us",
        "it is ten times poll_interval_us now; remove the line",
    ),
    parameter(
        "idle_poll_ms",
        "the creation of a queue wakes the module, or else it looks ten times a second; remove the line",
    ),
    parameter("expect_ms", "it is learned when work comes; remove the line"),
    parameter("resume_delay_us", "pauses are learned; remove the line"),
    parameter(
        "min_interval_us",
        "rule_overhead_percent and claim_overhead_percent bound the time that stops take",
    ),
    parameter(
        "max_switches_per_s",
        "rule_overhead_percent and claim_overhead_percent bound the time that stops take",
    ),
    parameter("switch_cost_us", "what a stop costs is measured; remove the line"),
    parameter(
        "cost_ratio",
        "a stop is weighed against the wait that it saves, and rule_overhead_percent and \
         claim_overhead_percent bound the time that stops take",
    ),
    parameter(
        "cool_down_ms",
        "the pause after no progress is 10 ms at first, and progress ends it; remove the line",
    ),
    parameter(
        "cool_down_max_ms",
        "the pause after no progress is a second at the most; remove the line",
    ),
    parameter(
        "retry_ms",
        "the pause after a failed transaction is 10 ms at first; remove the line",
    ),
    parameter(
        "retry_max_ms",
        "the pause after a failed transaction is 10 s at the most; remove the line",
    ),
    rule_word(
        "period_us",
        "give prio for a level, and timeslice_us for turns within it",
    ),
    rule_word(
        "budget_us",
        "give prio for a level, and timeslice_us for turns within it",
    ),
];

/// All of it: with the values of parameters that there are, which the module itself
/// refuses with the same words.
pub fn all() -> impl Iterator<Item = Gone> {
    let of_choice = |choice: &'static ChoiceSpec| {
        let all = choice.gone.iter();
        all.map(|&(word, instead)| value(choice.name, word, instead))
    };
    let values = CHOICES.iter().flat_map(of_choice);
    let others = parameters::names().filter(|name| *name != "mode");
    let of_one_gpu = others.map(|name| Gone {
        what: What::OfOneGpu(name),
        instead: "only mode can be another one there; write it below [parameters] for all GPUs",
    });
    GONE.iter().copied().chain(values).chain(of_one_gpu)
}

/// A parameter with a value, if the two are gone.
pub fn setting(name: &str, value: &str) -> Option<Gone> {
    all().find(|gone| match gone.what {
        What::Parameter(known) => known == name,
        What::Value(known, of) => known == name && of == value,
        What::RuleWord(_) | What::OfOneGpu(_) => false,
    })
}

/// A word of a rule, if it is gone.
pub fn word_of_rule(word: &str) -> Option<Gone> {
    all().find(|gone| matches!(gone.what, What::RuleWord(known) if known == word))
}

/// A parameter that one GPU can no longer have a value of its own for.
pub fn of_one_gpu(name: &str) -> Option<Gone> {
    all().find(|gone| matches!(gone.what, What::OfOneGpu(known) if known == name))
}
