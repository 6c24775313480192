// SPDX-License-Identifier: GPL-2.0-only
//! Puts load on a GPU through the stock ROCr runtime and says in JSON what came
//! of it. The exit status is 0 when every workgroup ran exactly once, 1 when not,
//! and 2 when the run could not be made.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use clap::{Parser, Subcommand};
use gpu_workload::group;
use gpu_workload::hsa::{self, Buffer, Place, Runtime, Signal};

use gpu_workload::kfd::{ioctl::Kfd, sysfs};
use gpu_workload::machine::{self, Job, Said};
use gpu_workload::report::Event;
use gpu_workload::spec::RunSpec;

#[derive(Parser)]
#[command(about = "GPU loads through ROCr whose every workgroup is counted")]
struct Arguments {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Run the queues that a specification lists
    Run {
        /// JSON text, @FILE, or - for standard input
        #[arg(long)]
        spec: String,
        /// Directory for the processes' control sockets, GROUP.sock
        #[arg(long)]
        control: Option<PathBuf>,
    },
    /// Show the GPUs as ROCr and KFD see them
    Info,
    /// Copy to the GPU and back with the copy engines, and compare
    Copy {
        #[arg(long, default_value_t = 1 << 20)]
        bytes: usize,
        #[arg(long, default_value_t = 1)]
        times: u32,
        #[arg(long, default_value_t = 0)]
        gpu: usize,
        /// Give up a copy after this time
        #[arg(long, default_value_t = 60_000)]
        timeout_ms: u64,
    },
    /// Run a specification again and again, each time with new queues
    Churn {
        #[arg(long)]
        spec: String,
        #[arg(long, default_value_t = 10)]
        times: u32,
    },
    /// Dispatch machine code until a file is there, and compare memory each time
    Machine {
        /// A file with a list of jobs as JSON
        #[arg(long)]
        jobs: PathBuf,
    },
    /// One process of a run
    #[command(hide = true)]
    Group,
}

fn main() -> ExitCode {
    match perform(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("workload: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn perform(what: What) -> Result<bool> {
    match what {
        What::Run { spec, control } => {
            let spec = read_spec(&spec)?;
            if let Some(directory) = &control {
                fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
            }
            run(&spec, control.as_deref())
        }
        What::Info => info().map(|()| true),
        What::Copy {
            bytes,
            times,
            gpu,
            timeout_ms,
        } => copy(bytes, times, gpu, Duration::from_millis(timeout_ms)).map(|()| true),
        What::Churn { spec, times } => {
            let spec = read_spec(&spec)?;
            for _ in 0..times {
                if !run(&spec, None)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        What::Machine { jobs } => machine(&jobs),
        What::Group => group::serve().map(|()| true),
    }
}

fn read_spec(argument: &str) -> Result<RunSpec> {
    let text = match (argument, argument.strip_prefix('@')) {
        ("-", _) => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        (_, Some(file)) => fs::read_to_string(file).with_context(|| file.to_owned())?,
        (text, None) => text.to_owned(),
    };
    RunSpec::parse(&text).context("the specification")
}

fn run(spec: &RunSpec, control: Option<&std::path::Path>) -> Result<bool> {
    let mut say = |event: &Event| -> Result<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(event)?)?;
        Ok(output.flush()?)
    };
    let report = group::run(spec, &["group"], control, &mut say)?;
    let ok = report.ok;
    say(&Event::Report(report))?;
    Ok(ok)
}

fn machine(file: &std::path::Path) -> Result<bool> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let jobs: Vec<Job> = serde_json::from_str(&text).context("the jobs")?;
    machine::run(&jobs, &mut |said: &Said| -> Result<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(said)?)?;
        Ok(output.flush()?)
    })
}

fn info() -> Result<()> {
    let runtime = Runtime::open()?;
    let (major, minor) = Kfd::open()?
        .version()
        .context("asking KFD for its version")?;
    let gpus = runtime
        .gpus()
        .map(|gpu| {
            Ok(serde_json::json!({
                "runtime": gpu,
                "gpu_id": sysfs::gpu_id(gpu.node)?,
                "properties": sysfs::properties(gpu.node)?,
            }))
        })
        .collect::<Result<Vec<_>>>()?;
    println!(
        "{}",
        serde_json::json!({ "kfd": format!("{major}.{minor}"), "gpus": gpus })
    );
    Ok(())
}

fn copy(bytes: usize, times: u32, gpu: usize, timeout: Duration) -> Result<()> {
    ensure!(bytes > 0, "there is nothing to copy");
    let runtime = Runtime::open()?;
    let source = Buffer::allocate(&runtime, gpu, Place::Host, bytes)?;
    let back = Buffer::allocate(&runtime, gpu, Place::Host, bytes)?;
    let device = Buffer::allocate(&runtime, gpu, Place::Device, bytes)?;
    let done = Signal::create(&runtime, 0)?;
    for round in 0..times {
        for (index, word) in source.words().iter().enumerate() {
            let value = (index as u32)
                .wrapping_mul(2_654_435_761)
                .wrapping_add(round);
            word.store(value, std::sync::atomic::Ordering::Relaxed);
        }
        for (to, from) in [(&device, &source), (&back, &device)] {
            done.store(1);
            hsa::copy(to, from, &done)?;
            ensure!(
                done.wait_below(1, timeout),
                "copy {round} did not finish within {timeout:?}"
            );
        }
        let differs = source.words().iter().zip(back.words()).position(|(a, b)| {
            let order = std::sync::atomic::Ordering::Acquire;
            a.load(order) != b.load(order)
        });
        if let Some(word) = differs {
            anyhow::bail!("copy {round}: word {word} came back different");
        }
    }
    println!(
        "{}",
        serde_json::json!({ "bytes": bytes, "times": times, "same": true })
    );
    Ok(())
}
