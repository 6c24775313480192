// SPDX-License-Identifier: GPL-2.0-only
//! The operator's command on a tree of files as the kernel would show them.

mod host;

use std::process::Command;

use host::{shell, Host, DEBUGFS, FAUX, QUEUES, STATS};

#[test]
fn without_the_module_every_command_says_so() {
    for line in [
        "status",
        "queues",
        "events",
        "mode",
        "rules",
        "rules|del|3",
        "top|--once",
    ] {
        let text = Host::new().refuses(line);
        assert!(text.contains("modprobe amd_gpreempt"), "{line}: {text}");
    }
}

#[test]
fn the_most_urgent_queue_comes_first() {
    let text = Host::with_module().says("queues");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[1].contains("infer") && lines[2].contains("train"),
        "{text}"
    );
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(
        words[1..9],
        ["20", "train", "1", "2", "2", "stopped", "-", "5"]
    );
    assert!(lines[2].contains("12 s"), "{text}");
}

#[test]
fn who_is_left_alone_for_want_of_room_is_named() {
    let host = Host::with_module();
    assert!(!host.says("status").contains("want of room"));
    let few = r#"{"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":30,"comm":"few","queues":205,"left_out":1}"#;
    let many = few
        .replace("few", "many")
        .replace("\"left_out\":1", "\"left_out\":88");
    let crowd = format!("\"left_out\":[\n{few},\n{many}\n");
    let queues = QUEUES.replace("\"left_out\":[\n", &crowd);
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let stats = STATS.replace("\"exempt\":0", "\"exempt\":89");
    host.file(&format!("{DEBUGFS}/stats.json"), &stats);
    assert!(host.says("status").contains("want of room: 89 queues"));
    let text = host.says("queues");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[3..],
        [
            "0000:01:00.0/0: 88 of 205 queues of many (30) are left alone for want of room",
            "0000:01:00.0/0: 1 of 205 queues of few (30) are left alone for want of room",
        ]
    );
}

#[test]
fn a_disarmed_node_is_shown_with_its_remedy() {
    let text = Host::with_module().says("status");
    assert!(text.contains("0000:01:00.0 node 0: disarmed"), "{text}");
    assert!(
        text.contains("echo armed > /sys/devices/faux/amd_gpreempt/gpu_0000:01:00.0/node0/state"),
        "{text}"
    );
    assert!(text.contains("gpreempt mode enforce"), "{text}");
    assert!(
        text.contains("last failure: the GPU is being reset"),
        "{text}"
    );
}

#[test]
fn the_mode_is_written_and_read_back() {
    let host = Host::with_module();
    assert_eq!(host.says("mode"), "observe\n");
    assert_eq!(host.says("mode|enforce"), "enforce\n");
    assert_eq!(
        host.read("sys/module/amd_gpreempt/parameters/mode"),
        "enforce"
    );
    assert_eq!(host.run("mode|fast").status.code(), Some(2));
}

#[test]
fn a_rule_is_written_as_it_was_given() {
    let host = Host::with_module();
    host.says("rules|add|10 comm=a%20b prio=3");
    assert_eq!(
        host.read(&format!("{FAUX}/rules_add")),
        "10 comm=a%20b prio=3"
    );
    assert!(host.refuses("rules|add").contains("needs a rule"));
    // The file is missing here, as any other failure of the write would show.
    assert!(host.refuses("rules|del|3").contains("rules_del"));
}

#[test]
fn a_table_of_another_schema_is_refused() {
    let host = Host::with_module();
    host.file(
        &format!("{DEBUGFS}/queues.json"),
        r#"{"schema":2,"queues":[]}"#,
    );
    assert!(host.refuses("queues").contains("schema 2"));
    host.file(&format!("{DEBUGFS}/queues.json"), "{");
    assert!(host.refuses("queues").contains("not what it should be"));
}

