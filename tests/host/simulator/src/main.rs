// SPDX-License-Identifier: GPL-2.0

//! Command line of the simulator.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use gpreempt_simulator::gpu::Gpu;
use gpreempt_simulator::policies::{measure, setting, Effort, Policy};
use gpreempt_simulator::report::{self, Comparison};
use gpreempt_simulator::workload::Workload;
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Discrete-event simulator of one GPU node under a preemption policy")]
struct Arguments {
    /// The node: mi300x-spx (a whole GPU) or mi300x-cpx (one partition of it).
    #[arg(long, global = true, default_value = "mi300x-spx")]
    gpu: String,
    /// Random seeds per workload; each starts the clients at other times.
    #[arg(long, global = true, default_value_t = 8)]
    seeds: u64,
    /// Simulated seconds for each seed.
    #[arg(long, global = true, default_value_t = 4.0)]
    seconds: f64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the table of service times and where they are from.
    Services,
    /// Compare policies on workloads.
    Table {
        /// Names of workloads.
        #[arg(long, value_delimiter = ',', default_values = Workload::names())]
        workloads: Vec<String>,
        #[arg(long, value_delimiter = ',', default_values = Policy::NAMES)]
        policies: Vec<String>,
        /// A parameter of the module, or sampler=auto|memory.
        #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
        /// Write all figures to this file as JSON.
        #[arg(long)]
        json: Option<PathBuf>,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let gpu = Gpu::by_name(&arguments.gpu).with_context(|| {
        format!(
            "there is no node '{}': give mi300x-spx or mi300x-cpx",
            arguments.gpu
        )
    })?;
    let effort = Effort::new(arguments.seeds, arguments.seconds);
    match arguments.command {
        Command::Services => print!("{}", report::services(&gpu)),
        Command::Table {
            workloads,
            policies,
            settings,
            json,
        } => {
            let policies: Vec<Policy> = policies
                .iter()
                .filter(|name| *name != "none" && *name != "alone")
                .map(|name| Policy::by_name(name, &settings))
                .collect::<Result<_>>()?;
            let mut comparisons = Vec::new();
            for name in workloads {
                let workload = Workload::by_name(&name).with_context(|| {
                    format!(
                        "there is no workload '{name}': give some of {}",
                        Workload::names().join(", ")
                    )
                })?;
                let comparison = Comparison {
                    alone: measure(&gpu, &workload, &Policy::Alone, effort),
                    none: measure(&gpu, &workload, &Policy::None, effort),
                    others: policies
                        .iter()
                        .map(|policy| measure(&gpu, &workload, policy, effort))
                        .collect(),
                };
                println!(
                    "{name} on {}\n\n{}",
                    gpu.name,
                    report::comparison(&comparison)
                );
                comparisons.push(comparison);
            }
            for policy in ["strict", "fair", "deadline"] {
                if comparisons.iter().all(|c| c.of(policy).is_some()) {
                    println!(
                        "{policy}: one urgent request\n\n{}",
                        report::split(&comparisons, policy)
                    );
                }
            }
            if let Some(path) = json {
                let all: Vec<_> = comparisons.iter().flat_map(|c| c.all()).collect();
                std::fs::write(&path, serde_json::to_string_pretty(&all)?)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
    }
    Ok(())
}
