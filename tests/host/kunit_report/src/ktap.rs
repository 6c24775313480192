// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's test protocol, as KUnit prints it.
//!
//! ```text
//! KTAP version 1
//! 1..1
//!     KTAP version 1
//!     # Subtest: suite
//!     1..2
//!     ok 1 first
//!     # second: ASSERTION FAILED at file.rs:7
//!     not ok 2 second
//! not ok 1 suite
//! ```
//! Deeper levels are the parameters of one test, whose result is the test's.

/// How a test or a suite ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// One test of a suite.
#[derive(Debug, PartialEq, Eq)]
pub struct Case {
    pub number: usize,
    pub name: String,
    pub outcome: Outcome,
    /// What it said while it ran; what the kernel said then is not indented.
    pub notes: Vec<String>,
}

/// One suite, from its header to its verdict.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Suite {
    pub name: String,
    /// The number of tests it announced.
    pub planned: Option<usize>,
    pub cases: Vec<Case>,
    /// `None` when the log ends before it.
    pub outcome: Option<Outcome>,
}

/// A line of the protocol with its depth of nesting.
enum Line<'a> {
    Header(&'a str),
    Plan(usize),
    Result {
        number: usize,
        name: &'a str,
        outcome: Outcome,
    },
}

/// How deep a line is nested.
pub fn depth(line: &str) -> usize {
    (line.len() - line.trim_start_matches(' ').len()) / 4
}

fn parse_line(text: &str) -> Option<Line<'_>> {
    if let Some(name) = text.strip_prefix("# Subtest: ") {
        return Some(Line::Header(name.trim()));
    }
    if let Some(plan) = text.strip_prefix("1..") {
        return plan.trim().parse().ok().map(Line::Plan);
    }
    let (failed, rest) = match text.strip_prefix("not ok ") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("ok ")?),
    };
    let (number, rest) = rest.split_once(' ')?;
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let skipped = directive
        .get(..4)
        .is_some_and(|word| word.eq_ignore_ascii_case("SKIP"));
    let outcome = match (failed, skipped) {
        (true, _) => Outcome::Failed,
        (false, true) => Outcome::Skipped,
        (false, false) => Outcome::Passed,
    };
    Some(Line::Result {
        number: number.parse().ok()?,
        name: name.trim(),
        outcome,
    })
}

/// Whether a line belongs to the protocol itself.
pub fn is_protocol(line: &str) -> bool {
    let text = line.trim_start();
    text == "KTAP version 1" || parse_line(text).is_some()
}

/// All suites in a log whose lines carry no time stamps any more.
pub fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Suite> {
    let mut suites = Vec::new();
    let mut open: Option<Suite> = None;
    let mut notes: Vec<String> = Vec::new();
    for line in lines {
        let depth = depth(line);
        let text = line.trim();
        match (parse_line(text), depth) {
            (Some(Line::Header(name)), 1) => {
                suites.extend(open.replace(Suite {
                    name: name.into(),
                    ..Suite::default()
                }));
                notes.clear();
            }
            (Some(Line::Plan(count)), 1) => {
                if let Some(suite) = &mut open {
                    suite.planned = Some(count);
                }
            }
            (
                Some(Line::Result {
                    number,
                    name,
                    outcome,
                }),
                1,
            ) => {
                if let Some(suite) = &mut open {
                    let notes = std::mem::take(&mut notes);
                    suite.cases.push(Case {
                        number,
                        name: name.into(),
                        outcome,
                        notes,
                    });
                }
            }
            (Some(Line::Result { name, outcome, .. }), 0) => {
                // A verdict without a header: the suite could not start.
                let mut suite = match open.take() {
                    Some(suite) if suite.name == name => suite,
                    other => {
                        suites.extend(other);
                        Suite {
                            name: name.into(),
                            ..Suite::default()
                        }
                    }
                };
                suite.outcome = Some(outcome);
                suites.push(suite);
                notes.clear();
            }
            _ if open.is_some() && depth > 0 && text != "KTAP version 1" => {
                notes.push(text.into());
            }
            _ => {}
        }
    }
    suites.extend(open);
    suites
}
