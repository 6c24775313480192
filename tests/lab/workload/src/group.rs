// SPDX-License-Identifier: GPL-2.0-only
//! One process of a run, and the parent that starts them all at the same time.
//!
//! The parent runs itself again for each group and talks to it in JSON lines on
//! standard input and output: specification and ready, start and report. Signals
//! that tie queues of different groups together lie in a file of the parent's.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use nix::sys::memfd::{memfd_create, MFdFlags};
use serde::{de::DeserializeOwned, Deserialize, Serialize};

use crate::clock::{guest_now_ns, Correlation};
use crate::control;
use crate::hint::Page;
use crate::hsa::{Runtime, SharedSignals, UserPages};
use crate::kfd::ioctl::Kfd;
use crate::load::{Chains, Load};
use crate::report::{Death, Event, QueueIdentity, QueueReport, RunReport};
use crate::spec::{Dependency, RunSpec};

/// All groups start this long after the last has said that it can.
const HEAD_START: Duration = Duration::from_millis(20);
const CLOCK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Serialize, Deserialize)]
struct Assignment {
    spec: RunSpec,
    group: String,
    control: Option<PathBuf>,
    signals: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FromGroup {
    Ready(Vec<QueueIdentity>),
    Report(Vec<QueueReport>),
    Failed(String),
}

#[derive(Serialize, Deserialize)]
struct Start {
    guest_ns: u64,
}

/// Runs a specification in processes of this program, each called with
/// `arguments`. `control` is a directory for the processes' sockets.
pub fn run(
    spec: &RunSpec,
    arguments: &[&str],
    control: Option<&Path>,
    event: &mut dyn FnMut(&Event) -> Result<()>,
) -> Result<RunReport> {
    let (_signals, path) = shared_signals(spec)?;
    let mut groups = Vec::new();
    for name in spec.groups() {
        let assignment = Assignment {
            spec: spec.clone(),
            group: name.to_owned(),
            control: control.map(|directory| directory.join(format!("{name}.sock"))),
            signals: path.clone(),
        };
        groups.push(Group::start(&assignment, arguments)?);
    }
    let mut queues = Vec::new();
    for group in &mut groups {
        match group.receive()? {
            FromGroup::Ready(found) => queues.extend(found),
            other => return Err(group.unexpected(other)),
        }
    }
    event(&Event::Ready { queues })?;
    let guest_ns = guest_now_ns() + HEAD_START.as_nanos() as u64;
    for group in &mut groups {
        group.send(&Start { guest_ns })?;
    }
    let mut report = RunReport {
        ok: true,
        queues: Vec::new(),
        died: Vec::new(),
    };
    for mut group in groups {
        match group.receive() {
            Ok(FromGroup::Report(queues)) => report.queues.extend(queues),
            Ok(other) => {
                let reason = group.unexpected(other).to_string();
                report.died.push(Death {
                    group: group.name.clone(),
                    reason,
                });
            }
            Err(error) => {
                report.died.push(Death {
                    group: group.name.clone(),
                    reason: format!("{error:#}"),
                });
            }
        }
    }
    report.ok = report.died.is_empty() && report.queues.iter().all(QueueReport::is_clean);
    Ok(report)
}

/// A child process. It is killed when it is dropped before its end.
struct Group {
    name: String,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Group {
    fn start(assignment: &Assignment, arguments: &[&str]) -> Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a process of the run")?;
        let input = child.stdin.take().context("the child has no input")?;
        let output = child.stdout.take().context("the child has no output")?;
        let name = assignment.group.clone();
        let mut group = Self {
            name,
            child,
            input,
            output: BufReader::new(output).lines(),
        };
        group.send(assignment)?;
        Ok(group)
    }

    fn send(&mut self, message: &impl Serialize) -> Result<()> {
        send(&mut self.input, message).or_else(|_| bail!(self.death()))
    }

    fn receive(&mut self) -> Result<FromGroup> {
        match self.output.next() {
            Some(line) => Ok(serde_json::from_str(&line?)?),
            None => bail!(self.death()),
        }
    }

    /// How the process ended, which closed its pipe.
    fn death(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => format!("the process of group {:?} {}", self.name, describe(status)),
            Err(error) => format!("the process of group {:?} is lost: {error}", self.name),
        }
    }

