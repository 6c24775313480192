// SPDX-License-Identifier: GPL-2.0-only

//! The list fits the sources, and what a guest prints is understood.

use std::fs;
use std::path::{Path, PathBuf};

use kfd_bugs::bugs::{Bug, BUGS};
use kfd_bugs::guest::{judge, Fate};
use kfd_bugs::tree;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn every_bug_has_one_place() {
    tree::check(&project(), BUGS).unwrap();
}

#[test]
fn every_bug_changes_something_and_has_words_of_its_own() {
    for (at, Bug(what, _, from, to, _)) in BUGS.iter().enumerate() {
        assert_ne!(from, to, "{what}");
        let again = BUGS[at + 1..].iter().find(|Bug(other, ..)| what == other);
        assert!(again.is_none(), "{what} is there twice");
    }
}

#[test]
fn every_suite_is_there() {
    let folder = project().join("tests/kunit");
    let sources = fs::read_dir(folder).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let is_rust = path.extension().is_some_and(|kind| kind == "rs");
        is_rust.then(|| fs::read_to_string(path).unwrap())
    });
    let sources: Vec<String> = sources.collect();
    for Bug(what, .., suites) in BUGS {
        for suite in suites.split(' ') {
            let declared = format!("kunit_tests(amd_gpreempt_{suite})");
            let there = sources.iter().any(|source| source.contains(&declared));
            assert!(there, "{what}: there is no suite {suite}");
        }
    }
}

#[test]
fn a_text_that_is_not_there_just_once_is_refused() {
    let of = |from: &'static str| {
        [Bug(
            "words",
            "rust/kfd/driver/census.rs",
            from,
            "other",
            "walk",
        )]
    };
    for (from, times) in [("no such text", 0), ("census", 0), ("self.faults", 6)] {
        let refused = tree::check(&project(), &of(from)).unwrap_err().to_string();
        assert!(
            refused.ends_with(&format!("is there {times} times")),
            "{refused}"
        );
    }
    let [outer] = of("self.faults == 0");
    let [inner] = of("faults == 0");
    let refused = tree::check(&project(), &[outer, inner])
        .unwrap_err()
        .to_string();
    assert!(
        refused.ends_with("is within that of another bug"),
        "{refused}"
    );
}

const ONE: &str = "kfd-bugs: begin 1
KTAP version 1
1..1
    KTAP version 1
    # Subtest: amd_gpreempt_walk
    1..2
    ok 1 first
    # 1 instead of 2
    not ok 2 second
not ok 1 amd_gpreempt_walk
kfd-bugs: end 1
";

const OTHER: &str = "[    4.804212] kfd-bugs: begin 2
[    4.804212] KTAP version 1
[    4.804212] 1..1
[    4.804212]     KTAP version 1
[    4.804212]     # Subtest: amd_gpreempt_walk
[    4.804212]     1..1
[    4.804212]     ok 1 first
[    4.804212] ok 1 amd_gpreempt_walk
kfd-bugs: end 2
";

fn fates(log: &str) -> Vec<(usize, Fate)> {
    judge(log, |_| vec!["amd_gpreempt_walk"])
}

fn noticed_by(by: &str) -> Fate {
    Fate::Noticed(vec![by.to_owned()])
}

#[test]
fn a_bug_is_noticed_by_the_tests_that_fail() {
    let log = format!("insmod: a line before\n{ONE}{OTHER}");
    let expected = [
        (1, noticed_by("amd_gpreempt_walk.second")),
        (2, Fate::Survived),
    ];
    assert_eq!(fates(&log), expected);
}

#[test]
fn what_stops_the_guest_is_noticed_and_what_did_not_run_is_not_tried() {
    let cut = OTHER.split_once("[    4.804212] ok 1").unwrap().0;
    let by = "amd_gpreempt_walk did not end; 1 tests did";
    assert_eq!(fates(cut), [(2, noticed_by(by))]);
    let complaint = format!("{cut}[    4.9] BUG: kernel NULL pointer dereference\n");
    let by = "BUG: kernel NULL pointer dereference";
    assert_eq!(fates(&complaint), [(2, noticed_by(by))]);

    let unknown = |why: &str| Fate::Unknown(why.into());
    let empty = "kfd-bugs: begin 7\nkfd-bugs: end 7\n";
    assert_eq!(
        fates(empty),
        [(7, unknown("amd_gpreempt_walk did not run"))]
    );
    let early = OTHER.strip_suffix("kfd-bugs: end 2\n").unwrap();
    assert_eq!(fates(early), [(2, unknown("the guest has ended early"))]);
    assert_eq!(fates("nothing of the kind\n"), []);
}
