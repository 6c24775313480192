// SPDX-License-Identifier: GPL-2.0-only

//! Recorded logs of real runs, and logs with one thing wrong each.

use crate::report::judge;

const GOOD: &str = include_str!("../logs/good.log");

/// The closing lines of a report on one suite.
fn report(log: &str) -> String {
    judge(log, &["amd_gpreempt_policy".to_owned()]).to_string()
}

fn assert_ends(log: &str, verdict: &str, reason: &str) {
    let report = report(log);
    assert_eq!(report.lines().last(), Some(verdict), "{report}");
    assert!(report.contains(reason), "'{reason}' is not in\n{report}");
}

#[test]
fn a_good_run_passes() {
    let report = judge(GOOD, &["amd_gpreempt_policy".to_owned()]);
    assert_eq!((report.passed(), report.failed()), (3, 0), "{report}");
    assert_eq!(
        report.to_string().lines().last(),
        Some("3 passed, 0 failed")
    );
}

#[test]
fn a_failed_test_is_shown_with_what_it_said() {
    let log = include_str!("../logs/failed.log");
    assert_ends(
        log,
        "2 passed, 1 failed",
        "FAILED amd_gpreempt_policy.time_does_not_overflow",
    );
    assert!(
        report(log).contains("ASSERTION FAILED at tests/kunit/suite.rs:"),
        "{}",
        report(log)
    );
}

#[test]
fn every_kind_of_complaint_fails_a_run_whose_tests_pass() {
    for (log, reason) in [
        (include_str!("../logs/warning.log"), "WARNING: "),
        (
            include_str!("../logs/sleep.log"),
            "BUG: scheduling while atomic",
        ),
        (
            include_str!("../logs/deadlock.log"),
            "WARNING: possible recursive locking detected",
        ),
        (include_str!("../logs/leak.log"), "unreferenced object "),
        (include_str!("../logs/overflow.log"), "BUG kmalloc-"),
    ] {
        let report = judge(log, &["amd_gpreempt_policy".to_owned()]);
        assert!(
            report.to_string().contains(reason),
            "'{reason}' is not in\n{report}"
        );
        assert!(report.passed() > 0 && report.failed() > 0, "{report}");
    }
}

#[test]
fn a_panic_fails_its_test_and_is_shown() {
    let log = include_str!("../logs/panic.log");
    assert_ends(
        log,
        "2 passed, 3 failed",
        "FAILED amd_gpreempt_policy.user_priority_is_judged",
    );
    assert!(
        report(log).contains("panicked at tests/kunit/suite.rs"),
        "{}",
        report(log)
    );
}

#[test]
fn lost_memory_is_counted_and_shown_once() {
    let report = report(include_str!("../logs/leak.log"));
    assert!(report.contains("20 pieces of memory were lost"), "{report}");
    assert_eq!(report.matches("unreferenced object").count(), 1, "{report}");
    assert_eq!(
        report.lines().last(),
        Some("3 passed, 1 failed"),
        "{report}"
    );
}

#[test]
fn a_good_log_cut_anywhere_fails() {
    let whole: Vec<&str> = GOOD.lines().collect();
    let end = whole
        .iter()
        .position(|line| line.contains("kunit: end"))
        .unwrap();
    for len in 0..end {
        let report = judge(
            &whole[..len].join("\n"),
            &["amd_gpreempt_policy".to_owned()],
        );
        assert!(report.failed() > 0, "cut after {len} lines:\n{report}");
    }
}

#[test]
fn a_good_log_without_any_one_line_of_the_protocol_fails() {
    let whole: Vec<&str> = GOOD.lines().collect();
    let protocol = |line: &&str| {
        let text = crate::console::strip(line);
        crate::ktap::is_protocol(text) && text.trim() != "KTAP version 1" && text != "1..1"
    };
    let places: Vec<usize> = (0..whole.len())
        .filter(|&at| protocol(&whole[at]))
        .collect();
    assert_eq!(
        places.len(),
        6,
        "header, plan, three results and the verdict"
    );
    for at in places {
        let mut lines = whole.clone();
        let gone = lines.remove(at);
        let report = judge(&lines.join("\n"), &["amd_gpreempt_policy".to_owned()]);
        assert!(report.failed() > 0, "without '{gone}':\n{report}");
    }
}

