// SPDX-License-Identifier: GPL-2.0-only
//! A host of which there is something to export, and node_exporter, which reads the file.
#![allow(dead_code, reason = "each test program uses a part")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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

/// A program that serves HTTP on a port which the kernel has chosen for it.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts it, and waits until it says where it listens. It is not given a number that was
    /// free a moment ago: whoever forks meanwhile holds that socket open until it executes, and
    /// a connection to it breaks.
    fn listening(command: &mut Command) -> Server {
        let mut child = command
            .arg("--web.listen-address=127.0.0.1:0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let port = loop {
            let start = said.len();
            let length = log.read_line(&mut said).unwrap();
            assert_ne!(length, 0, "{command:?} has ended: {said}");
            let line = &said[start..];
            if line.contains("Listening on") {
                let (_, port) = line.rsplit_once("127.0.0.1:").unwrap();
                break port.trim().parse().unwrap();
            }
        };
        // A log that nobody reads would end the program.
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Server { child, port }
    }

    /// The head and the body of what it answers to one request; nothing while it listens and
    /// does not serve yet.
    pub fn get(&mut self, path: &str) -> Option<(String, String)> {
        let ended = self.child.try_wait().unwrap();
        assert_eq!(ended, None, "the server has ended");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let mut text = String::new();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.to_owned(), body.to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first of many tries that has an answer.
pub fn eventually<T>(what: &str, mut try_once: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = try_once() {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} does not answer");
}

/// node_exporter with that one collector, for the files of one folder.
pub fn node_exporter(folder: &Path) -> Server {
    let folder = folder.display();
    Server::listening(
        Command::new(program("prometheus-node-exporter"))
            .args(["--collector.disable-defaults", "--collector.textfile"])
            .arg(format!("--collector.textfile.directory={folder}")),
    )
}

/// A Prometheus with that configuration, which keeps what it reads in `folder`.
pub fn prometheus(config: &Path, folder: &Path) -> Server {
    Server::listening(
        Command::new(program("prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.display()))
            .arg("--web.console.templates=/nowhere"),
    )
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
