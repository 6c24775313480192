// SPDX-License-Identifier: GPL-2.0-only
//! `gpreempt export` on a tree of files, as a collector reads it.

mod exporting;
mod host;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use exporting::exporting;
use host::{Host, DEBUGFS, QUEUES};

/// The value of a sample, by its whole name.
fn value<'t>(text: &'t str, sample: &str) -> &'t str {
    let mut found = text
        .lines()
        .filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    let value = found.next();
    assert_eq!(found.next(), None, "{sample} is there twice:\n{text}");
    value.unwrap_or_else(|| panic!("{sample} is missing:\n{text}"))
}

const NODE: &str = r#"gpu="0000:01:00.0",node="0""#;

#[test]
fn the_tables_are_metrics() {
    let text = exporting().says("export");
    for (sample, expected) in [
        ("amd_gpreempt_up", "1"),
        ("amd_gpreempt_stops_total{NODE}", "3"),
        ("amd_gpreempt_transactions_total{NODE}", "5"),
        ("amd_gpreempt_failures_total{NODE}", "1"),
        ("amd_gpreempt_passes_total{NODE}", "9"),
        (r#"amd_gpreempt_node_state{NODE,state="disarmed"}"#, "1"),
        (r#"amd_gpreempt_node_state{NODE,state="armed"}"#, "0"),
        (r#"amd_gpreempt_node_mode{NODE,mode="observe"}"#, "1"),
        (
            r#"amd_gpreempt_detection_seconds_bucket{NODE,le="0.000001023"}"#,
            "0",
        ),
        (
            r#"amd_gpreempt_detection_seconds_bucket{NODE,le="0.000004095"}"#,
            "2",
        ),
        (
            r#"amd_gpreempt_detection_seconds_bucket{NODE,le="0.000065535"}"#,
            "2",
        ),
        (
            r#"amd_gpreempt_detection_seconds_bucket{NODE,le="+Inf"}"#,
            "3",
        ),
        ("amd_gpreempt_detection_seconds_sum{NODE}", "0.00007"),
        (
            r#"amd_gpreempt_stopped_seconds_bucket{NODE,le="17.179869183"}"#,
            "0",
        ),
        ("amd_gpreempt_stopped_seconds_count{NODE}", "1"),
        (
            r#"amd_gpreempt_workload_run_seconds_total{NODE,kind="unit",workload="train.service"}"#,
            "12.0",
        ),
        (
            r#"amd_gpreempt_workload_stops_total{NODE,kind="unit",workload="train.service"}"#,
            "3",
        ),
        (
            r#"amd_gpreempt_workload_priority{NODE,kind="command",workload="infer"}"#,
            "12",
        ),
        (
            r#"amd_gpreempt_workload_queues{NODE,kind="command",workload="infer",state="running"}"#,
            "1",
        ),
        (r#"amd_gpreempt_parameter{name="grace_us"}"#, "10"),
        (
            r#"amd_gpreempt_parameter_info{name="mode",value="observe"}"#,
            "1",
        ),
        (r#"amd_gpreempt_rules{state="live"}"#, "0"),
    ] {
        assert_eq!(
            value(&text, &sample.replace("NODE", NODE)),
            expected,
            "{sample}"
        );
    }
    assert!(!text.contains("configuration_in_force"), "{text}");
    let host = exporting();
    host.file(
        "etc/amd-gpreempt/config.toml",
        "[parameters]\ngrace_us = 3\n",
    );
    assert_eq!(
        value(&host.says("export"), "amd_gpreempt_configuration_in_force"),
        "0"
    );
}

#[test]
fn the_mode_of_a_gpu_is_a_metric_and_part_of_the_configuration() {
    let host = exporting();
    host.gpu("0000:02:00.0", "enforce");
    let own = "[gpu.\"0000:02:00.0\"]\nmode = \"enforce\"\n";
    host.file("etc/amd-gpreempt/config.toml", own);
    let text = host.says("export");
    for (sample, expected) in [
        (
            r#"amd_gpreempt_own_mode_info{gpu="0000:02:00.0",mode="enforce"}"#,
            "1",
        ),
        (r#"amd_gpreempt_parameter{name="grace_us"}"#, "10"),
        ("amd_gpreempt_configuration_in_force", "1"),
    ] {
        assert_eq!(value(&text, sample), expected, "{sample}");
    }
    for other in [
        own.replace("enforce", "off"),
        own.replace("02:", "03:"),
        String::new(),
    ] {
        host.file("etc/amd-gpreempt/config.toml", &other);
        let text = host.says("export");
        assert_eq!(
            value(&text, "amd_gpreempt_configuration_in_force"),
            "0",
            "{other}"
        );
    }
}

#[test]
fn names_that_are_not_fit_for_a_line_are_escaped() {
    let host = exporting();
    let queues = QUEUES.replace("\"infer\"", r#""a\"\u000a\u005c} 7\u00ff""#);
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let text = host.says("export");
    let name = r#"amd_gpreempt_workload_stops_total{NODE,kind="command",workload="a\"\n\\} 7ÿ"}"#;
    assert_eq!(value(&text, &name.replace("NODE", NODE)), "0");
}

#[test]
fn without_the_module_that_is_what_the_metrics_say() {
    let host = Host::new();
    let output = host.run("export");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(value(&text, "amd_gpreempt_up"), "0");
    assert!(String::from_utf8(output.stderr)
        .unwrap()
        .contains("modprobe amd_gpreempt"));
    assert!(host
        .refuses("--json|export")
        .contains("has a format of its own"));
}

#[test]
fn a_file_is_replaced_and_its_sums_outlive_queues_and_runs() {
    let host = exporting();
    let file = host.0.path().join("metrics.prom").display().to_string();
    let line = format!("export|--output|{file}");
    assert_eq!(host.says(&line), "");
    let sample =
        r#"amd_gpreempt_workload_run_seconds_total{NODE,kind="unit",workload="train.service"}"#
            .replace("NODE", NODE);
    assert_eq!(value(&host.read("metrics.prom"), &sample), "12.0");
    let none = r#"{"schema":1,"queues":[],"left_out":[]}"#;
    host.file(&format!("{DEBUGFS}/queues.json"), none);
    host.says(&line);
    assert_eq!(value(&host.read("metrics.prom"), &sample), "12.0");
    host.file(&format!("{DEBUGFS}/queues.json"), QUEUES);
    host.says(&format!("{line}|--workloads|1"));
    assert_eq!(value(&host.read("metrics.prom"), &sample), "24.0");
    let others = r#"amd_gpreempt_workload_queues{NODE,kind="other",workload="",state="running"}"#;
    assert_eq!(
        value(&host.read("metrics.prom"), &others.replace("NODE", NODE)),
        "1"
    );

    host.file("var/lib/amd-gpreempt/export.json", "[");
    let output = host.run(&line);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stderr)
        .unwrap()
        .contains("begin anew"));
    assert_eq!(value(&host.read("metrics.prom"), &sample), "12.0");
    let wrong = format!("export|--output|{}", host.0.path().display());
    assert!(host.refuses(&wrong).contains("it is no ordinary file"));
}

#[test]
fn a_write_that_fails_is_said_and_does_not_end_what_goes_on() {
    let host = exporting();
    let file = host.0.path().join("metrics.prom");
    fs::create_dir(&file).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gpreempt"))
        .arg("--root")
        .arg(host.0.path())
        .args(["export", "--interval", "0.1", "--output"])
        .arg(&file)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    assert!(said.contains("it is no ordinary file"), "{said}");
    fs::remove_dir(&file).unwrap();
    while !file.is_file() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_command_line_is_refused_where_it_says_two_things() {
    let host = exporting();
    for line in ["export|--interval|3", "export|--workloads|1001"] {
        assert_eq!(host.run(line).status.code(), Some(2), "{line}");
    }
}
