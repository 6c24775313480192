// SPDX-License-Identifier: GPL-2.0-only
//! The benchmark: every load under every contender, in turns, in one guest.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use clap::{Args, Parser, Subcommand};
use e2e_runner::cache::{make_directory, Cache, Kernel};
use e2e_runner::scenario::Configuration;
use gpreempt_bench::contender::Contender;
use gpreempt_bench::hardware;
use gpreempt_bench::load::DILATION;
use gpreempt_bench::measure::Arena;
use gpreempt_bench::plan::{experiments, Experiment, Extent, Part, Place};
use gpreempt_bench::report;
use gpreempt_bench::results::{Conditions, Loads, Outcome, Record, Results, SCHEMA};
use gpreempt_bench::settings;
use gpreempt_bench::suite;
use gpreempt_policy::Numbers;
use gpreempt_simulator::loads;
use serde_json::json;
use vgpu_model::Timing;

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

#[derive(Args)]
struct Hardware {
    /// For how many milliseconds urgent requests arrive in a run.
    #[arg(long, default_value_t = 10_000)]
    millis: u64,
    /// How often everything is run.
    #[arg(long, default_value_t = 5)]
    repetitions: u32,
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

#[derive(Args)]
struct Run {
    /// The kernel series to boot.
    #[arg(long, default_value = "7.3")]
    kernel: String,
    /// For how many milliseconds of GPU time urgent requests arrive in a run, at least.
    #[arg(long, default_value_t = 200)]
    millis: u64,
    /// Do not make the runs of loads longer than that for the sake of 300 urgent requests.
    #[arg(long)]
    short: bool,
    /// How often everything but the points of a sweep is run.
    #[arg(long, default_value_t = 1)]
    repetitions: u32,
    /// Parts to run; all when none are given.
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// Loads to run; all when none are given.
    #[arg(long, value_delimiter = ',', value_parser = load)]
    loads: Vec<String>,
    /// Contenders to run; all when none are given.
    #[arg(long, value_delimiter = ',', value_parser = contender)]
    contenders: Vec<Contender>,
    /// Every other point of a sweep only.
    #[arg(long)]
    coarse: bool,
    /// Keep what clients and device say of each run, too, to see why a request was slow.
    #[arg(long)]
    keep: bool,
    /// Add to the results that are there.
    #[arg(long)]
    add: bool,
    /// Where results, tables and plots are written.
    #[arg(long)]
    output: PathBuf,
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
            let parts = results.iter().map(|file| Results::read(file));
            let whole = Results::together(parts.collect::<Result<_>>()?)?;
            if results.len() > 1 {
                whole.write(&output.join("results.json"))?;
            }
            report::write(&whole, &output)
        }
    }
}

impl Hardware {
    fn perform(self) -> Result<()> {
        make_directory(&self.output)?;
        let gpu = hardware::find()?;
        let programs = std::env::current_exe()?;
        let programs = programs
            .parent()
            .context("this program is in no directory")?;
        let file = self.output.join("results.json");
        let load = load_average()?;
        let mut results = Results {
            schema: SCHEMA,
            conditions: Conditions {
                gpu: gpu.name,
                kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?
                    .trim()
                    .into(),
                dilation: 1,
                settings: settings::in_force(),
                duration_ns: self.millis * 1_000_000,
                repetitions: self.repetitions,
                host: format!("{} processors", std::thread::available_parallelism()?),
                host_load: (load, load),
                poll_interval_us: Numbers::DEFAULT.poll_interval_us,
                loads: Loads::NOW,
                ..Conditions::default()
            },
            records: Vec::new(),
        };
        let mut loads = self.loads;
        if loads.is_empty() {
            loads = suite::names().map(str::to_owned).collect();
        }
        for repetition in 0..self.repetitions {
            for name in &loads {
                let workload = loads::by_name(name).context("a name that was checked")?;
                let spec = hardware::spec(&workload, gpu.units, self.millis * 1_000_000);
                for &contender in &self.contenders {
                    let keep = format!("{name}-{}-{repetition}", contender.name());
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
                    results.records.push(Record {
                        part: Part::Loads.name().into(),
                        load: name.clone(),
                        x: None,
                        contender: contender.name().into(),
                        repetition,
                        settings: None,
                        outcome,
                    });
                    results.conditions.host_load.1 = load_average()?;
                    results.write(&file)?;
                }
            }
        }
        report::write(&results, &self.output)
    }
}

impl Run {
    fn perform(mut self) -> Result<()> {
        if !(20..=60_000).contains(&self.millis) {
            bail!("--millis is {}; give 20 to 60000", self.millis);
        }
        if !(1..=1000).contains(&self.repetitions) {
            bail!("--repetitions is {}; give 1 to 1000", self.repetitions);
        }
        if self.parts.is_empty() {
            self.parts = Part::ALL.to_vec();
        }
        make_directory(&self.output)?;
        let cache = Cache::open()?;
        let kernel = cache.kernel_with_module(&self.kernel)?;
        let file = self.output.join("results.json");
        let mut results = Results {
            schema: SCHEMA,
            conditions: self.conditions(&kernel)?,
            records: Vec::new(),
        };
        if self.add {
            let there = Results::read(&file)?;
            ensure!(
                there.conditions.loads == Loads::NOW,
                "{} has results of {}, which cannot be added to: run without --add",
                file.display(),
                there.conditions.loads.what()
            );
            results.records = there.records;
        }
        let mut places: Vec<Place> = self.parts.iter().map(|part| part.place()).collect();
        places.sort();
        places.dedup();
        for place in places {
            self.at(&cache, &kernel, place, &mut results, &file)?;
        }
        report::write(&results, &self.output)?;
        println!(
            "bench: results, tables and plots are in {}",
            self.output.display()
        );
        Ok(())
    }

