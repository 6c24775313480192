// SPDX-License-Identifier: GPL-2.0-only
//! `gpreempt explain` on a tree of files.

mod host;

use host::{Host, DEBUGFS, QUEUES, STATS};
use serde_json::Value;

fn event(time: u64, pid: u64, what: &str, why: &str, age: u64, fate: &str, whom: u64) -> String {
    let whom = match whom {
        0 => "null".to_owned(),
        pid => format!(r#"{{"pid":{pid},"queue":1}}"#),
    };
    format!(
        r#"{{"time_ns":{time},"gpu":"0000:01:00.0","node":0,"pid":{pid},"queue":1,"eff_prio":2,"action":"{what}","reason":"{why}","age_ns":{age},"fate":"{fate}","for":{whom}}}"#
    )
}

fn explained(events: &[String]) -> Host {
    let host = Host::with_module();
    let table = format!(r#"{{"schema":1,"events":[{}]}}"#, events.join(","));
    host.file(&format!("{DEBUGFS}/events.json"), &table);
    host.file(
        &format!("{DEBUGFS}/rules.json"),
        r#"{"schema":1,"rules":[{"id":4,"text":"4 comm=infer prio=12","dead":false}]}"#,
    );
    for (name, value) in [("max_stop_ms", "100"), ("timeslice_us", "300")] {
        host.file(&format!("sys/module/amd_gpreempt/parameters/{name}"), value);
    }
    host
}

fn story() -> Host {
    explained(&[
        event(1_000, 20, "stop", "inversion", 30_000, "done", 10),
        event(2_000, 20, "start", "turn", 900_000, "done", 0),
        event(3_000, 20, "stop", "inversion", 50_000, "done", 10),
        event(4_000, 20, "start", "bound", 100_000_000, "done", 0),
        event(60_000_005_000, 20, "stop", "inversion", 40_000, "done", 10),
        event(6_000, 77, "stop", "rotation", 40_000, "failed", 78),
    ])
}

#[test]
fn the_victim_hears_by_whom_why_and_what_decides_it() {
    let text = story().says("explain|20");
    for line in [
        "Queue 1 of train on 0000:01:00.0/0 is stopped, for infer (10), because work of higher priority waited; it has priority 2, its own, has run for 12 s and was stopped for 900 ns.",
        "It was stopped 3 times for infer (10) because work of higher priority waited (inversion), which had then lasted 40 us (median).",
        "It was started again once because the turn of those it was stopped for was over (turn), after 900 us (median). [timeslice_us=300]",
        "It was started again once because it had been stopped as long as any queue may be (bound), after 100 ms (median). [max_stop_ms=100]",
        "0000:01:00.0 node 0 is disarmed (the GPU is being reset), so that nothing is stopped there.",
        "In the mode observe nothing is stopped on 0000:01:00.0 node 0. [mode=observe]",
        "The 6 decisions that are remembered of all processes span 60 s.",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
    assert_eq!(text.matches("It was stopped").count(), 1, "{text}");
}

#[test]
fn the_mode_that_a_gpu_has_of_its_own_decides_there() {
    let host = explained(&[
        event(1_000, 20, "stop", "inversion", 30_000, "done", 10),
        event(2_000, 20, "start", "release", 900_000, "done", 0),
    ]);
    host.file("sys/module/amd_gpreempt/parameters/mode", "enforce\n");
    host.gpu("0000:02:00.0", "off");
    host.gpu("0000:01:00.0", "module");
    assert!(host.says("explain|20").contains(" [mode=enforce]"));
    host.gpu("0000:01:00.0", "observe");
    let text = host.says("explain|20");
    assert!(
        text.contains(" [mode=observe on 0000:01:00.0 alone]"),
        "{text}"
    );
}

#[test]
fn who_was_stopped_for_a_process_is_said_with_its_rule() {
    let text = story().says("explain|10");
    assert!(
        text.contains("it has priority 12 by rule 4 (its own is 7)")
            && text.contains("[4 comm=infer prio=12]"),
        "{text}"
    );
    assert!(
        text.contains("train (20) was stopped for it 3 times (inversion). [4 comm=infer prio=12]"),
        "{text}"
    );
}

#[test]
fn a_process_that_has_left_is_explained_by_what_is_remembered() {
    let text = story().says("explain|77");
    assert!(
        text.starts_with(
            "It could not be stopped once for process 78 because others of its level waited"
        ),
        "{text}"
    );
    let text = story().refuses("explain|99");
    assert!(
        text.contains("process 99 has no compute queue in view"),
        "{text}"
    );
    for wrong in ["explain|0", "explain|-1", "explain|x", "explain"] {
        assert_eq!(story().run(wrong).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_waiting_queue_is_behind_somebody() {
    for (priority, words) in [
        (
            12,
            "waits behind infer (10) (priority 12), which may keep the GPU",
        ),
        (2, "waits beside infer (10) of the same priority"),
        (
            1,
            "waits while infer (10) of lower priority 1 runs, and a stop for it is due",
        ),
    ] {
        let host = explained(&[]);
        let queues = QUEUES
            .replace("\"eff_prio\":12", &format!("\"eff_prio\":{priority}"))
            .replace("\"stopped\",", "\"waiting\",");
        host.file(&format!("{DEBUGFS}/queues.json"), &queues);
        let text = host.says("explain|20");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn the_budget_that_was_spent_is_the_rules_where_it_has_one() {
    for (rule, whom, decided) in [
        (
            "4 comm=infer prio=12 stop_budget_ms=30",
            10,
            "[4 comm=infer prio=12 stop_budget_ms=30]",
        ),
        (
            "4 comm=infer stop_budget_ms=30",
            10,
            "[4 comm=infer stop_budget_ms=30]",
        ),
        ("4 comm=infer timeslice_us=5", 10, "[stop_budget_ms=500]"),
        (
            "4 comm=infer prio=12 stop_budget_ms=30",
            78,
            "[stop_budget_ms=500]",
        ),
    ] {
        let host = explained(&[event(1, 20, "start", "budget", 3, "done", whom)]);
        let rules = format!(r#"{{"schema":1,"rules":[{{"id":4,"text":"{rule}","dead":false}}]}}"#);
        host.file(&format!("{DEBUGFS}/rules.json"), &rules);
        host.file("sys/module/amd_gpreempt/parameters/stop_budget_ms", "500");
        let text = host.says("explain|20");
        let mut lines = text.lines().filter(|line| line.contains("(budget)"));
        assert!(
            lines.all(|line| line.ends_with(decided)),
            "{decided}: {text}"
        );
        assert!(text.contains(decided), "{decided}: {text}");
    }
}

/// The rule of a process counts on another node than the one on which it spent a budget.
#[test]
fn the_budget_of_a_rule_is_not_that_of_other_nodes() {
    let host = explained(&[event(1, 20, "start", "budget", 3, "done", 10)]);
    let rules = r#"{"schema":1,"rules":[{"id":4,"text":"4 comm=infer node=0000:01:00.0/1 prio=12 stop_budget_ms=30","dead":false}]}"#;
    host.file(&format!("{DEBUGFS}/rules.json"), rules);
    let queues = QUEUES.replace(
        r#""node":0,"gpu_id":5,"pid":10"#,
        r#""node":1,"gpu_id":5,"pid":10"#,
    );
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    host.file("sys/module/amd_gpreempt/parameters/stop_budget_ms", "500");
    let text = host.says("explain|20");
    let spent = text.lines().find(|line| line.contains("(budget)"));
    assert!(spent.unwrap().ends_with("[stop_budget_ms=500]"), "{text}");
}

#[test]
fn where_a_stop_is_due_the_parameter_counts_only_if_no_rule_decides_the_budget() {
    for (rule, counts) in [("null", true), ("4", false)] {
        let host = explained(&[]);
        let queues = QUEUES
            .replace("\"eff_prio\":12,\"rule\":4", "\"eff_prio\":1,\"rule\":null")
            .replace(
                "\"eff_prio\":2,\"rule\":null",
                &format!("\"eff_prio\":2,\"rule\":{rule}"),
            )
            .replace("\"stopped\",", "\"waiting\",");
        host.file(&format!("{DEBUGFS}/queues.json"), &queues);
        host.file("sys/module/amd_gpreempt/parameters/stop_budget_ms", "500");
        let text = host.says("explain|20");
        assert!(text.contains("a stop for it is due"), "{text}");
        assert_eq!(text.contains("stop_budget_ms=500"), counts, "{text}");
    }
}

#[test]
fn in_observe_it_is_said_what_would_have_been() {
    let host = explained(&[event(1, 20, "stop", "inversion", 30_000, "observed", 10)]);
    let stats = STATS.replace("disarmed", "armed");
    host.file(&format!("{DEBUGFS}/stats.json"), &stats);
    let text = host.says("explain|20");
    assert!(
        text.contains("It would have been stopped, if the mode were enforce, once for infer"),
        "{text}"
    );
    assert!(!text.contains("is armed"), "{text}");
    let json: Value = serde_json::from_str(&host.says("--json|explain|20")).unwrap();
    assert_eq!(json["decisions"], 1);
    assert_eq!(json["sentences"].as_array().unwrap().len(), 3, "{json}");
}

#[test]
fn every_reason_of_the_module_has_words() {
    for reason in gpreempt_policy::Reason::ALL {
        let host = explained(&[event(1, 20, "start", reason.name(), 3, "done", 0)]);
        let text = host.says("explain|20");
        assert!(text.contains(&format!("({})", reason.name())), "{text}");
        assert!(!text.contains("does not know"), "{text}");
    }
    let host = explained(&[event(1, 20, "start", "whim", 3, "done", 0)]);
    assert!(host.says("explain|20").contains("does not know"));
}
