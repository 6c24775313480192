// SPDX-License-Identifier: GPL-2.0-only
//! Changes the policy in about a thousand ways, one at a time, and names the changes
//! that no test notices: `gpreempt_mutants [--list] [TEXT...]`, from the project's
//! folder. TEXT restricts it to changes in whose names it occurs, as in `memory/`;
//! `--list` names the changes and plays nothing.
//!
//! All changes are compiled at once, each asleep until its number is given, so that
//! one build serves for all. What was judged is in `judged.txt`; anything else that
//! goes unnoticed is an error, and so is a judgement that is not true.

mod change;
mod judged;
mod play;
mod trial;
mod writer;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{bail, ensure, Result};

use change::Change;
use judged::Judgement;
use play::Verdict;

/// The changes that no test notices and that were judged.
pub const JUDGED: &str = include_str!("../judged.txt");

/// What is wrong with what became of a change, if anything.
fn complaint(verdict: Verdict, judgement: Option<Judgement>) -> Option<&'static str> {
    use Judgement::{Equivalent, Open};
    match (verdict, judgement) {
        (Verdict::Noticed | Verdict::Hangs | Verdict::Broken, None) => None,
        (Verdict::Differs | Verdict::Same, Some(Open)) => None,
        (Verdict::Same, Some(Equivalent)) => None,
        (Verdict::Differs | Verdict::Same, None) => {
            Some("no test notices it: write one, or judge it in judged.txt")
        }
        (Verdict::Noticed | Verdict::Hangs | Verdict::Broken, Some(_)) => {
            Some("a test notices it: take it out of judged.txt")
        }
        (Verdict::Differs, Some(Equivalent)) => {
            Some("it is not equivalent: a random life goes another way")
        }
    }
}

/// Plays changes, prints what was found, and says how many are not as they should be.
fn try_all(project: &std::path::Path, texts: &[String]) -> Result<usize> {
    let judged = judged::read(JUDGED)?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let trial = PathBuf::from(target).join("mutants");
    let changes = trial::lay_out(project, &trial)?;
    let wanted: Vec<&Change> = select(&changes, texts);
    ensure!(
        !wanted.is_empty(),
        "no change has any of {texts:?} in its name"
    );
    let suites = play::build(&trial)?;
    let verdicts = play::play_all(&suites, &wanted)?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut complaints = 0;
    for (change, verdict) in wanted.iter().zip(verdicts) {
        let judgement = judged.get(change.name.as_str()).copied();
        let judged_as = judgement.map_or(String::new(), |it| format!(", {it:?}"));
        *counts.entry(format!("{verdict:?}{judged_as}")).or_default() += 1;
        if let Some(complaint) = complaint(verdict, judgement) {
            complaints += 1;
            println!("rust/policy/{}:{}: {complaint}", change.file, change.line);
            println!("    {}", change.name);
        } else if verdict == Verdict::Broken {
            println!(
                "rust/policy/{}:{}: only random lives notice it",
                change.file, change.line
            );
            println!("    {}", change.name);
        }
    }
    for (what, count) in counts {
        println!("{count:5} {what}");
    }
    println!("{} passed, {complaints} failed", wanted.len() - complaints);
    Ok(complaints)
}

/// The changes in whose names one of these texts occurs; all without a text.
fn select<'c>(changes: &'c [Change], texts: &[String]) -> Vec<&'c Change> {
    let named =
        |change: &&Change| texts.is_empty() || texts.iter().any(|text| change.name.contains(text));
    changes.iter().filter(named).collect()
}

fn main() -> Result<()> {
    let mut list = false;
    let mut texts = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--list" => list = true,
            other if other.starts_with('-') => bail!("usage: gpreempt_mutants [--list] [TEXT...]"),
            _ => texts.push(argument),
        }
    }
    let project = std::env::current_dir()?;
    ensure!(
        project.join("rust/policy").is_dir(),
        "there is no rust/policy here: run it in the project's folder"
    );
    if list {
        let changes = trial::changes(&project)?;
        for change in select(&changes, &texts) {
            println!(
                "rust/policy/{}:{}: {}",
                change.file, change.line, change.name
            );
        }
        return Ok(());
    }
    if try_all(&project, &texts)? > 0 {
        std::process::exit(1);
    }
    Ok(())
}
