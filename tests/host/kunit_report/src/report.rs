// SPDX-License-Identifier: GPL-2.0-only

//! The verdict over a whole run, as a person reads it.

use std::fmt;

use crate::ktap::{self, Case, Outcome, Suite};
use crate::{console, splat};

/// What the guest prints when it has done everything.
pub const END: &str = "kunit: end";

/// The verdict.
#[derive(Debug)]
pub struct Report {
    suites: Vec<Suite>,
    /// What is wrong beside tests that say so themselves.
    problems: Vec<String>,
}

/// Judges a log in which each of `expected` has to appear.
pub fn judge(log: &str, expected: &[String]) -> Report {
    let lines: Vec<&str> = log.lines().map(console::strip).collect();
    let suites = ktap::parse(lines.iter().copied());
    let mut problems = Vec::new();
    for name in expected {
        if !suites.iter().any(|suite| suite.name == *name) {
            problems.push(format!("the suite {name} did not run"));
        }
    }
    for suite in &suites {
        problems.extend(check(suite));
    }
    for splat in splat::find(&lines) {
        problems.push(format!(
            "the kernel complains:\n      {}",
            splat.join("\n      ")
        ));
    }
    for line in &lines {
        if let Some(error) = line.strip_prefix("kunit: error: ") {
            problems.push(error.into());
        }
    }
    if !lines.contains(&END) {
        let last = lines.iter().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or("it is empty".into(), |line| {
            format!("its last line is '{line}'")
        });
        problems.push(format!("the log ends before the end of the run: {last}"));
    }
    Report { suites, problems }
}

/// What is wrong with a suite as a whole.
fn check(suite: &Suite) -> Option<String> {
    let name = &suite.name;
    let ran = suite.cases.len();
    let in_order = suite
        .cases
        .iter()
        .zip(1..)
        .all(|(case, number)| case.number == number);
    let failed = suite
        .cases
        .iter()
        .any(|case| case.outcome == Outcome::Failed);
    match (suite.planned, suite.outcome) {
        (_, None) => Some(format!(
            "the suite {name} did not end; {ran} of its tests did"
        )),
        (_, Some(Outcome::Skipped)) => Some(format!("the suite {name} was skipped")),
        (Some(planned), _) if planned != ran => Some(format!(
            "the suite {name} announced {planned} tests and ran {ran}"
        )),
        (_, Some(Outcome::Failed)) if !failed => Some(format!(
            "the suite {name} failed, though none of its tests did"
        )),
        (None, _) => Some(format!("the suite {name} did not announce its tests")),
        _ if !in_order => Some(format!("the tests of the suite {name} are out of order")),
        _ if ran == 0 => Some(format!("the suite {name} has no tests")),
        _ => None,
    }
}

impl Report {
    fn cases(&self, outcome: Outcome) -> impl Iterator<Item = (&Suite, &Case)> {
        let all = self
            .suites
            .iter()
            .flat_map(|suite| suite.cases.iter().map(move |c| (suite, c)));
        all.filter(move |(_, case)| case.outcome == outcome)
    }

    pub fn passed(&self) -> usize {
        self.cases(Outcome::Passed).count()
    }

    /// Failed tests, and everything else that is wrong.
    pub fn failed(&self) -> usize {
        self.cases(Outcome::Failed).count() + self.problems.len()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for suite in &self.suites {
            let count = |outcome| suite.cases.iter().filter(|c| c.outcome == outcome).count();
            write!(f, "{:<40} {:>4} passed", suite.name, count(Outcome::Passed))?;
            write!(f, " {:>4} failed", count(Outcome::Failed))?;
            match count(Outcome::Skipped) {
                0 => writeln!(f)?,
                skipped => writeln!(f, " {skipped:>4} skipped")?,
            }
        }
        for (suite, case) in self.cases(Outcome::Failed) {
            writeln!(f, "  FAILED {}.{}", suite.name, case.name)?;
            for note in &case.notes {
                writeln!(f, "      {note}")?;
            }
        }
        for problem in &self.problems {
            writeln!(f, "  FAILED {problem}")?;
        }
        writeln!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}
