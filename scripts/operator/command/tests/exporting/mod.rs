// SPDX-License-Identifier: GPL-2.0-only
//! A host of which there is something to export, and node_exporter, which reads the file.
#![allow(dead_code, reason = "each test program uses a part")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::host::{Host, DEBUGFS};

const LATENCY: &str = r#"{"schema":1,"nodes":[
{"gpu":"0000:01:00.0","node":0,"detection":{"count":3,"sum_ns":70000,"max_ns":65536,"buckets":[[1024,2],[65536,1]]},"unmap":{"count":0,"sum_ns":0,"max_ns":0,"buckets":[]},"edit":{"count":0,"sum_ns":0,"max_ns":0,"buckets":[]},"map":{"count":0,"sum_ns":0,"max_ns":0,"buckets":[]},"stopped":{"count":1,"sum_ns":20000000000,"max_ns":20000000000,"buckets":[[17179869184,1]]},"look":{"count":0,"sum_ns":0,"max_ns":0,"buckets":[]},"pass":{"count":0,"sum_ns":0,"max_ns":0,"buckets":[]}}
]}"#;

/// A host of which there is something to export.
pub fn exporting() -> Host {
    let host = Host::with_module();
    host.file(&format!("{DEBUGFS}/latency.json"), LATENCY);
    host.file("sys/module/amd_gpreempt/parameters/grace_us", "10\n");
    host.file("proc/20/cgroup", "0::/system.slice/train.service\n");
    host
}

/// The file, where the collector looks for it.
pub const FILE: &str = "collected/amd_gpreempt.prom";

/// What the command writes into it. Without the module it fails, and writes that.
pub fn export(host: &Host) -> String {
    let file = host.0.path().join(FILE);
    host.run(&format!("export|--output|{}", file.display()));
    host.read(FILE)
}

/// node_exporter with that one collector, for the files of one folder.
pub struct Exporter {
    child: Child,
    pub port: u16,
}

impl Exporter {
    pub fn reading(folder: &Path) -> Exporter {
        // The number is free again a moment later, for the program that needs it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let child = Command::new(program("prometheus-node-exporter"))
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
    pub fn answer(&mut self) -> String {
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

/// A program that set-up has brought.
pub fn program(name: &str) -> PathBuf {
    let cache = std::env::var_os("AMD_GPREEMPT_CACHE")
        .expect("AMD_GPREEMPT_CACHE is not set: run this in scripts/setup/in-root");
    let path = Path::new(&cache).join("prometheus").join(name);
    assert!(
        path.exists(),
        "{} is missing: run 'make setup'",
        path.display()
    );
    path
}
