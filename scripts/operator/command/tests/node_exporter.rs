// SPDX-License-Identifier: GPL-2.0-only
//! node_exporter itself reads the file that is exported, by its collector of text files.

mod host;
mod server;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use host::{Host, DEBUGFS, QUEUES};
use server::exporting;

const FILE: &str = "collected/amd_gpreempt.prom";

/// node_exporter with that one collector, for the files of one folder.
struct Exporter {
    child: Child,
    port: u16,
}

impl Exporter {
    fn reading(folder: &Path) -> Exporter {
        // The number is free again a moment later, for the program that needs it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let child = Command::new(program())
            .args(["--collector.disable-defaults", "--collector.textfile"])
            .arg(format!(
                "--collector.textfile.directory={}",
                folder.display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Exporter { child, port }
    }

    /// What it answers to Prometheus, as soon as it answers.
    fn answer(&mut self) -> String {
        for _ in 0..6000 {
            let ended = self.child.try_wait().unwrap();
            assert_eq!(ended, None, "node_exporter has ended");
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
                write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                let (head, body) = text.split_once("\r\n\r\n").unwrap();
                assert!(head.contains(" 200 OK"), "{text}");
                return body.to_owned();
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("node_exporter does not answer");
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, which set-up has brought.
fn program() -> PathBuf {
    let cache = std::env::var_os("AMD_GPREEMPT_CACHE")
        .expect("AMD_GPREEMPT_CACHE is not set: run this in scripts/setup/in-root");
    let path = Path::new(&cache).join("prometheus/prometheus-node-exporter");
    assert!(
        path.exists(),
        "{} is missing: run 'make setup'",
        path.display()
    );
    path
}

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

fn export(host: &Host) -> String {
    let file = host.0.path().join(FILE);
    // Without the module it fails, and writes that.
    host.run(&format!("export|--output|{}", file.display()));
    host.read(FILE)
}

#[test]
fn node_exporter_passes_on_every_sample_of_the_file() {
    let host = exporting();
    // A name with what has to be escaped.
    let queues = QUEUES.replace("\"infer\"", r#""a\\b\u00ff c""#);
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let written = export(&host);
    let mut exporter = Exporter::reading(&host.0.path().join("collected"));
    let answer = exporter.answer();
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
    let answer = exporter.answer();
    assert!(answer.contains("\namd_gpreempt_up 0\n"), "{answer}");
    assert_eq!(samples(&written), samples(&answer));

    // It does notice what is wrong.
    host.file(
        FILE,
        &written.replace("amd_gpreempt_up 0", "amd_gpreempt_up zero"),
    );
    let answer = exporter.answer();
    assert!(
        answer.contains("\nnode_textfile_scrape_error 1\n"),
        "{answer}"
    );
    assert!(samples(&answer).is_empty(), "{answer}");
}
