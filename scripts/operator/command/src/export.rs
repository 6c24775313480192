// SPDX-License-Identifier: GPL-2.0-only
//! `gpreempt export`: metrics on the terminal, in a file, or for whoever asks.

mod request;
mod server;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gpreempt_operator::export::collect;
use gpreempt_operator::file::replace;
use gpreempt_operator::host::{plain, Host, Refusal};
use gpreempt_operator::ledger::Ledger;
use gpreempt_operator::metrics::{text, Format, Metric};

use self::server::{serve, Limits};
use crate::clean::clean;

/// Where the sums of workloads are kept from one run to the next.
const LEDGER: &str = "var/lib/amd-gpreempt/export.json";
/// How old an answer may be for another one who asks: each reading of the tables waits
/// for a pass.
const FRESH: Duration = Duration::from_secs(1);

/// What is asked of the command.
pub struct Export {
    pub output: Option<PathBuf>,
    pub interval: Option<f64>,
    pub listen: Option<SocketAddr>,
    pub public: bool,
    pub most: usize,
}

/// Does it. That the module cannot be read is also a metric, so that whoever collects
/// them can tell.
pub fn run(host: &Host, export: &Export) -> Result<(), Refusal> {
    match (&export.output, export.listen) {
        (None, None) => print(host, export.most),
        (Some(path), _) => to_file(host, path, export),
        (None, Some(address)) => listen(host, address, export),
    }
}

fn print(host: &Host, most: usize) -> Result<(), Refusal> {
    let (metrics, refusal) = collect(host, &mut Ledger::default(), most);
    let mut out = io::stdout().lock();
    // A reader that has closed the output has seen enough.
    let _ = out
        .write_all(text(&metrics, Format::Prometheus).as_bytes())
        .and_then(|()| out.flush());
    refusal.map_or(Ok(()), Err)
}

fn to_file(host: &Host, path: &Path, export: &Export) -> Result<(), Refusal> {
    let mut ledger = kept(host);
    loop {
        let (metrics, refusal) = collect(host, &mut ledger, export.most);
        let written = replace(path, &text(&metrics, Format::Prometheus), 0o644);
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

fn listen(host: &Host, address: SocketAddr, export: &Export) -> Result<(), Refusal> {
    if !address.ip().is_loopback() && !export.public {
        return Err(Refusal(format!(
            "{} can be reached from other hosts, and the names of programs are not for everybody: \
             use 127.0.0.1, or say --public",
            address.ip()
        )));
    }
    let cannot = |error: io::Error| {
        Refusal(format!(
            "cannot listen at {address}: {}: name another address",
            plain(&error)
        ))
    };
    let listener = TcpListener::bind(address).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "http://{address}/metrics").and_then(|()| out.flush());
    drop(out);
    let recent = Recent::new(host, export.most);
    serve(&listener, &Limits::USUAL, &|format| recent.text(format)).map_err(cannot)
}

type Look = (Instant, Vec<Metric>);

/// The metrics as they were a moment ago, for all who ask.
struct Recent<'h> {
    host: &'h Host,
    most: usize,
    /// The sums, and the last look with its time.
    state: Mutex<(Ledger, Option<Look>)>,
}

impl<'h> Recent<'h> {
    fn new(host: &'h Host, most: usize) -> Recent<'h> {
        let state = Mutex::new((Ledger::default(), None));
        Recent { host, most, state }
    }

    fn text(&self, format: Format) -> String {
        // Sums are whole at any time, also after a thread has ended in between.
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        let (ledger, last) = &mut *state;
        let metrics = match last.take() {
            Some((when, metrics)) if when.elapsed() < FRESH => (when, metrics),
            _ => {
                let (metrics, _) = collect(self.host, ledger, self.most);
                (Instant::now(), metrics)
            }
        };
        let text = text(&metrics.1, format);
        *last = Some(metrics);
        text
    }
}
