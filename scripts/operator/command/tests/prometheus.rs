// SPDX-License-Identifier: GPL-2.0-only
//! Prometheus itself reads what is exported: its checker, its tests of the alerts, and a
//! server that has it from node_exporter and runs every query of the dashboard.

mod exporting;
mod host;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use exporting::{eventually, export, exporting, node_exporter, program, Server};
use host::{DEBUGFS, QUEUES};
use serde_json::Value;

fn monitoring() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../package/monitoring")
}

fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(program("promtool"))
        .args(arguments)
        .current_dir(monitoring())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // One that does not read its input has ended before.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn promtool_finds_nothing_wrong_with_the_metrics() {
    let host = exporting();
    let queues = QUEUES.replace("\"infer\"", r#""a\"\u000a\u005c} 7\u00ff\u0000""#);
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let text = host.says("export");
    let output = promtool(&["check", "metrics"], &text);
    assert!(output.status.success(), "{output:?}");
    // It does notice what is wrong.
    let broken = text.replace("\\\"", "\"");
    assert_ne!(broken, text);
    assert!(!promtool(&["check", "metrics"], &broken).status.success());
}

#[test]
fn the_alerts_are_right() {
    let output = promtool(&["check", "rules", "amd-gpreempt.rules.yml"], "");
    assert!(output.status.success(), "{output:?}");
    let output = promtool(&["test", "rules", "amd-gpreempt.rules.test.yml"], "");
    assert!(output.status.success(), "{output:?}");
}

/// The words of a text that are names of our metrics.
fn names(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("amd_gpreempt_"))
        .map(String::from)
        .collect()
}

#[test]
fn alerts_and_dashboard_name_metrics_that_there_are() {
    let host = exporting();
    host.file("etc/amd-gpreempt/config.toml", "mode = \"observe\"\n");
    let known = names(&host.says("export"));
    for file in ["amd-gpreempt.rules.yml", "amd-gpreempt.dashboard.json"] {
        let text = fs::read_to_string(monitoring().join(file)).unwrap();
        let used = names(&text);
        assert!(used.len() > 8, "{used:?}");
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

/// A Prometheus that scrapes one address every second.
struct Prometheus {
    server: Server,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn scraping(address: &str) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let rules = monitoring().join("amd-gpreempt.rules.yml");
        let config = folder.path().join("prometheus.yml");
        fs::write(
            &config,
            format!(
                "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
                 rule_files: ['{}']\nscrape_configs:\n- job_name: gpreempt\n  \
                 static_configs: [{{targets: ['{address}']}}]\n",
                rules.canonicalize().unwrap().display()
            ),
        )
        .unwrap();
        let server = exporting::prometheus(&config, &folder.path().join("data"));
        Prometheus {
            server,
            _folder: folder,
        }
    }

    /// What a query finds; nothing while the server does not answer yet.
    fn query(&mut self, query: &str) -> Vec<Value> {
        let encoded: Vec<String> = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/api/v1/query?query={}", encoded.concat());
        let (_, body) = self.server.get(&path).unwrap_or_default();
        let Ok(answer) = serde_json::from_str::<Value>(&body) else {
            return Vec::new();
        };
        assert_ne!(answer["errorType"], "bad_data", "{query}: {answer}");
        answer["data"]["result"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// The first answer to a query that is one.
    fn answer(&mut self, query: &str) -> Vec<Value> {
        eventually(query, || {
            Some(self.query(query)).filter(|found| !found.is_empty())
        })
    }
}

fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    targets
        .map(|target| {
            let query = target["expr"].as_str().unwrap();
            query
                .replace("$instance", ".*")
                .replace("$__rate_interval", "30s")
        })
        .collect()
}

#[test]
fn prometheus_has_what_is_exported_and_answers_every_query_of_the_dashboard() {
    let text = fs::read_to_string(monitoring().join("amd-gpreempt.dashboard.json")).unwrap();
    let queries = queries(&serde_json::from_str(&text).unwrap());
    assert!(queries.len() > 15);
    let host = exporting();
    export(&host);
    let exporter = node_exporter(&host.0.path().join("collected"));
    let mut prometheus = Prometheus::scraping(&format!("127.0.0.1:{}", exporter.port));
    for query in &queries {
        prometheus.answer(query);
    }
    let stops = prometheus.answer("sum(amd_gpreempt_stops_total)");
    assert_eq!(stops[0]["value"][1], "3");
    let quantile = "histogram_quantile(0.5, amd_gpreempt_detection_seconds_bucket)";
    let middle = prometheus.answer(quantile)[0]["value"][1].clone();
    let middle: f64 = middle.as_str().unwrap().parse().unwrap();
    // Two of three took between 1024 and 2047 ns, which the bounds know as 1 to 4 us.
    assert!((1.023e-6..4.095e-6).contains(&middle), "{middle}");
}