    /// All parts that run in one kind of guest.
    fn at(
        &self,
        cache: &Cache,
        kernel: &Kernel,
        place: Place,
        results: &mut Results,
        file: &Path,
    ) -> Result<()> {
        let start = || -> Result<Arena> {
            let configuration = Configuration {
                hurried: true,
                ..Configuration::new(kernel.clone(), place.dies())
            };
            let mut guest = configuration.start(cache, &place.needs())?;
            guest.device.set_aql_packet(suite::timing().aql_packet)?;
            Arena::new(guest, place.probes())
        };
        let mut arena = start()?;
        let shape = &arena.guest.shape;
        let units = 4 * shape.cu_per_sh * shape.xcc;
        let extent = Extent {
            duration: self.millis * 1_000_000,
            enough: !self.short,
            loads: self.loads.clone(),
            contenders: self.contenders.clone(),
            coarse: self.coarse,
        };
        let all: Vec<Experiment> = self
            .parts
            .iter()
            .filter(|part| part.place() == place)
            .flat_map(|&part| experiments(part, units, &extent))
            .collect();
        // A sweep shows how something grows: its points stand for each other.
        let repeated = |one: &Experiment, repetition| repetition == 0 || one.x.is_none();
        let total: usize = (0..self.repetitions)
            .flat_map(|repetition| all.iter().filter(move |one| repeated(one, repetition)))
            .map(|one| one.contenders.len())
            .sum();
        let expected: u64 = (0..self.repetitions)
            .flat_map(|repetition| all.iter().filter(move |one| repeated(one, repetition)))
            .map(|one| one.lasts() * one.contenders.len() as u64)
            .sum();
        println!("bench: {total} runs take about {} minutes", expected / 60);
        let begin = Instant::now();
        let mut done = 0;
        for repetition in 0..self.repetitions {
            for experiment in all.iter().filter(|one| repeated(one, repetition)) {
                for &contender in &experiment.contenders {
                    let name = format!("{}-{}-{repetition}", experiment.load, contender.name());
                    let name = format!("{}-{name}.json", experiment.part.name());
                    let keep = self.keep.then(|| self.output.join(name));
                    let outcome = match run(&mut arena, experiment, contender, keep.as_deref()) {
                        Ok(outcome) => outcome,
                        Err(error) => {
                            arena = start()?;
                            Outcome::Failed(format!("{error:#}"))
                        }
                    };
                    done += 1;
                    let left = begin.elapsed().as_secs() as usize * (total - done) / done;
                    println!(
                        "bench: {done}/{total}, {left} s left: {} {} {}: {}",
                        experiment.part.name(),
                        experiment.load,
                        contender.name(),
                        report::in_short(&outcome)
                    );
                    results.records.push(Record {
                        part: experiment.part.name().into(),
                        load: experiment.load.clone(),
                        x: experiment.x,
                        contender: contender.name().into(),
                        repetition,
                        settings: None,
                        outcome,
                    });
                    results.conditions.host_load.1 = load_average()?;
                    results.write(file)?;
                }
            }
        }
        Ok(())
    }

    fn conditions(&self, kernel: &Kernel) -> Result<Conditions> {
        let timing = suite::timing();
        let load = load_average()?;
        Ok(Conditions {
            gpu: "virtual".into(),
            kernel: kernel.release.clone(),
            dilation: DILATION,
            model: model(&timing),
            settings: settings::in_force(),
            duration_ns: self.millis * 1_000_000,
            repetitions: self.repetitions,
            host: format!(
                "{} processors, QEMU without hardware virtualisation",
                std::thread::available_parallelism()?
            ),
            host_load: (load, load),
            save_bytes_per_us: timing.save_bytes_per_microsecond,
            save_fixed_ns: timing.save_fixed,
            poll_interval_us: Numbers::DEFAULT.poll_interval_us,
            loads: Loads::NOW,
        })
    }
}

/// One run, of which the raw material is written to a file if there is one.
fn run(
    arena: &mut Arena,
    experiment: &Experiment,
    contender: Contender,
    keep: Option<&Path>,
) -> Result<Outcome> {
    let run = arena.run(
        &experiment.spec,
        contender,
        &experiment.settings,
        |_| Ok(()),
    )?;
    if let Some(file) = keep {
        let raw = json!({
            "report": run.report,
            "packets": run.packets,
            "timeline": run.timeline,
            "tables": run.tables,
        });
        fs::write(file, raw.to_string()).with_context(|| file.display().to_string())?;
    }
    for queue in &run.report.queues {
        if let Some(failure) = &queue.failure {
            return Ok(Outcome::Failed(format!(
                "{}: {failure}",
                queue.identity.name
            )));
        }
    }
    if let Some(death) = run.report.died.first() {
        return Ok(Outcome::Failed(format!(
            "{}: {}",
            death.group, death.reason
        )));
    }
    Ok(Outcome::Measured(Box::new(run.measurement)))
}

/// The model's parameters in words.
fn model(timing: &Timing) -> Vec<String> {
    let micros = |nanos: u64| nanos as f64 / 1_000.0;
    vec![
        format!(
            "saves and restores share {:.1} TB/s and take {} us each besides",
            timing.save_bytes_per_microsecond as f64 / 1e6,
            micros(timing.save_fixed)
        ),
        format!(
            "a doorbell takes {} us, an AQL packet {} us, another packet {} us, mapping or unmapping a queue {} us",
            micros(timing.doorbell),
            micros(timing.aql_packet),
            micros(timing.packet),
            micros(timing.map_queue)
        ),
        format!("read pointers move at launch; {DILATION} ns of the guest are 1 ns of the GPU"),
    ]
}

fn load_average() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let first = text.split(' ').next().context("no load average")?;
    Ok(first.parse()?)
}
