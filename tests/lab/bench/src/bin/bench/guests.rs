// SPDX-License-Identifier: GPL-2.0-only
//! The runs on the virtual GPU, each in a guest of its own.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{bail, Context, Result};
use clap::Args;
use e2e_runner::cache::{key, make_directory, module, program, Cache, Kernel};
use e2e_runner::device::Shape;
use e2e_runner::image::Clock;
use e2e_runner::scenario::Configuration;
use gpreempt_bench::contender::Contender;
use gpreempt_bench::load::DILATION;
use gpreempt_bench::measure::Arena;
use gpreempt_bench::part::{Part, Place};
use gpreempt_bench::plan::{experiments, Experiment, Extent};
use gpreempt_bench::report;
use gpreempt_bench::results::{Conditions, Name, Outcome, Record, Results, SCHEMA};
use gpreempt_bench::settings;
use gpreempt_bench::simulated;
use gpreempt_bench::suite;
use gpreempt_policy::Numbers;
use serde_json::json;
use vgpu_model::Timing;

use crate::{commit, contender, load};

#[derive(Args)]
pub struct Run {
    /// The kernel series to boot.
    #[arg(long, default_value = "7.3")]
    kernel: String,
    /// For how many milliseconds of GPU time urgent requests arrive in a run, at least.
    #[arg(long, default_value_t = 200)]
    millis: u64,
    /// How many urgent requests arrive in a run of a load, by their mean rate: of three runs
    /// together the p99 is not the longest then. With 0 runs are as long as --millis says.
    #[arg(long, default_value_t = 35)]
    requests: u32,
    /// How often everything but the points of a sweep is run, with other arrivals each time.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
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
    /// How many guests run beside each other; as many as the machine has processors when it
    /// is not given.
    #[arg(long)]
    guests: Option<usize>,
    /// Where results, tables and plots are written.
    #[arg(long)]
    output: PathBuf,
}

/// A run that is to be made.
struct Job {
    place: Place,
    experiment: Experiment,
    contender: Contender,
    name: Name,
}

