// SPDX-License-Identifier: GPL-2.0-only
//! A deliberate bug in each rule must be caught by a named case. Each entry is
//! put into a copy of the policy, and the cases are played on that copy.
//!
//! `cargo test --test mutations -- --ignored`; a compiler run for each entry.
//! `GP_BUGS` restricts it to entries in whose file's or case's name it occurs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpreempt_host_tests::cases::CASES;

/// A bug: in which file, what becomes what, and the case that must fail.
struct Bug(&'static str, &'static str, &'static str, &'static str);

const BUGS: &[Bug] = &[
    Bug(
        "queue/queue.rs",
        "now.since(since) >= limits.grace && since < now",
        "since < now",
        "a waiting queue has the running one below it stopped when the grace is over",
    ),
    Bug(
        "pass/start.rs",
        "spent |= one.held() && one.is_spent();",
        "spent |= one.holds() && one.is_spent();",
        "what is stopped for a tenant without budget is started for that reason",
    ),
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory for the copy");
    for entry in fs::read_dir(from).expect("the sources") {
        let entry = entry.expect("a source");
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else if entry.path().extension().is_some_and(|kind| kind == "rs") {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
    }
}

#[test]
fn every_bug_has_one_place_and_a_case() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../rust/policy");
    for Bug(file, from, _, case) in BUGS {
        let source = fs::read_to_string(policy.join(file)).expect("a source");
        assert_eq!(source.matches(from).count(), 1, "{file}: {from:?}");
        assert!(CASES.iter().any(|named| named.name == *case), "{case:?}");
    }
}

#[test]
#[ignore = "a compiler run for each of many bugs"]
fn every_bug_is_caught_by_its_case() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let policy = here.join("../../../rust/policy");
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    let _ = fs::remove_dir_all(&work);
    let (copied, trial) = (work.join("policy"), work.join("trial"));
    copy(&policy, &copied);
    copy(&here.join("src"), &trial.join("src"));
    fs::create_dir_all(trial.join("tests")).expect("a directory");
    fs::copy(here.join("tests/cases.rs"), trial.join("tests/cases.rs")).expect("a copy");
    // The kernel's way of building is not needed here: a plain library.
    fs::write(
        copied.join("Cargo.toml"),
        "[package]\nname = \"gpreempt_policy\"\nedition = \"2021\"\n[lib]\npath = \"gpreempt_policy.rs\"\n",
    )
    .expect("a manifest");
    fs::write(
        trial.join("Cargo.toml"),
        "[package]\nname = \"gpreempt_host_tests\"\nedition = \"2021\"\n[dependencies]\ngpreempt_policy = { path = \"../policy\" }\n[workspace]\n",
    )
    .expect("a manifest");

    let play = || {
        let output = Command::new(env!("CARGO"))
            .args(["test", "--offline", "--test", "cases"])
            .current_dir(&trial)
            .env("CARGO_TARGET_DIR", work.join("target"))
            .output()
            .expect("cargo");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    let (sound, text) = play();
    assert!(sound, "the copy without a bug must pass: {text}");

    let only = std::env::var("GP_BUGS").unwrap_or_default();
    let wanted: Vec<_> = BUGS
        .iter()
        .filter(|Bug(file, _, _, case)| file.contains(&only) || case.contains(&only))
        .collect();
    assert!(!wanted.is_empty(), "no bug has {only:?} in its names");
    let mut escaped = Vec::new();
    for Bug(file, from, to, case) in &wanted {
        let path = copied.join(file);
        let source = fs::read_to_string(&path).expect("a source");
        let places = source.matches(from).count();
        if places != 1 {
            escaped.push(format!("{file}: {places} places have {from:?}"));
            continue;
        }
        fs::write(&path, source.replace(from, to)).expect("a bug");
        let (sound, text) = play();
        if text.contains("could not compile") {
            escaped.push(format!("{file}: {from:?} -> {to:?} does not compile"));
        } else if sound || !text.contains(&format!("case: {case:?}")) {
            escaped.push(format!(
                "{file}: {from:?} -> {to:?} is not caught by {case:?}"
            ));
        }
        fs::write(&path, source).expect("the bug removed");
    }
    assert!(
        escaped.is_empty(),
        "{} of {} bugs escape:\n{}",
        escaped.len(),
        wanted.len(),
        escaped.join("\n")
    );
}
