// SPDX-License-Identifier: GPL-2.0-only
//! Runs the suites of scenarios, or gives a prompt in a guest.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{ensure, Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use e2e_runner::built;
use e2e_runner::cache::{Cache, Kernel};
use e2e_runner::failed::Failures;
use e2e_runner::image::Clock;
use e2e_runner::partitions::Partitions;
use e2e_runner::plan::{self, Extent};
use e2e_runner::results::Results;
use e2e_runner::scenario::{Configuration, Kept, Scenario, Suite};
use e2e_runner::scenarios;
use e2e_runner::shell::Shell;
use e2e_runner::storm::{new_seed, Plan};
use vgpu_model::Product;

/// Guests of the stock kernel with the virtual MI300X.
#[derive(Parser)]
struct Arguments {
    /// Kernel series to use, as in 7.3; again for more. All by default.
    #[arg(long, global = true, value_delimiter = ' ')]
    kernel: Vec<String>,
    /// A kernel that is not of the cache, instead: a directory with vmlinuz and
    /// lib/modules.
    #[arg(long, global = true, conflicts_with = "kernel")]
    image: Option<PathBuf>,
    /// The options of a suite's script by which it has made the image, for the command that
    /// runs a failed scenario again.
    #[arg(long, global = true, requires = "image")]
    origin: Option<String>,
    /// Numbers of dies to use.
    #[arg(long, global = true, value_delimiter = ' ', default_values_t = [1, 8])]
    xcc: Vec<u32>,
    /// The GPU: mi300a, mi300x, mi325x, mi350x or mi355x.
    #[arg(long = "gpu", global = true, default_value_t)]
    product: Product,
    /// How often scenarios that count on repetition repeat.
    #[arg(long, global = true, default_value_t = 500)]
    cycles: u32,
    /// Parameters that every scenario loads the module with, besides its own, unless it
    /// chooses a backend.
    #[arg(long, global = true, default_value = "")]
    parameters: String,
    /// Guests that run side by side (default: as many as processors and memory allow).
    #[arg(long, global = true)]
    jobs: Option<usize>,
    /// Whose time the guests have.
    #[arg(long, global = true, value_enum, default_value_t = ClockName::Host)]
    clock: ClockName,
    /// The GPU of every scenario that makes sense there is a virtual function.
    #[arg(long, global = true)]
    virtual_function: bool,
    /// How the GPU of every scenario that makes sense there is divided; on GPUs with so many
    /// dies that the driver divides them so.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        conflicts_with = "virtual_function"
    )]
    partitions: Partitions,
    /// The seed of a storm (default: one that nobody has tried).
    #[arg(long, global = true)]
    seed: Option<u64>,
    /// How long a storm is, in the guest's time.
    #[arg(long, global = true, default_value_t = 60)]
    seconds: u64,
    /// A storm, or what is run in a guest, meets the stock driver alone.
    #[arg(long, global = true)]
    without_module: bool,
    /// Say which functions of KFD a storm has called.
    #[arg(long, global = true)]
    coverage: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a suite of scenarios.
    Test {
        #[arg(value_enum)]
        suite: SuiteName,
        /// Only scenarios whose name contains this; again for more.
        #[arg(long)]
        filter: Vec<String>,
        /// Each scenario on each kernel with each number of dies, also where no filter
        /// is given: otherwise one has the oldest kernel and the newest, and each number
        /// of dies, once (of the suite vgpu, one pair of all), and the next one the other
        /// pairs.
        #[arg(long)]
        everywhere: bool,
    },
    /// List the scenarios.
    List,
    /// A prompt in a guest of the last kernel, with the module if it is built, or a command
    /// that is run there.
    Shell {
        /// The guest has the files of this directory, too; again for more.
        #[arg(long)]
        add: Vec<PathBuf>,
        /// The GPU has few compute units and 512 MiB, which a program can fill.
        #[arg(long)]
        small: bool,
        /// The guest has two GPUs.
        #[arg(long)]
        second_gpu: bool,
        /// What its shell runs instead of giving a prompt; its status is this command's.
        command: Option<String>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum SuiteName {
    Vgpu,
    E2e,
    Storm,
    Matrix,
    Endurance,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClockName {
    /// The host's: two processors of the guest execute at the same time.
    Host,
    /// One that counts instructions: a busy host makes nothing late.
    Guest,
    /// The same, and it may run ahead of the host's while a GPU works.
    Hurried,
}

impl From<ClockName> for Clock {
    fn from(name: ClockName) -> Clock {
        match name {
            ClockName::Host => Clock::Host,
            ClockName::Guest => Clock::Own,
            ClockName::Hurried => Clock::Hurried,
        }
    }
}

impl From<SuiteName> for Suite {
    fn from(name: SuiteName) -> Suite {
        match name {
            SuiteName::Vgpu => Suite::Vgpu,
            SuiteName::E2e => Suite::E2e,
            SuiteName::Storm => Suite::Storm,
            SuiteName::Matrix => Suite::Matrix,
            SuiteName::Endurance => Suite::Endurance,
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let cache = Cache::open()?;
    let kernels = match &arguments.image {
        Some(image) => vec![Kernel {
            origin: arguments.origin.clone(),
            ..Kernel::at(image)?
        }],
        None => cache.kernels(&arguments.kernel)?,
    };
    let storm = Plan {
        seed: arguments.seed.unwrap_or_else(new_seed),
        seconds: arguments.seconds,
        with_module: !arguments.without_module,
        coverage: arguments.coverage,
    };
    let configurations: Vec<Configuration> = kernels
        .iter()
        .flat_map(|kernel| {
            let fitting = |xcc: &&u32| arguments.partitions.fits(**xcc);
            arguments
                .xcc
                .iter()
                .filter(fitting)
                .map(|&xcc| Configuration {
                    product: arguments.product,
                    cycles: arguments.cycles,
                    parameters: arguments.parameters.clone(),
                    storm,
                    clock: arguments.clock.into(),
                    virtual_function: arguments.virtual_function,
                    partitions: arguments.partitions,
                    ..Configuration::new(kernel.clone(), xcc)
                })
        })
        .collect();
    match arguments.command {
        Command::Test {
            suite,
            filter,
            everywhere,
        } => {
            let mut scenarios: Vec<&Scenario> = scenarios::all()
                .filter(|scenario| scenario.suite == suite.into())
                .filter(|scenario| {
                    let named = |text: &String| scenario.name.contains(text.as_str());
                    filter.is_empty() || filter.iter().any(named)
                })
                .collect();
            ensure!(
                !scenarios.is_empty(),
                "no scenario of this suite has a name with '{}': 'runner list' names them",
                filter.join("' or '")
            );
            if scenarios
                .iter()
                .any(|scenario| scenario.suite != Suite::Vgpu)
            {
                for configuration in &configurations {
                    if configuration.kernel.own_module().is_none() {
                        built::check_module(&configuration.kernel.release)?;
                    }
                    built::check_gate(&configuration.kernel.release)?;
                }
            }
            let Arguments {
                product,
                virtual_function,
                partitions,
                ..
            } = arguments;
            scenarios.retain(|scenario| {
                let why = scenario.needs.not_of(product, virtual_function);
                let why = why.or_else(|| scenario.needs.not_on(partitions));
                if let Some(why) = &why {
                    println!("not run {product}: {}: {why}", scenario.name);
                }
                why.is_none()
            });
            let extent = match everywhere || !filter.is_empty() {
                true => Extent::Everywhere,
                false => Suite::from(suite).extent(),
            };
            for line in plan::left_out(&configurations, &scenarios) {
                println!("{line}");
            }
            let groups = plan::plan(&configurations, &scenarios, extent);
            let jobs = arguments.jobs.unwrap_or_else(plan::jobs).max(1);
            let kept = Kept {
                failures: Failures::new()?,
                results: Results::new()?,
            };
            let tally = plan::run(&cache, &kept, groups, jobs);
            println!("{} passed, {} failed", tally.passed, tally.failed);
            Ok(if tally.failed == 0 && tally.passed > 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Command::List => {
            for scenario in scenarios::all() {
                println!("{}\t{}", scenario.suite.name(), scenario.name);
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Shell {
            add,
            small,
            second_gpu,
            command,
        } => {
            let configuration = configurations
                .iter()
                .rfind(|configuration| configuration.xcc == 1)
                .or(configurations.last())
                .context("no kernel and no number of dies is left")?;
            let shell = Shell {
                add,
                command,
                with_module: !arguments.without_module,
                small,
                second_gpu,
            };
            shell.run(&cache, configuration)
        }
    }
}
