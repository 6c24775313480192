// SPDX-License-Identifier: GPL-2.0-only
//! The command while it answers, and a host of which it has something to say.
#![allow(dead_code, reason = "each test program uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

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

/// The command while it answers.
pub struct Server(Child, pub String);

impl Server {
    pub fn start(host: &Host) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gpreempt"))
            .arg("--root")
            .arg(host.0.path())
            .args(["export", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/metrics").unwrap().to_owned();
        Server(child, address)
    }

    pub fn ask(&self, accept: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
