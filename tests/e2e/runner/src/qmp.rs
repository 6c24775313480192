// SPDX-License-Identifier: GPL-2.0-only
//! QEMU's machine protocol: one JSON object a line in each direction.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use serde_json::{json, Value};

/// How a machine's memory lies in its snapshot: each page at its own place, and
/// those that hold nothing not at all.
pub const MEMORY_LAYOUT: &str = "mapped-ram";

pub struct Qmp {
    out: UnixStream,
    input: BufReader<UnixStream>,
}

/// Connects to a socket that a process just started may not have made yet.
pub fn connect(path: &Path, patience: Duration) -> Result<UnixStream> {
    let start = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return Ok(stream),
            Err(error) if start.elapsed() > patience => {
                return Err(error)
                    .with_context(|| format!("nothing answers at {}", path.display()));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

impl Qmp {
    pub fn connect(path: &Path, patience: Duration) -> Result<Qmp> {
        let out = connect(path, patience)?;
        out.set_read_timeout(Some(Duration::from_secs(120)))?;
        let mut qmp = Qmp {
            input: BufReader::new(out.try_clone()?),
            out,
        };
        qmp.line()?;
        qmp.execute("qmp_capabilities", Value::Null)?;
        Ok(qmp)
    }

    /// Executes a command and returns what it returns.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let mut request = json!({"execute": command});
        if !arguments.is_null() {
            request["arguments"] = arguments;
        }
        writeln!(self.out, "{request}").context("QEMU takes no commands any more")?;
        loop {
            let mut answer = self.line()?;
            if let Some(error) = answer.get("error") {
                let text = error["desc"].as_str().unwrap_or("no reason given");
                return Err(anyhow!("QEMU refuses '{command}': {text}"));
            }
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    /// Prepares a migration to or from a file. With the usual layout, restoring
    /// touches all memory that the guest has, which takes many seconds.
    pub fn set_memory_layout(&mut self) -> Result<()> {
        let on = json!([{"capability": MEMORY_LAYOUT, "state": true}]);
        self.execute("migrate-set-capabilities", json!({"capabilities": on}))?;
        Ok(())
    }

    /// Waits until a migration to a file has ended.
    pub fn finish_migration(&mut self, patience: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let state = self.execute("query-migrate", Value::Null)?;
            match state["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => bail!("the snapshot failed: {state}"),
                _ if start.elapsed() > patience => bail!("the snapshot takes too long: {state}"),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        let read = self
            .input
            .read_line(&mut line)
            .context("QEMU does not answer")?;
        if read == 0 {
            bail!("QEMU has ended");
        }
        serde_json::from_str(&line).with_context(|| format!("QEMU says {line}"))
    }
}
