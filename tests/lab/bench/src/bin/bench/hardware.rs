// SPDX-License-Identifier: GPL-2.0-only
//! The loads on the GPU of the machine itself.

use std::fs;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result};
use clap::Args;
use e2e_runner::cache::make_directory;
use gpreempt_bench::contender::Contender;
use gpreempt_bench::hardware;
use gpreempt_bench::part::Part;
use gpreempt_bench::report;
use gpreempt_bench::results::{Conditions, Name, Outcome, Record, Results, SCHEMA};
use gpreempt_bench::settings;
use gpreempt_bench::suite;
use gpreempt_policy::Numbers;
use gpreempt_simulator::loads;

use crate::{commit, contender, load};

#[derive(Args)]
pub struct Hardware {
    /// For how many milliseconds urgent requests arrive in a run.
    #[arg(long, default_value_t = 10_000)]
    millis: u64,
    /// How often everything is run, with other arrivals each time.
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Loads to run; all when none are given.
    #[arg(long, value_delimiter = ',', value_parser = load)]
    loads: Vec<String>,
    /// Contenders to run.
    #[arg(long, value_delimiter = ',', value_parser = contender,
        default_value = "alone,none,classes,poller,reset,claimed,strict,direct,hints")]
    contenders: Vec<Contender>,
    /// Where results, tables and plots are written.
    #[arg(long)]
    output: PathBuf,
}

impl Hardware {
    pub fn perform(self) -> Result<()> {
        make_directory(&self.output)?;
        let gpu = hardware::find()?;
        let programs = std::env::current_exe()?;
        let programs = programs
            .parent()
            .context("this program is in no directory")?;
        let file = self.output.join("results.json");
        let mut results = Results {
            schema: SCHEMA,
            conditions: Conditions {
                gpu: gpu.name,
                commit: commit(),
                kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?
                    .trim()
                    .into(),
                extent: format!("for {} ms", self.millis),
                dilation: 1,
                settings: settings::in_force(),
                host: format!("{} processors", thread::available_parallelism()?),
                poll_interval_us: Numbers::DEFAULT.poll_interval_us,
                ..Conditions::default()
            },
            ..Results::default()
        };
        let mut loads = self.loads;
        if loads.is_empty() {
            loads = suite::names().map(str::to_owned).collect();
        }
        for seed in 1..=self.seeds {
            for name in &loads {
                let workload = loads::by_name(name).context("a name that was checked")?;
                let spec = hardware::spec(&workload, gpu.units, self.millis * 1_000_000, seed);
                for &contender in &self.contenders {
                    let keep = format!("{name}-{}-{seed}", contender.name());
                    let outcome =
                        hardware::run(programs, &spec, contender, &self.output.join(keep))
                            .map_or_else(
                                |error| Outcome::Failed(format!("{error:#}")),
                                |measurement| Outcome::Measured(Box::new(measurement)),
                            );
                    println!(
                        "bench: {name} {}: {}",
                        contender.name(),
                        report::in_short(&outcome)
                    );
                    results.record(Record {
                        name: Name {
                            part: Part::Loads.name().into(),
                            load: name.clone(),
                            x: None,
                            contender: contender.name().into(),
                            seed,
                        },
                        outcome,
                    });
                    results.write(&file)?;
                }
            }
        }
        report::write(&results, &self.output)
    }
}
