// SPDX-License-Identifier: GPL-2.0-only
//! The contenders on this machine's own GPU, by the same programs as in a guest.
//!
//! There is no log of the device here. What the driver and the module say of a
//! run is kept beside it: the module's histograms of its transactions.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use gpreempt_simulator::workload::Workload;
use gpu_workload::report::{Event, QueueIdentity, RunReport};
use gpu_workload::spec::RunSpec;

use crate::contender::{command_line, scheduler_time, Contender};
use crate::measure::{duration, only, rules, urgent_clients};
use crate::measurement::{account, Measurement};
use crate::suite;

const MODULE: &str = "amd_gpreempt";
const RULES: &str = "/sys/devices/faux/amd_gpreempt/rules_add";
const TABLES: &str = "/sys/kernel/debug/amd_gpreempt";
const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
const SIMDS_OF_A_UNIT: u32 = 4;
/// gfx942, as the topology writes it.
const VERSION: &str = "90402";

/// A GPU of this machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Gpu {
    pub name: String,
    pub units: u32,
}

/// The first GPU that KFD shows, which must be one that the kernels are for.
pub fn find() -> Result<Gpu> {
    let mut nodes: Vec<PathBuf> = fs::read_dir(NODES)
        .context("this kernel shows no GPU for compute: is amdgpu loaded?")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    nodes.sort();
    for node in nodes {
        let text = fs::read_to_string(node.join("properties"))?;
        if let Some(gpu) = gpu(&text)? {
            return Ok(gpu);
        }
    }
    bail!("KFD shows no GPU");
}

/// What the properties of a topology's node say; nothing for a processor.
fn gpu(properties: &str) -> Result<Option<Gpu>> {
    let number = |name: &str| {
        let line = properties
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or("0").trim().to_owned()
    };
    let simds: u32 = number("simd_count").parse()?;
    if simds == 0 {
        return Ok(None);
    }
    let version = number("gfx_target_version");
    ensure!(
        version == VERSION,
        "the GPU is of version {version}; the benchmark's kernels are for {VERSION} (MI300) only"
    );
    Ok(Some(Gpu {
        name: format!("gfx942, {} compute units", simds / SIMDS_OF_A_UNIT),
        units: simds / SIMDS_OF_A_UNIT,
    }))
}

/// A workload as this machine runs it: no dilation, real machine code.
pub fn spec(workload: &Workload, units: u32, duration: u64, seed: u64) -> RunSpec {
    let mut spec = suite::spec(workload, &suite::node(units), duration, seed);
    spec.dilation = 1;
    for queue in &mut spec.queues {
        queue.kernel.machine_code = true;
    }
    spec
}

