// SPDX-License-Identifier: GPL-2.0-only

//! What a guest says of the bugs that it was given, one after the other.

use kunit_report::ktap::{self, Outcome};
use kunit_report::{console, splat};

/// What the guest prints before it puts a bug in, with its number.
const BEGIN: &str = "kfd-bugs: begin ";
/// What it prints after that.
const END: &str = "kfd-bugs: end ";

/// What became of a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// By which tests it was noticed, or else by what complaint of the kernel.
    Noticed(Vec<String>),
    /// Every test has passed.
    Survived,
    /// Not every suite has run, for a reason that is not the bug's.
    Unknown(String),
}

/// The bugs that a guest has begun with, in order, and what became of each. The last one
/// may have taken the guest with it.
pub fn judge<'s>(log: &str, suites: impl Fn(usize) -> Vec<&'s str>) -> Vec<(usize, Fate)> {
    let lines: Vec<&str> = log.lines().map(console::strip).collect();
    let begins = |line: &&str| line.starts_with(BEGIN);
    let Some(first) = lines.iter().position(begins) else {
        return Vec::new();
    };
    let mut fates = Vec::new();
    let mut rest = &lines[first..];
    while let Some((begin, behind)) = rest.split_first() {
        let next = behind.iter().position(begins);
        let (of_bug, others) = behind.split_at(next.unwrap_or(behind.len()));
        if let Ok(number) = begin[BEGIN.len()..].trim().parse() {
            fates.push((number, fate(of_bug, &suites(number))));
        }
        rest = others;
    }
    fates
}

fn fate(lines: &[&str], expected: &[&str]) -> Fate {
    let suites = ktap::parse(lines.iter().copied());
    let mut noticed = Vec::new();
    for suite in &suites {
        let failed = suite.cases.iter();
        let failed = failed.filter(|case| case.outcome == Outcome::Failed);
        noticed.extend(failed.map(|case| format!("{}.{}", suite.name, case.name)));
    }
    if noticed.is_empty() {
        let complaints = splat::find(lines).into_iter();
        noticed.extend(complaints.filter_map(|splat| splat.into_iter().next()));
    }
    if !noticed.is_empty() {
        return Fate::Noticed(noticed);
    }
    let ended = lines.iter().any(|line| line.starts_with(END));
    if let Some(begun) = suites.iter().find(|suite| suite.outcome.is_none()) {
        // It hangs, or has taken the kernel with it.
        let ran = begun.cases.len();
        return Fate::Noticed(vec![format!("{} did not end; {ran} tests did", begun.name)]);
    }
    let passed = |name: &&str| {
        let mut named = suites.iter().filter(|suite| suite.name == **name);
        named.any(|suite| suite.outcome == Some(Outcome::Passed) && !suite.cases.is_empty())
    };
    match expected.iter().find(|name| !passed(name)) {
        Some(missing) => Fate::Unknown(format!("{missing} did not run")),
        None if !ended => Fate::Unknown("the guest has ended early".into()),
        None => Fate::Survived,
    }
}
