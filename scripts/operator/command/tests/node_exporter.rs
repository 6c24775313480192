// SPDX-License-Identifier: GPL-2.0-only
//! node_exporter itself reads the file that is exported, by its collector of text files.

mod exporting;
mod host;

use std::collections::BTreeMap;

use exporting::{eventually, export, exporting, node_exporter, Server, FILE};
use host::{DEBUGFS, QUEUES};

/// Our samples: the number of each, by its name and its labels in the order of theirs.
fn samples(text: &str) -> BTreeMap<(String, Vec<String>), f64> {
    let ours = text
        .lines()
        .filter(|line| line.starts_with("amd_gpreempt_"));
    let sample = |line: &str| {
        let (series, number) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}').unwrap();
        let mut labels: Vec<String> = labels.split("\",").map(str::to_owned).collect();
        for label in &mut labels {
            label.truncate(label.trim_end_matches('"').len());
            // node_exporter writes bounds as Go does: 1.023e-06.
            if let Some(bound) = label.strip_prefix("le=\"") {
                *label = bound.parse::<f64>().unwrap().to_string();
            }
        }
        labels.sort();
        ((name.to_owned(), labels), number.parse().unwrap())
    };
    ours.map(sample).collect()
}

fn metrics(exporter: &mut Server) -> String {
    let (head, body) = eventually("node_exporter", || exporter.get("/metrics"));
    assert!(head.contains(" 200 OK"), "{head}\n{body}");
    body
}

#[test]
fn node_exporter_passes_on_every_sample_of_the_file() {
    let host = exporting();
    // A name with what has to be escaped.
    let queues = QUEUES.replace("\"infer\"", r#""a\\b\u00ff c""#);
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let written = export(&host);
    let mut exporter = node_exporter(&host.0.path().join("collected"));
    let answer = metrics(&mut exporter);
    assert!(
        answer.contains("\nnode_textfile_scrape_error 0\n"),
        "{answer}"
    );
    let (own, passed_on) = (samples(&written), samples(&answer));
    assert!(own.len() > 100, "{written}");
    assert_eq!(own, passed_on);
    for line in written.lines().filter(|line| line.starts_with("# TYPE ")) {
        assert!(answer.contains(&format!("\n{line}\n")), "{line}");
    }

    // The next file is read in its place, also from a host without the module.
    std::fs::remove_dir_all(host.0.path().join("sys/module")).unwrap();
    let written = export(&host);
    let answer = metrics(&mut exporter);
    assert!(answer.contains("\namd_gpreempt_up 0\n"), "{answer}");
    assert_eq!(samples(&written), samples(&answer));

    // It does notice what is wrong.
    host.file(
        FILE,
        &written.replace("amd_gpreempt_up 0", "amd_gpreempt_up zero"),
    );
    let answer = metrics(&mut exporter);
    assert!(
        answer.contains("\nnode_textfile_scrape_error 1\n"),
        "{answer}"
    );
    assert!(samples(&answer).is_empty(), "{answer}");
}
