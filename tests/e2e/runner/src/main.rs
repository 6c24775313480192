// SPDX-License-Identifier: GPL-2.0
//! Runs the suites of scenarios, or gives a prompt in a guest.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use e2e_runner::cache::Cache;
use e2e_runner::scenario::{run_all, Configuration, Needs, Scenario, Suite, Tally};
use e2e_runner::scenarios;

/// Guests of the stock kernel with the virtual MI300X.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Kernel series to use, as in 7.3; again for more. All by default.
    #[arg(long, global = true, value_delimiter = ' ')]
    kernel: Vec<String>,
    /// Numbers of dies to use.
    #[arg(long, global = true, value_delimiter = ' ', default_values_t = [1, 8])]
    xcc: Vec<u32>,
    /// How often scenarios that count on repetition repeat.
    #[arg(long, global = true, default_value_t = 500)]
    cycles: u32,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a suite of scenarios.
    Test {
        #[arg(value_enum)]
        suite: SuiteName,
        /// Only scenarios whose name contains this.
        #[arg(long, default_value = "")]
        filter: String,
    },
    /// List the scenarios.
    List,
    /// Run shell lines from standard input in a guest.
    Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum SuiteName {
    Vgpu,
    E2e,
}

impl From<SuiteName> for Suite {
    fn from(name: SuiteName) -> Suite {
        match name {
            SuiteName::Vgpu => Suite::Vgpu,
            SuiteName::E2e => Suite::E2e,
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let cache = Cache::open()?;
    let kernels = cache.kernels(&arguments.kernel)?;
    let configurations: Vec<Configuration> = kernels
        .into_iter()
        .flat_map(|kernel| {
            arguments.xcc.iter().map(move |&xcc| Configuration {
                kernel: kernel.clone(),
                xcc,
                cycles: arguments.cycles,
            })
        })
        .collect();
    match arguments.command {
        Command::Test { suite, filter } => {
            let scenarios: Vec<&Scenario> = scenarios::all()
                .filter(|scenario| scenario.suite == suite.into())
                .filter(|scenario| scenario.name.contains(&filter))
                .collect();
            Ok(test(&cache, &configurations, &scenarios))
        }
        Command::List => {
            for scenario in scenarios::all() {
                println!("{:?}\t{}", scenario.suite, scenario.name);
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Shell => {
            let configuration = configurations
                .last()
                .context("no kernel and no number of dies is left")?;
            shell(&cache, configuration)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn test(cache: &Cache, configurations: &[Configuration], scenarios: &[&Scenario]) -> ExitCode {
    let mut total = Tally::default();
    for configuration in configurations {
        let tally = run_all(cache, configuration, scenarios);
        total.passed += tally.passed;
        total.failed += tally.failed;
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 && total.passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Each line is run by the guest's shell; its output follows.
fn shell(cache: &Cache, configuration: &Configuration) -> Result<()> {
    let mut guest = configuration.start(cache, &Needs::ANY)?;
    eprintln!("the disk's files are in /files; end with Ctrl-D");
    loop {
        eprint!("guest# ");
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line)? == 0 {
            return Ok(());
        }
        match guest.agent().shell(&line) {
            Ok(text) => print!("{text}"),
            Err(error) => eprintln!("{error:#}"),
        }
    }
}