#[test]
fn a_suite_that_did_not_run_is_missed() {
    let expected = ["amd_gpreempt_policy", "amd_gpreempt_walk"].map(str::to_owned);
    let report = judge(GOOD, &expected);
    assert_eq!((report.passed(), report.failed()), (3, 1));
    assert!(report
        .to_string()
        .contains("the suite amd_gpreempt_walk did not run"));
}

const HEAD: &str = "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: amd_gpreempt_policy\n";

#[test]
fn plans_and_numbers_must_hold() {
    for (body, verdict, reason) in [
        (
            "    1..2\n    ok 1 a\nok 1 amd_gpreempt_policy\n",
            "1 passed, 1 failed",
            "announced 2",
        ),
        (
            "    1..0\nok 1 amd_gpreempt_policy\n",
            "0 passed, 1 failed",
            "has no tests",
        ),
        (
            "    1..2\n    ok 1 a\n    ok 3 b\nok 1 amd_gpreempt_policy\n",
            "2 passed, 1 failed",
            "out of order",
        ),
        (
            "    1..1\n    ok 1 a\nnot ok 1 amd_gpreempt_policy\n",
            "1 passed, 1 failed",
            "though none of its tests did",
        ),
        (
            "    1..1\n    ok 1 a\n",
            "1 passed, 1 failed",
            "did not end; 1 of its tests did",
        ),
    ] {
        assert_ends(&format!("{HEAD}{body}kunit: end\n"), verdict, reason);
    }
}

#[test]
fn skipped_tests_are_neither() {
    let body = "    1..2\n    ok 1 a # SKIP no memory\n    ok 2 b\nok 1 amd_gpreempt_policy\n";
    assert_ends(
        &format!("{HEAD}{body}kunit: end\n"),
        "1 passed, 0 failed",
        "1 skipped",
    );
}

#[test]
fn parameters_are_part_of_their_test() {
    let body = "    1..1\n        KTAP version 1\n        # Subtest: a\n        ok 1 x\n        \
                not ok 2 y\n    not ok 1 a\nnot ok 1 amd_gpreempt_policy\n";
    assert_ends(
        &format!("{HEAD}{body}kunit: end\n"),
        "0 passed, 1 failed",
        "not ok 2 y",
    );
}

#[test]
fn a_suite_that_cannot_start_fails() {
    let log = "KTAP version 1\n1..1\nnot ok 1 amd_gpreempt_policy\nkunit: end\n";
    assert_ends(log, "0 passed, 1 failed", "though none of its tests did");
    let log = "KTAP version 1\n1..1\nok 1 amd_gpreempt_policy # SKIP\nkunit: end\n";
    assert_ends(log, "0 passed, 1 failed", "was skipped");
}

#[test]
fn errors_of_the_guest_count() {
    let log = GOOD.replace("kunit: end", "kunit: error: it went wrong\nkunit: end");
    assert_ends(&log, "3 passed, 1 failed", "FAILED it went wrong");
}

#[test]
fn notes_of_a_test_are_no_complaints() {
    let body = "    1..1\n    # a: WARNING: only words\n    BUG: quoted\n    ok 1 a\n\
                ok 1 amd_gpreempt_policy\n";
    assert_ends(
        &format!("{HEAD}{body}kunit: end\n"),
        "1 passed, 0 failed",
        "1 passed",
    );
}

#[test]
fn time_stamps_and_carriage_returns_do_not_matter() {
    for (raw, text) in [
        ("[    1.234567]     ok 1 a\r", "    ok 1 a"),
        ("[12345.000001] x", "x"),
        ("[    1.234567]", ""),
        ("[not a stamp] x", "[not a stamp] x"),
        ("[1] x", "[1] x"),
        ("old\rnew", "new"),
        ("plain", "plain"),
    ] {
        assert_eq!(crate::console::strip(raw), text, "{raw:?}");
    }
}

#[test]
fn anything_at_all_is_judged_and_nothing_passes() {
    for log in [
        "",
        "\n\n\n",
        "ok",
        "not ok",
        "ok 1",
        "1..",
        "    1..x\n",
        "ok 99999999999999999999 a",
    ] {
        assert!(judge(log, &["a".to_owned()]).failed() > 0, "{log:?}");
    }
}