#[test]
fn the_mode_is_the_most_that_any_gpu_does() {
    let host = Host::with_module();
    host.gpu("0000:01:00.0", "enforce");
    host.gpu("0000:02:00.0", "off");
    host.gpu("0000:03:00.0", "module");
    host.file("sys/module/amd_gpreempt/parameters/mode", "enforce\n");
    let own = |gpu: &str, mode: &str| format!("GPU {gpu} has a mode of its own: {mode}\n");
    let off = own("0000:02:00.0", "off");
    assert_eq!(
        host.says("mode"),
        format!("enforce\n{}{off}", own("0000:01:00.0", "enforce"))
    );
    assert_eq!(host.own("0000:01:00.0"), "enforce\n", "only shown");
    assert_eq!(host.says("mode|observe"), format!("observe\n{off}"));
    assert_eq!(host.own("0000:01:00.0"), "module");
    assert_eq!(host.own("0000:02:00.0"), "off\n");
    assert_eq!(host.own("0000:03:00.0"), "module\n");
    let json: serde_json::Value = serde_json::from_str(&host.says("--json|mode|enforce")).unwrap();
    assert_eq!(json["own"]["0000:02:00.0"], "off", "{json}");
}

#[test]
fn the_status_shows_which_gpus_have_modes_of_their_own() {
    let host = Host::with_module();
    host.gpu("0000:01:00.0", "enforce");
    host.gpu("0000:02:00.0", "module");
    let text = host.says("status");
    let line = "GPU 0000:01:00.0 has a mode of its own: enforce";
    assert!(text.lines().any(|own| own == line), "{text}");
    assert!(!text.contains("0000:02:00.0"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&host.says("--json|status")).unwrap();
    assert_eq!(json["own"], serde_json::json!({"0000:01:00.0": "enforce"}));
}

#[test]
fn the_self_test_is_a_program_beside_the_command_that_takes_its_own_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("gpreempt");
    // In processes of their own: one that is started by another test meanwhile would
    // keep a file that is open for writing here, which then cannot be run.
    shell(&format!(
        "cp {} {}",
        env!("CARGO_BIN_EXE_gpreempt"),
        own.display()
    ));
    let run = || {
        Command::new(&own)
            .args(["selftest", "--until", "1", "--help"])
            .output()
            .unwrap()
    };
    let missing = run();
    let error = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(1), "{error}");
    assert!(
        error.starts_with("gpreempt: ") && error.contains("of a checkout of the project"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");

    let program = directory.path().join("gpreempt-selftest");
    let text = r##"printf '#!/bin/sh\necho "$@"\nexit 7\n'"##;
    shell(&format!("{text} > {0} && chmod 755 {0}", program.display()));
    let there = run();
    assert_eq!(there.status.code(), Some(7));
    assert_eq!(there.stdout, b"--until 1 --help\n");
}

#[test]
fn the_last_events_are_shown_in_the_order_of_time() {
    let host = Host::with_module();
    let event = |time: u64| {
        format!(
            r#"{{"number":1,"time_ns":{time},"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":20,"queue":1,"prio":2,"eff_prio":2,"action":"stop","reason":"inversion","age_ns":30000,"for":{{"pid":10,"queue":3}},"fate":"done"}}"#
        )
    };
    let events: Vec<String> = [1_000_000, 3_000_000, 2_000_000].map(event).into();
    host.file(
        &format!("{DEBUGFS}/events.json"),
        &format!(r#"{{"schema":1,"events":[{}]}}"#, events.join(",")),
    );
    let all = host.says("events");
    assert_eq!(all.lines().count(), 4, "{all}");
    let last = host.says("events|--last|2");
    let times: Vec<&str> = last.lines().skip(1).map(|line| &line[..8]).collect();
    assert_eq!(times, ["0.002000", "0.003000"], "{last}");
    assert!(last.contains("30 us") && last.contains("10/3"), "{last}");
    assert_eq!(host.says("events|--last|0").lines().count(), 1);
}

#[test]
fn a_table_without_a_name_that_is_needed_is_refused() {
    let host = Host::with_module();
    let broken = STATS.replace("\"mode\"", "\"moon\"");
    host.file(&format!("{DEBUGFS}/stats.json"), &broken);
    let text = host.refuses("status");
    assert!(text.contains("missing field `mode`"), "{text}");
}

#[test]
fn the_command_line_is_refused_with_two() {
    for line in [
        "",
        "stats",
        "mode|fast",
        "events|--last|x",
        "top|--interval|-1",
    ] {
        assert_eq!(Host::new().run(line).status.code(), Some(2), "{line}");
    }
}