impl Run {
    pub fn perform(mut self) -> Result<()> {
        if !(20..=60_000).contains(&self.millis) {
            bail!("--millis is {}; give 20 to 60000", self.millis);
        }
        if !(1..=1000).contains(&self.seeds) {
            bail!("--seeds is {}; give 1 to 1000", self.seeds);
        }
        if self.parts.is_empty() {
            self.parts = Part::ALL.to_vec();
        }
        make_directory(&self.output)?;
        let cache = Cache::open()?;
        let kernel = cache.kernel_with_module(&self.kernel)?;
        let file = self.output.join("results.json");
        let results = begin(&file, self.conditions(&kernel)?)?;
        let all = self.jobs(&kernel);
        let total = all.len();
        let jobs: VecDeque<Job> = all
            .into_iter()
            .filter(|job| !results.has(&job.name))
            .collect();
        if jobs.len() < total {
            println!("bench: {} of {total} runs are there", total - jobs.len());
        }
        let bench = Bench {
            cache,
            kernel,
            file,
            keep: self.keep.then(|| self.output.clone()),
            begin: Instant::now(),
            total: jobs.len(),
            jobs: Mutex::new(jobs),
            results: Mutex::new(results),
        };
        let guests = match self.guests {
            Some(guests) => guests.max(1),
            None => thread::available_parallelism()?.get(),
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..guests).map(|_| scope.spawn(|| bench.work())).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().expect("a guest's thread panicked"))
        })?;
        let mut results = bench.results.into_inner().expect(NO_PANIC);
        simulate(&mut results)?;
        results.write(&bench.file)?;
        report::write(&results, &self.output)?;
        println!(
            "bench: results, tables and plots are in {}",
            self.output.display()
        );
        Ok(())
    }

    /// All runs: everything with one seed before anything with the next.
    fn jobs(&self, kernel: &Kernel) -> Vec<Job> {
        (1..=self.seeds)
            .flat_map(|seed| self.parts.iter().map(move |&part| (seed, part)))
            .flat_map(|(seed, part)| {
                let place = part.place();
                let units = units(&configuration(kernel, place).shape(&place.needs()));
                let extent = Extent {
                    duration: self.millis * 1_000_000,
                    requests: self.requests,
                    loads: self.loads.clone(),
                    contenders: self.contenders.clone(),
                    coarse: self.coarse,
                    seed,
                };
                experiments(part, units, &extent)
                    .into_iter()
                    // A sweep shows how something grows: its points stand for each other.
                    .filter(|experiment| seed == 1 || experiment.x.is_none())
                    .flat_map(|experiment| jobs(place, &experiment, seed))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn conditions(&self, kernel: &Kernel) -> Result<Conditions> {
        let timing = suite::timing();
        Ok(Conditions {
            gpu: "virtual".into(),
            kernel: kernel.release.clone(),
            commit: commit(),
            tested: tested(kernel)?,
            extent: format!(
                "at least {} urgent requests, and for at least {} ms of GPU time",
                self.requests, self.millis
            ),
            dilation: DILATION,
            model: model(&timing),
            settings: settings::in_force(),
            host: "QEMU without hardware virtualisation".into(),
            save_bytes_per_us: timing.save_bytes_per_microsecond,
            save_fixed_ns: timing.save_fixed,
            poll_interval_us: Numbers::DEFAULT.poll_interval_us,
        })
    }
}

/// The runs of an experiment.
fn jobs(place: Place, experiment: &Experiment, seed: u64) -> Vec<Job> {
    let name = |contender: Contender| Name {
        part: experiment.part.name().into(),
        load: experiment.load.clone(),
        x: experiment.x,
        contender: contender.name().into(),
        seed,
    };
    let job = |&contender: &Contender| Job {
        place,
        experiment: experiment.clone(),
        contender,
        name: name(contender),
    };
    experiment.contenders.iter().map(job).collect()
}

/// The results to add to. Those of other sources or another kernel are put aside.
fn begin(file: &Path, conditions: Conditions) -> Result<Results> {
    if file.exists() {
        match Results::read(file) {
            Ok(there) if there.conditions.same(&conditions) => return Ok(there),
            _ => {}
        }
        let aside = file.with_extension("before.json");
        fs::rename(file, &aside).with_context(|| aside.display().to_string())?;
        println!(
            "bench: what was measured before is of something else, and is in {} now",
            aside.display()
        );
    }
    Ok(Results {
        schema: SCHEMA,
        conditions,
        ..Results::default()
    })
}

fn configuration(kernel: &Kernel, place: Place) -> Configuration {
    Configuration {
        clock: Clock::Hurried,
        partitions: place.partitions(),
        ..Configuration::new(kernel.clone(), place.dies())
    }
}

/// A node's compute units.
fn units(shape: &Shape) -> u32 {
    4 * shape.cu_per_sh * shape.dies()
}

/// Puts the simulator's figures beside those that were measured.
pub fn simulate(results: &mut Results) -> Result<()> {
    let shape = Shape::new(Place::Main.dies());
    simulated::simulate(results, units(&shape))
}

const NO_PANIC: &str = "no holder panics";

/// What the threads share, of which each has a guest at a time.
struct Bench {
    cache: Cache,
    kernel: Kernel,
    file: PathBuf,
    /// Where the raw material of runs is kept, if it is.
    keep: Option<PathBuf>,
    begin: Instant,
    total: usize,
    jobs: Mutex<VecDeque<Job>>,
    results: Mutex<Results>,
}

impl Bench {
    fn work(&self) -> Result<()> {
        while let Some(job) = self.next() {
            let outcome = self
                .measure(&job)
                .unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
            let Name {
                part,
                load,
                contender,
                seed,
                ..
            } = &job.name;
            let mut results = self.results.lock().expect(NO_PANIC);
            println!(
                "bench: {} s, {} of {} left: {part} {load} {contender} seed {seed}: {}",
                self.begin.elapsed().as_secs(),
                self.jobs.lock().expect(NO_PANIC).len(),
                self.total,
                report::in_short(&outcome)
            );
            results.record(Record {
                name: job.name,
                outcome,
            });
            results.write(&self.file)?;
        }
        Ok(())
    }

    fn next(&self) -> Option<Job> {
        self.jobs.lock().expect(NO_PANIC).pop_front()
    }

    fn measure(&self, job: &Job) -> Result<Outcome> {
        let needs = job.place.needs();
        let mut guest = configuration(&self.kernel, job.place).start(&self.cache, &needs)?;
        guest.device.set_aql_packet(suite::timing().aql_packet)?;
        let mut arena = Arena::new(guest, job.place.probes())?;
        let Job {
            experiment, name, ..
        } = job;
        let keep = self.keep.as_ref().map(|folder| {
            let Name {
                part,
                load,
                contender,
                seed,
                ..
            } = name;
            folder.join(format!("{part}-{load}-{contender}-{seed}.json"))
        });
        run(&mut arena, experiment, job.contender, keep.as_deref())
    }
}

/// What is measured: the module, and all that runs it.
fn tested(kernel: &Kernel) -> Result<String> {
    let mut files = vec![std::env::current_exe()?, module(&kernel.release)?];
    let libraries = ["libguest_clock.so", "libbus_atomics.so"];
    let programs = ["vgpu", "agent", "workload", "kfdctl"];
    for name in programs.iter().chain(&libraries) {
        files.push(program(name)?);
    }
    let read = |file: PathBuf| fs::read(&file).with_context(|| file.display().to_string());
    let contents: Vec<Vec<u8>> = files.into_iter().map(read).collect::<Result<_>>()?;
    Ok(key(&contents.iter().map(Vec::as_slice).collect::<Vec<_>>()))
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
        &experiment.beside,
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
