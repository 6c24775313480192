// SPDX-License-Identifier: GPL-2.0-only
//! The benchmark: every load under every contender, each run in a guest of its own.

mod guests;
mod hardware;

use std::path::PathBuf;

use anyhow::{bail, Context, Result};
use clap::{Parser, Subcommand};
use e2e_runner::cache::make_directory;
use gpreempt_bench::contender::Contender;
use gpreempt_bench::report;
use gpreempt_bench::results::Results;
use gpreempt_bench::suite;

use guests::Run;
use hardware::Hardware;

/// What the module is worth beside other ways to schedule.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the benchmark, then write its tables and plots.
    Run(Run),
    /// Run the loads on this machine's own GPU.
    Hardware(Hardware),
    /// Write tables and plots of results that are there.
    Report {
        /// The file results.json of a run; those of several are put together.
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// Where tables and plots are written, and the results of several runs.
        #[arg(long)]
        output: PathBuf,
    },
}

fn load(name: &str) -> Result<String> {
    if !suite::names().any(|known| known == name) {
        bail!(
            "there is no load {name}; there are {}",
            suite::names().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(name.to_owned())
}

fn contender(name: &str) -> Result<Contender> {
    Contender::by_name(name).with_context(|| {
        let names = Contender::ALL.map(Contender::name).join(", ");
        format!("there is no contender {name}; there are {names}")
    })
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Run(run) => run.perform(),
        Command::Hardware(hardware) => hardware.perform(),
        Command::Report { results, output } => {
            make_directory(&output)?;
            let (first, others) = results.split_first().context("there are no results")?;
            let mut whole = Results::read(first)?;
            for other in others {
                whole.add(Results::read(other)?)?;
            }
            if whole.conditions.gpu == "virtual" {
                guests::simulate(&mut whole)?;
            }
            whole.write(&output.join("results.json"))?;
            report::write(&whole, &output)
        }
    }
}

/// The commit of the sources, which who starts this program knows.
fn commit() -> String {
    std::env::var("GP_COMMIT").unwrap_or_else(|_| "not known".into())
}
