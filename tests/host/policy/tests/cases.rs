// SPDX-License-Identifier: GPL-2.0-only
//! Plays every written-down case.

use gpreempt_host_tests::cases::{Bench, CASES};
use gpreempt_host_tests::Vectors;

#[test]
fn every_case_goes_as_written() {
    let failures: Vec<String> = CASES
        .iter()
        .filter_map(|case| Bench::new(Vectors::new(16)).play(case).err())
        .map(|failure| format!("{failure:?}"))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn no_two_cases_have_the_same_name() {
    let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CASES.len());
}