/// Runs a load to its end under a contender. What the module says goes to files
/// whose names begin with `keep`.
pub fn run(
    programs: &Path,
    spec: &RunSpec,
    contender: Contender,
    keep: &Path,
) -> Result<Measurement> {
    let module = match contender.parameters(&[], 1) {
        Some(parameters) => Some(Loaded::load(&parameters)?),
        None => None,
    };
    let directory = std::env::temp_dir().join(format!("gpreempt-bench-{}", std::process::id()));
    let mut child = Command::new(programs.join("workload"))
        .arg("run")
        .arg("--control")
        .arg(&directory)
        .args(["--spec", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the load")?;
    // A program that has ended already says why itself.
    if let Some(input) = child.stdin.take() {
        let _ = serde_json::to_writer(input, &only(spec, contender));
    }
    let output = child.stdout.take().context("the load has no output")?;
    let mut output = BufReader::new(output);
    let queues = ready(&mut output)?;
    if contender.by_rule() {
        for rule in rules(&queues, spec) {
            fs::write(RULES, &rule).with_context(|| format!("adding the rule '{rule}'"))?;
        }
    }
    let begin = Instant::now();
    let before = threads_time()?;
    let scheduler = start_scheduler(programs, &queues, &directory, contender)?;
    let report = finished(&mut output)?;
    let elapsed = begin.elapsed().as_nanos() as f64;
    let after = threads_time()?;
    child.wait()?;
    let _ = fs::remove_dir_all(&directory);
    let program = scheduler.map(end_scheduler).transpose()?;
    if let Some(module) = module {
        for table in ["latency.json", "stats.json", "events.json"] {
            let name = format!("{}-{table}", keep.display());
            fs::write(&name, fs::read_to_string(Path::new(TABLES).join(table))?).context(name)?;
        }
        module.unload()?;
    }
    let time = program.or(contender.parameters(&[], 1).map(|_| after - before));
    Ok(Measurement {
        processor: time.map(|time| time as f64 / elapsed),
        duration_ns: duration(spec),
        ..account(&report, &urgent_clients(spec))
    })
}

/// The module, which is taken away when something fails, too.
struct Loaded(bool);

impl Loaded {
    fn load(parameters: &str) -> Result<Loaded> {
        command(
            Command::new("modprobe")
                .arg(MODULE)
                .args(parameters.split(' ')),
        )?;
        Ok(Loaded(true))
    }

    fn unload(mut self) -> Result<()> {
        self.0 = false;
        command(Command::new("rmmod").arg(MODULE))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if self.0 {
            let _ = command(Command::new("rmmod").arg(MODULE));
        }
    }
}

fn command(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

fn next_event(output: &mut impl BufRead) -> Result<Event> {
    let mut line = String::new();
    ensure!(
        output.read_line(&mut line)? > 0,
        "the load ended without a report"
    );
    serde_json::from_str(&line).with_context(|| format!("the load printed {line}"))
}

fn ready(output: &mut BufReader<ChildStdout>) -> Result<Vec<QueueIdentity>> {
    match next_event(output)? {
        Event::Ready { queues } => Ok(queues),
        Event::Report(_) => bail!("the load reports before it is ready"),
    }
}

fn finished(output: &mut BufReader<ChildStdout>) -> Result<RunReport> {
    match next_event(output)? {
        Event::Report(report) => {
            let failure = report
                .queues
                .iter()
                .find_map(|queue| queue.failure.as_ref());
            match (failure, report.died.first()) {
                (Some(failure), _) => bail!("{failure}"),
                (_, Some(death)) => bail!("{}: {}", death.group, death.reason),
                _ => Ok(report),
            }
        }
        Event::Ready { .. } => bail!("the load is ready twice"),
    }
}

fn start_scheduler(
    programs: &Path,
    queues: &[QueueIdentity],
    sockets: &Path,
    contender: Contender,
) -> Result<Option<Child>> {
    let socket = |queue: &QueueIdentity| {
        let path = sockets.join(format!("{}.sock", queue.group));
        Ok(path.display().to_string())
    };
    let Some(line) = command_line(contender, 1, queues, socket)? else {
        return Ok(None);
    };
    let child = Command::new(programs.join("kfdctl"))
        .args(line)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the scheduler")?;
    Ok(Some(child))
}

fn end_scheduler(mut child: Child) -> Result<u64> {
    let mut text = String::new();
    let mut output = child.stdout.take().context("the scheduler has no output")?;
    output.read_to_string(&mut text)?;
    let status = child.wait()?;
    ensure!(status.success(), "the scheduler ended with {status}");
    scheduler_time(&text)
}

/// Processor time of the module's threads so far.
fn threads_time() -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir("/proc")? {
        let process = entry?.path();
        // A process may end while it is looked at.
        let Ok(name) = fs::read_to_string(process.join("comm")) else {
            continue;
        };
        if name.starts_with("gp/") {
            let text = fs::read_to_string(process.join("schedstat")).unwrap_or_default();
            sum += text
                .split(' ')
                .next()
                .and_then(|time| time.parse::<u64>().ok())
                .unwrap_or(0);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_told_from_a_processor_and_from_another_gpu() {
        assert_eq!(gpu("cpu_cores_count 64\nsimd_count 0\n").unwrap(), None);
        let mi300x = "simd_count 1216\ngfx_target_version 90402\n";
        assert_eq!(gpu(mi300x).unwrap().unwrap().units, 304);
        let other = gpu("simd_count 240\ngfx_target_version 90010\n").unwrap_err();
        assert!(other.to_string().contains("90010"), "{other}");
    }

    #[test]
    fn a_load_for_hardware_has_machine_code_and_no_dilation() {
        let spec = spec(&Workload::by_name("A").unwrap(), 304, 1_000_000, 1);
        assert_eq!(spec.dilation, 1);
        assert!(spec.queues.iter().all(|queue| queue.kernel.machine_code));
        RunSpec::parse(&serde_json::to_string(&spec).unwrap()).unwrap();
    }

    #[test]
    fn a_load_that_says_nothing_is_an_error() {
        assert!(next_event(&mut &b""[..]).is_err());
        assert!(next_event(&mut &b"nonsense\n"[..]).is_err());
        let ready = br#"{"event":"ready","queues":[]}"#;
        let event = next_event(&mut &ready[..]).unwrap();
        assert!(matches!(event, Event::Ready { queues } if queues.is_empty()));
    }
}
