// SPDX-License-Identifier: GPL-2.0-only
//! `gpreempt export`: metrics on the terminal, or in a file that node_exporter reads.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gpreempt_operator::host::file::replace;
use gpreempt_operator::host::ledger::Ledger;
use gpreempt_operator::host::tree::{Host, Refusal};
use gpreempt_operator::report::export::collect;
use gpreempt_operator::report::metrics::text;

use crate::clean::clean;

/// Where the sums of workloads are kept from one run to the next.
const LEDGER: &str = "var/lib/amd-gpreempt/export.json";

/// What is asked of the command.
pub struct Export {
    pub output: Option<PathBuf>,
    pub interval: Option<f64>,
    pub most: usize,
}

/// Does it. That the module cannot be read is also a metric, so that whoever collects
/// them can tell.
pub fn run(host: &Host, export: &Export) -> Result<(), Refusal> {
    match &export.output {
        None => print(host, export.most),
        Some(path) => to_file(host, path, export),
    }
}

fn print(host: &Host, most: usize) -> Result<(), Refusal> {
    let (metrics, refusal) = collect(host, &mut Ledger::default(), most);
    let mut out = io::stdout().lock();
    // A reader that has closed the output has seen enough.
    let _ = out
        .write_all(text(&metrics).as_bytes())
        .and_then(|()| out.flush());
    refusal.map_or(Ok(()), Err)
}

fn to_file(host: &Host, path: &Path, export: &Export) -> Result<(), Refusal> {
    let mut ledger = kept(host);
    loop {
        let (metrics, refusal) = collect(host, &mut ledger, export.most);
        let written = replace(path, &text(&metrics), 0o644);
        // Names and numbers can always be written.
        let sums = serde_json::to_string(&ledger).unwrap_or_default();
        let kept = replace(&host.path(LEDGER), &sums, 0o600);
        let Some(interval) = export.interval else {
            return written.and(kept).and(refusal.map_or(Ok(()), Err));
        };
        // There may be room again the next time.
        for refusal in [written.err(), kept.err(), refusal].into_iter().flatten() {
            complain(&refusal);
        }
        std::thread::sleep(Duration::from_secs_f64(interval));
    }
}

/// The sums of the last run. Those that cannot be read begin anew, as after a boot.
fn kept(host: &Host) -> Ledger {
    let Some(text) = host.try_read(LEDGER) else {
        return Ledger::default();
    };
    serde_json::from_str(&text).unwrap_or_else(|error| {
        complain(&Refusal(format!(
            "{} is not what was kept there ({error}): the sums of workloads begin anew",
            host.path(LEDGER).display()
        )));
        Ledger::default()
    })
}

fn complain(refusal: &Refusal) {
    let _ = writeln!(io::stderr(), "gpreempt: {}", clean(&refusal.0));
}
