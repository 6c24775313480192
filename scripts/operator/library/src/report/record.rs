// SPDX-License-Identifier: GPL-2.0-only
//! Taking the tracepoints from the kernel, in a buffer of their own.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::host::tracepoint::{lost, Occurrence};
use crate::host::tree::{cannot, Host, Refusal, MODULE};
use crate::report::perfetto::Trace;

/// The longest file.
const MOST_BYTES: usize = 1 << 30;
/// How long nothing may have happened before it is looked again.
const PAUSE: Duration = Duration::from_millis(20);

/// A trace, and what is not in it.
pub struct Recorded {
    pub trace: Vec<u8>,
    pub events: u64,
    /// How many events the kernel had no room for.
    pub lost: u64,
}

/// Lines of events while they become a trace.
struct Recorder<'h> {
    host: &'h Host,
    trace: Trace,
    names: BTreeMap<i64, String>,
    rest: Vec<u8>,
    events: u64,
    lost: u64,
}

impl<'h> Recorder<'h> {
    fn new(host: &'h Host) -> Recorder<'h> {
        Recorder {
            host,
            trace: Trace::new(),
            names: BTreeMap::new(),
            rest: Vec::new(),
            events: 0,
            lost: 0,
        }
    }

    /// Takes what was read, whose last line may go on.
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let more = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, more);
        for line in String::from_utf8_lossy(&whole).lines() {
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        self.lost += lost(line).unwrap_or(0);
        let Some(occurrence) = Occurrence::parse(line) else {
            return;
        };
        self.events += 1;
        let (host, names) = (self.host, &mut self.names);
        self.trace.add(&occurrence, &mut |pid| {
            let name = names.entry(pid).or_insert_with(|| {
                let name = host.try_read(&format!("proc/{pid}/comm"));
                name.map_or_else(|| "gone".to_owned(), |name| name.trim_end().to_owned())
            });
            name.clone()
        });
    }

    fn finish(mut self) -> Recorded {
        self.take(b"\n");
        Recorded {
            trace: self.trace.finish(),
            events: self.events,
            lost: self.lost,
        }
    }
}

/// Makes a trace of lines that were taken before.
pub fn convert(host: &Host, file: &Path) -> Result<Recorded, Refusal> {
    let bytes = fs::read(file).map_err(|error| cannot("read", file, &error))?;
    let mut recorder = Recorder::new(host);
    recorder.take(&bytes);
    let recorded = recorder.finish();
    if recorded.events == 0 {
        return Err(Refusal(format!(
            "{} has no event of {MODULE}: give what 'cat trace_pipe' or 'perf script' has printed",
            file.display()
        )));
    }
    Ok(recorded)
}

/// Records for so long, or until somebody interrupts it.
pub fn record(host: &Host, time: Duration) -> Result<Recorded, Refusal> {
    host.need_module()?;
    let mut signals = Signals::held()?;
    let buffer = Buffer::new(host)?;
    let mut pipe = buffer.open()?;
    let mut recorder = Recorder::new(host);
    let start = Instant::now();
    let mut part = vec![0; 64 * 1024];
    let mut read = 0;
    while start.elapsed() < time && !signals.is_asked() && read < MOST_BYTES {
        let length = buffer.read(&mut pipe, &mut part)?;
        recorder.take(&part[..length]);
        read += length;
        if length == 0 {
            thread::sleep(PAUSE);
        }
    }
    buffer.enable("0")?;
    loop {
        let length = buffer.read(&mut pipe, &mut part)?;
        if length == 0 {
            break;
        }
        recorder.take(&part[..length]);
    }
    let recorded = recorder.finish();
    if recorded.events == 0 {
        return Err(Refusal(
            "nothing happened in that time, so nothing was written: record while queues are \
             stopped and started ('gpreempt events' tells), or for longer with --seconds"
                .to_owned(),
        ));
    }
    Ok(recorded)
}

/// The signals that end a program, which end the recording instead.
struct Signals {
    old: SigSet,
    asked: SignalFd,
}

impl Signals {
    fn held() -> Result<Signals, Refusal> {
        let wrong = |error: nix::errno::Errno| Refusal(format!("cannot hold signals: {error}"));
        let mut set = SigSet::empty();
        for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
            set.add(signal);
        }
        let asked = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
        let asked = asked.map_err(wrong)?;
        let old = set.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(wrong)?;
        Ok(Signals { old, asked })
    }

    fn is_asked(&mut self) -> bool {
        matches!(self.asked.read_signal(), Ok(Some(_)))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // The signal that was asked has done what it should.
        while self.is_asked() {}
        let _ = self.old.thread_set_mask();
    }
}

/// A buffer of the kernel's for our events alone, so that nobody else's settings are
/// touched. It is gone when this ends.
struct Buffer(PathBuf);

impl Buffer {
    fn new(host: &Host) -> Result<Buffer, Refusal> {
        let instances = host.path("sys/kernel/tracing/instances");
        remove_old(host, &instances);
        let path = instances.join(format!("gpreempt-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Refusal(format!(
                "{} is missing: mount -t tracefs tracefs /sys/kernel/tracing",
                instances.display()
            )),
            _ => cannot("make", &path, &error),
        })?;
        let buffer = Buffer(path);
        // Perfetto's own clock, so that traces of other programs fit beside this one.
        buffer.write("trace_clock", "boot")?;
        buffer.write("buffer_size_kb", "4096")?;
        buffer.enable("1")?;
        Ok(buffer)
    }

    fn write(&self, file: &str, value: &str) -> Result<(), Refusal> {
        let path = self.0.join(file);
        fs::write(&path, value).map_err(|error| cannot("write", &path, &error))
    }

    fn enable(&self, value: &str) -> Result<(), Refusal> {
        self.write(&format!("events/{MODULE}/enable"), value)
    }

    fn open(&self) -> Result<File, Refusal> {
        let path = self.0.join("trace_pipe");
        OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(&path)
            .map_err(|error| cannot("read", &path, &error))
    }

    /// What there is, which may be nothing.
    fn read(&self, pipe: &mut File, part: &mut [u8]) -> Result<usize, Refusal> {
        match pipe.read(part) {
            Ok(length) => Ok(length),
            Err(error)
                if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted]
                    .contains(&error.kind()) =>
            {
                Ok(0)
            }
            Err(error) => Err(cannot("read", &self.0.join("trace_pipe"), &error)),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // The next recording removes what is left, if this fails.
        let _ = self.enable("0");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes the buffers of recordings that were killed.
fn remove_old(host: &Host, instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("gpreempt-"));
        let pid = number.and_then(|number| number.parse::<u32>().ok());
        if pid.is_some_and(|pid| !host.path(format!("proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
