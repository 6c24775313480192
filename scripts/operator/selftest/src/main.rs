// SPDX-License-Identifier: GPL-2.0-only
//! The first hour of the module on a GPU: one command that goes from reading only to full
//! load, checks the work of each step, stops at the first surprise, leaves everything as
//! it was and writes one report.

#![forbid(unsafe_code)]

mod host;
mod keeper;
mod kernel_log;
mod load;
mod module;
mod report;
mod session;
mod steps;
#[cfg(test)]
mod testing;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, Result};
use clap::{Parser, Subcommand};
use gpreempt_simulator::workload::Workload;

use crate::host::Host;
use crate::keeper::{Keeper, Kept};
use crate::kernel_log::KernelLog;
use crate::load::Machine;
use crate::module::Module;
use crate::report::{Done, Outcome, Report};
use crate::session::{Session, Signals};
use crate::steps::{Extent, Found, STEPS};

/// Tries amd_gpreempt on this machine's GPU, from reading only to full load.
#[derive(Parser)]
#[command(name = "gpreempt-selftest")]
struct Arguments {
    #[command(subcommand)]
    part: Option<PartOfIt>,
    /// Where /sys and /proc are.
    #[arg(long, default_value = "/", hide = true, global = true)]
    root: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// What this program starts itself for.
#[derive(Subcommand)]
enum PartOfIt {
    #[command(hide = true)]
    Keep,
    #[command(hide = true)]
    Load { sockets: PathBuf },
    #[command(hide = true)]
    Group,
}

#[derive(clap::Args)]
struct Options {
    /// The last step: 0 what is here, 1 reading only, 2 one transaction, 3 a load stopped and started, 4 the loads.
    #[arg(long, default_value_t = STEPS.len() - 1, value_parser = last_step)]
    until: usize,
    /// Which GPU of those that KFD shows, the first being 0.
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// How often a load is stopped and started, for each of three sizes of its state.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    cycles: u64,
    /// Loads of the last step; all when none are given.
    #[arg(long, value_delimiter = ',', value_parser = load_name)]
    loads: Vec<String>,
    /// For how many milliseconds of GPU time urgent requests arrive in each run, at least.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(20..=600_000))]
    millis: u64,
    /// How many urgent requests there are in each run, at least.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    requests: u64,
    /// For how many seconds anything may last before it is a surprise.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    patience: u64,
    /// Go on although others use the GPU, whose queues may be stopped.
    #[arg(long)]
    beside_others: bool,
    /// The GPU is the project's virtual one, so many times slower than the clock.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    r#virtual: Option<u32>,
    /// The report's file.
    #[arg(long, default_value = "gpreempt-selftest.md")]
    output: PathBuf,
}

fn last_step(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(step) if step < STEPS.len() => Ok(step),
        _ => bail!("the steps are 0 to {}", STEPS.len() - 1),
    }
}

fn load_name(name: &str) -> Result<String> {
    if Workload::by_name(name).is_none() {
        bail!(
            "there is no load {name}; there are {}",
            Workload::names().join(", ")
        );
    }
    Ok(name.to_owned())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let is_part = arguments.part.is_some();
    let outcome = match arguments.part {
        Some(PartOfIt::Keep) => keeper::keep(&arguments.root).map(|()| true),
        Some(PartOfIt::Load { sockets }) => load::serve(&sockets).map(|()| true),
        Some(PartOfIt::Group) => gpu_workload::group::serve().map(|()| true),
        None => run(&arguments.root, &arguments.options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The self test was ended, and has said so.
        Err(error) if is_part && nobody_listens(&error) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("gpreempt-selftest: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether whoever started this process is gone.
fn nobody_listens(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Whether everything went well.
fn run(root: &Path, options: &Options) -> Result<bool> {
    let signals = Signals::take()?;
    let host = Host::at(root);
    let module = Module::of(&host);
    module.loaded()?;
    let gpu = host.gpu(options.gpu)?;
    let before = module.stats(gpu.gpu_id)?;
    let kept = Kept::of(&module)?;
    let patience = Duration::from_secs(options.patience);
    let mut session = Session {
        gpu,
        machine: Machine {
            gpu: options.gpu,
            dilation: options.r#virtual.unwrap_or(1),
            machine_code: options.r#virtual.is_none(),
            timeout: patience,
        },
        module: module.clone(),
        patience,
        others: options.beside_others,
        signals,
        log: KernelLog::from_now()?,
        before,
        host: host.clone(),
    };
    // A file that cannot be written is told before anything is done.
    let mut report = Report::default();
    report.write(&host, &options.output)?;
    let keeper = Keeper::start(&kept, root)?;
    all_steps(&mut session, options, &mut report);
    report.not_restored = restore(keeper, &module, &kept);
    report.write(&host, &options.output)?;
    let short = report.in_short();
    if report.passed() {
        println!("{short}; the report is {}", options.output.display());
    } else {
        eprintln!(
            "gpreempt-selftest: {short}; the report is {}",
            options.output.display()
        );
    }
    Ok(report.passed())
}

/// Goes through the steps until one fails.
fn all_steps(session: &mut Session, options: &Options, report: &mut Report) {
    let extent = Extent {
        cycles: options.cycles,
        millis: options.millis,
        requests: options.requests,
        loads: options.loads.clone(),
    };
    for (step, (title, perform)) in STEPS.iter().enumerate().take(options.until + 1) {
        println!("step {step}: {title}");
        let mut found = Found::default();
        let outcome = perform(session, &extent, &mut found).and_then(|()| session.check());
        let outcome = match outcome {
            Ok(()) => Outcome::Passed,
            Err(error) => Outcome::Stopped(format!("{error:#}")),
        };
        let stopped = outcome != Outcome::Passed;
        report.steps.push(Done {
            step,
            title: (*title).into(),
            outcome,
            found,
        });
        if stopped {
            break;
        }
    }
}

/// Puts everything back and compares; what is not as it was is returned.
fn restore(keeper: Keeper, module: &Module, kept: &Kept) -> Option<String> {
    let restored = keeper.restore().and_then(|()| Kept::of(module));
    match restored {
        Err(error) => Some(format!("{error:#}")),
        Ok(now) => {
            let differences = kept.differences(&now);
            (!differences.is_empty()).then(|| differences.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn refusal(line: &str) -> String {
        let words = std::iter::once("gpreempt-selftest").chain(line.split(' '));
        match Arguments::try_parse_from(words) {
            Ok(_) => panic!("{line} is accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn bad_arguments_are_refused_with_what_there_is() {
        for (line, word) in [
            ("--until 5", "the steps are 0 to 4"),
            ("--until x", "the steps are 0 to 4"),
            (
                "--loads A,nonsense",
                "there is no load nonsense; there are A",
            ),
            ("--cycles 0", "1..=100000"),
            ("--millis 19", "20..=600000"),
            ("--requests 0", "1..=100000"),
            ("--patience 0", "1..=3600"),
            ("--virtual 0", "1..=1000"),
            ("--gpu -1", "unexpected argument"),
            ("surplus", "surplus"),
        ] {
            let text = refusal(line);
            assert!(text.contains(word), "{line}: {text}");
        }
    }

    #[test]
    fn a_host_without_the_module_is_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("report.md");
        let line = format!("gpreempt-selftest --output {}", output.display());
        let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
        let error = run(directory.path(), &arguments.options).unwrap_err();
        assert!(
            format!("{error:#}").contains("modprobe amd_gpreempt"),
            "{error:#}"
        );
        assert!(!output.exists());
    }
}
