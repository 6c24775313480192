// SPDX-License-Identifier: GPL-2.0-only

//! Command line of the simulator.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use gpreempt_simulator::gpu::Gpu;
use gpreempt_simulator::loads;
use gpreempt_simulator::policies::{setting, Effort, Policy};
use gpreempt_simulator::report;
use gpreempt_simulator::score;
use gpreempt_simulator::sweep::{self, Sweep};
use gpreempt_simulator::workload::Workload;
use gpreempt_simulator::{document, documented};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Parser)]
#[command(about = "Discrete-event simulator of one GPU node under a preemption policy")]
struct Arguments {
    /// The node: mi300x-spx (a whole GPU), mi300x-qpx or mi300x-cpx (one of 4 or 8 partitions),
    /// with `-direct` behind it for transactions of the module's own.
    #[arg(long, global = true, default_value = "mi300x-spx")]
    gpu: String,
    /// Random seeds per workload; each starts the clients at other times.
    #[arg(long, global = true, default_value_t = 4)]
    seeds: u64,
    /// Simulated seconds for each seed; more where a workload has too few requests by then.
    #[arg(long, global = true, default_value_t = 2.0)]
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
    /// Judge contenders by the goals: on each load, beside who is told and has no foresight,
    /// the reactive reference, and no module.
    Score {
        #[arg(long, value_delimiter = ',', default_values = loads::names())]
        loads: Vec<String>,
        #[arg(long, value_delimiter = ',', default_values = score::NODES)]
        nodes: Vec<String>,
        #[arg(long, value_delimiter = ',', default_values = score::CONTENDERS)]
        contenders: Vec<String>,
        /// A parameter of the module, or sampler=auto|memory.
        #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
        /// Write all figures to this file as JSON.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Write all tables, figures and pictures of docs/simulation.
    Document {
        #[arg(long, default_value = "docs/simulation")]
        out: PathBuf,
        /// Only these parts. `pictures` runs nothing: every picture is drawn from the figures there.
        #[arg(long, value_delimiter = ',', default_values = document::PARTS)]
        parts: Vec<String>,
    },
    /// Try values of a parameter of the module.
    Sweep {
        /// Parameters, or `all`.
        #[arg(required = true)]
        parameters: Vec<String>,
        /// Other parameters for the whole sweep.
        #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
        /// Write the tables into this directory.
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let gpu = node(&arguments.gpu)?;
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
                let workload = load(&name)?;
                let comparison = documented::compare(&gpu, &workload, &policies, effort);
                println!(
                    "{name} on {}\n\n{}",
                    gpu.name,
                    report::comparison(&comparison)
                );
                comparisons.push(comparison);
            }
            for policy in ["strict"] {
                if comparisons.iter().all(|c| c.of(policy).is_some()) {
                    println!(
                        "{policy}: one urgent request\n\n{}",
                        report::split(&comparisons, policy)
                    );
                }
            }
            if let Some(path) = json {
                let all: Vec<_> = comparisons.iter().flat_map(|c| c.all()).collect();
                write_json(&path, &all)?;
            }
        }
        Command::Score {
            loads,
            nodes,
            contenders,
            settings,
            json,
        } => judge(
            &loads,
            &nodes,
            &contenders,
            &settings,
            effort,
            json.as_deref(),
        )?,
        Command::Document { out, parts } => document::write_parts(&out, &parts, effort)?,
        Command::Sweep {
            parameters,
            settings,
            out,
        } => {
            for sweep in sweeps(&parameters)? {
                let points = sweep::run(&gpu, sweep, &settings, effort)?;
                println!("{}", sweep::text(sweep, &points));
                if let Some(directory) = &out {
                    std::fs::create_dir_all(directory)
                        .with_context(|| format!("cannot create {}", directory.display()))?;
                    sweep::write(directory, sweep, &points)?;
                }
            }
        }
    }
    Ok(())
}

fn node(name: &str) -> Result<Gpu> {
    Gpu::by_name(name).with_context(|| {
        format!(
            "there is no node '{name}': give mi300x-spx, mi300x-qpx or mi300x-cpx, or one with -direct"
        )
    })
}

fn load(name: &str) -> Result<Workload> {
    loads::by_name(name).with_context(|| {
        format!(
            "there is no workload '{name}': give some of {}",
            loads::names().join(", ")
        )
    })
}

fn write_json(path: &Path, figures: &impl Serialize) -> Result<()> {
    std::fs::write(path, serde_json::to_string_pretty(figures)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Scores the contenders on each load of each node, and says how often they were good.
fn judge(
    loads: &[String],
    nodes: &[String],
    contenders: &[String],
    settings: &[(String, String)],
    effort: Effort,
    json: Option<&Path>,
) -> Result<()> {
    let nodes: Vec<Gpu> = nodes.iter().map(|name| node(name)).collect::<Result<_>>()?;
    let loads: Vec<Workload> = loads.iter().map(|name| load(name)).collect::<Result<_>>()?;
    let contenders: Vec<Policy> = contenders
        .iter()
        .map(|name| Policy::by_name(name, settings))
        .collect::<Result<_>>()?;
    let mut scores = Vec::new();
    for node in &nodes {
        for load in &loads {
            let score = score::score(node, load, &contenders, effort);
            println!("{}", score::text(&score));
            scores.push(score);
        }
    }
    print!("{}", score::totals(&scores));
    if let Some(path) = json {
        write_json(path, &scores)?;
    }
    Ok(())
}

fn sweeps(parameters: &[String]) -> Result<Vec<Sweep>> {
    if parameters == ["all"] {
        return Ok(Sweep::ALL.to_vec());
    }
    parameters
        .iter()
        .map(|name| {
            Sweep::by_name(name).with_context(|| {
                let names: Vec<_> = Sweep::ALL.iter().map(|s| s.parameter).collect();
                format!(
                    "there is no sweep of '{name}': give all or some of {}",
                    names.join(", ")
                )
            })
        })
        .collect()
}