    fn unexpected(&self, message: FromGroup) -> anyhow::Error {
        let said = match message {
            FromGroup::Failed(reason) => reason,
            _ => "spoke out of turn".to_owned(),
        };
        anyhow::anyhow!("group {:?}: {said}", self.name)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Fails when it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("exited with status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

fn send(output: &mut impl Write, message: &impl Serialize) -> Result<()> {
    writeln!(output, "{}", serde_json::to_string(message)?)?;
    Ok(output.flush()?)
}

fn receive<T: DeserializeOwned>(input: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    ensure!(input.read_line(&mut line)? > 0, "the parent is gone");
    Ok(serde_json::from_str(&line)?)
}

/// The child's side: standard input and output belong to the parent.
pub fn serve() -> Result<()> {
    // Without its parent the process would hold its queues for ever.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    // A parent that ends as it starts this process wants nothing, and hears nothing.
    if input.fill_buf()?.is_empty() {
        return Ok(());
    }
    let assignment: Assignment = receive(&mut input)?;
    match serve_assignment(&assignment, &mut input, &mut output) {
        Ok(reports) => send(&mut output, &FromGroup::Report(reports)),
        Err(error) => send(&mut output, &FromGroup::Failed(format!("{error:#}"))),
    }
}

fn serve_assignment(
    assignment: &Assignment,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Vec<QueueReport>> {
    let Assignment {
        spec,
        group,
        control,
        signals,
    } = assignment;
    let runtime = Runtime::open()?;
    let kfd = Kfd::open()?;
    let gpu = runtime
        .gpus()
        .nth(spec.gpu)
        .with_context(|| format!("there is no GPU {}", spec.gpu))?;
    let ticks_per_second = gpu.timestamp_frequency_hz;
    let own = || spec.queues.iter().filter(|queue| queue.group == *group);
    let hints = own().any(|queue| queue.hint).then(Page::open);
    let hints = hints.transpose()?.map(Arc::new);
    let mut loads = Vec::new();
    for queue in own() {
        let load = Load::create(&runtime, &kfd, spec.gpu, queue, hints.clone())
            .with_context(|| format!("queue {:?}", queue.name))?;
        loads.push(load);
    }
    let gpu_id = loads
        .first()
        .context("the group has no queues")?
        .identity
        .gpu_id;
    let listener = control
        .as_deref()
        .map(|path| {
            Ok::<_, anyhow::Error>((control::listen(path)?, UserPages::lock(&runtime, spec.gpu)?))
        })
        .transpose()?;

    let chains = chains(spec, &loads, &runtime, signals)?;
    send(
        output,
        &FromGroup::Ready(loads.iter().map(|load| load.identity.clone()).collect()),
    )?;
    let Start { guest_ns } = receive(input)?;

    let mut clock = Correlation::new(gpu_id, ticks_per_second)?;
    clock.sample(&kfd).context("reading the GPU's clock")?;
    let ended = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        let running: Vec<_> = loads
            .iter()
            .zip(&chains)
            .map(|(load, chains)| scope.spawn(|| load.run(spec, guest_ns, chains)))
            .collect();
        if let Some((listener, pages)) = &listener {
            scope.spawn(|| control::serve(listener, &kfd, pages, &loads, &ended));
        }
        let sampled = sample_until(&mut clock, &kfd, || {
            running.iter().all(|load| load.is_finished())
        });
        let outcomes: Vec<_> = running
            .into_iter()
            .map(|load| load.join().expect("a load does not panic"))
            .collect();
        ended.store(true, Ordering::Release);
        sampled.map(|()| outcomes)
    })?;
    if let Some(path) = control {
        let _ = std::fs::remove_file(path);
    }
    Ok(loads
        .iter()
        .zip(outcomes)
        .map(|(load, outcome)| load.finish(outcome, &clock, spec))
        .collect())
}

fn sample_until(clock: &mut Correlation, kfd: &Kfd, done: impl Fn() -> bool) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(20);
    let mut since = Duration::ZERO;
    while !done() {
        thread::sleep(LOOK);
        since += LOOK;
        if since >= CLOCK_INTERVAL {
            clock.sample(kfd).context("reading the GPU's clock")?;
            since = Duration::ZERO;
        }
    }
    clock.sample(kfd).context("reading the GPU's clock")
}

/// Each dependency's signals start at a page of their own.
const CHAIN_ALIGNMENT: usize = 64 << 10;

/// A file with the signals of all dependencies, and the path under which other
/// processes find it while it is open.
fn shared_signals(spec: &RunSpec) -> Result<(File, PathBuf)> {
    let mut file = File::from(memfd_create(c"signals", MFdFlags::MFD_CLOEXEC)?);
    for dependency in &spec.dependencies {
        let mut content = SharedSignals::content(chain_length(spec, dependency));
        content.resize(content.len().next_multiple_of(CHAIN_ALIGNMENT), 0);
        file.write_all(&content)?;
    }
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path.into()))
}

/// One signal for each request of the queue that waits.
fn chain_length(spec: &RunSpec, dependency: &Dependency) -> usize {
    spec.queue(&dependency.to)
        .and_then(|queue| queue.requests)
        .unwrap_or(0) as usize
}

/// For each load the signals it waits for and those it tells others by.
fn chains(
    spec: &RunSpec,
    loads: &[Load],
    runtime: &Arc<Runtime>,
    signals: &Path,
) -> Result<Vec<Chains>> {
    let mut chains: Vec<Chains> = loads.iter().map(|_| Chains::default()).collect();
    let mut offset = 0;
    for dependency in &spec.dependencies {
        let length = chain_length(spec, dependency);
        let position = |name: &str| loads.iter().position(|load| load.spec.name == name);
        let (from, to) = (position(&dependency.from), position(&dependency.to));
        if length > 0 && (from.is_some() || to.is_some()) {
            let file = OpenOptions::new().read(true).write(true).open(signals)?;
            let chain = SharedSignals::map(runtime, spec.gpu, &file, offset as u64, length)
                .context("sharing the signals of a dependency")?;
            let chain = Arc::new(chain);
            if let Some(from) = from {
                chains[from].tell.push(chain.clone());
            }
            if let Some(to) = to {
                chains[to].wait_for.push((chain, dependency.barrier));
            }
        }
        offset += SharedSignals::content(length)
            .len()
            .next_multiple_of(CHAIN_ALIGNMENT);
    }
    Ok(chains)
}
