// SPDX-License-Identifier: GPL-2.0-only
//! The demo: an urgent load beside a heavy one on one GPU, without the module
//! and with it; then a program that is stopped for an urgent one again and again, and what
//! it calculates.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::Parser;
use e2e_runner::cache::{make_directory, Cache};
use e2e_runner::guest::Guest;
use e2e_runner::image::Clock;
use e2e_runner::scenario::{Configuration, Needs};
use e2e_runner::scenarios::clients::{Shown, Stopped};
use e2e_runner::scenarios::tinygrad;
use gpreempt_bench::contender::{Contender, STRICT};
use gpreempt_bench::load::{heavy, run as run_of, urgent, HEAVY, URGENT};
use gpreempt_bench::measure::{Arena, Run};
use gpreempt_bench::picture::{self, rows, Row, Window};
use gpreempt_bench::split::Split;
use gpreempt_bench::statistics::Spread;
use gpu_workload::latency::Summary;
use gpu_workload::spec::RunSpec;
use vgpu_model::{QueueId, TimelineRecord};

/// What the module is worth, in one table and one picture.
#[derive(Parser)]
struct Arguments {
    /// The kernel series to boot.
    #[arg(long, default_value = "7.3")]
    kernel: String,
    /// How long each load lasts, in seconds of GPU time.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How often the program of the second act is stopped in the middle of a kernel.
    #[arg(long, default_value_t = 100)]
    stops: u64,
    /// Where the table and the trace are written.
    #[arg(long)]
    output: PathBuf,
}

/// The part of a run that the picture shows.
const PICTURE_NS: u64 = 60_000_000;
const COLUMNS: u64 = 90;
/// A run tells how far it is after each of so many parts.
const PARTS: u32 = 4;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !(0.05..=60.0).contains(&arguments.seconds) {
        bail!("--seconds is {}; give 0.05 to 60", arguments.seconds);
    }
    let duration = (arguments.seconds * 1e9) as u64;
    make_directory(&arguments.output)?;
    let cache = Cache::open()?;
    let kernel = cache.kernel_with_module(&arguments.kernel)?;
    say("Two programs share one GPU, an AMD MI300X.");
    say("");
    say(&format!(
        "  {HEAVY:<10} low priority;  kernels of 8 ms, one after the other, that fill the GPU"
    ));
    say(&format!(
        "  {URGENT:<10} high priority; a short request every 20 ms, the answer to which is awaited"
    ));
    say("");
    say("A GPU does not take its compute units back from a kernel that runs, whatever the");
    say("priorities are, so the urgent request waits. The module amd_gpreempt has the running");
    say("work saved, lets the urgent request through, and has the work go on where it was.");
    say("");
    say("There is no GPU in this machine: the driver meets a virtual one. Its clock and the guest's");
    say("count what the guest executes, so that the times below do not depend on what else runs");
    say(&format!(
        "here. Each of four runs lasts {} s of GPU time.",
        arguments.seconds
    ));
    say("");
    say(&format!(
        "1/5  booting Linux {} with the distribution's own amdgpu driver",
        kernel.release
    ));
    let configuration = Configuration {
        clock: Clock::Hurried,
        ..Configuration::new(kernel.clone(), 1)
    };
    let mut demo = Demo {
        arena: Arena::new(configuration.start(&cache, &Needs::ANY)?, true)?,
        load: run_of(vec![urgent(duration), heavy(duration)]),
        duration,
    };

    say(&format!("2/5  {URGENT} alone: the best it can be"));
    let alone = demo.run(Contender::Alone)?;
    say(&format!(
        "3/5  {URGENT} beside {HEAVY}, as the driver does it"
    ));
    let without = demo.run(Contender::Classes)?;
    say("4/5  the same with amd_gpreempt. This is its table of queues, now and then: eff is the");
    say("     priority in force, stops how often a queue was made to wait, for how long in all");
    let with = demo.run(STRICT)?;
    say("5/5  the same with transaction=direct, which takes queues off the GPU by the driver's");
    say("     packets without its look at the copy engines");
    let direct = demo.run(Contender::Direct)?;

    let runs = Runs {
        alone,
        without,
        with,
        direct,
    };
    let result = runs.result()?;
    say(&result);
    fs::write(arguments.output.join("result.txt"), &result)?;
    draw(
        &mut demo.arena.guest,
        &runs.without.timeline,
        &runs.with.timeline,
        &arguments.output,
    )?;
    // Two guests are more than many a machine has memory for.
    drop(demo);
    let learnt = second_act(&Configuration::new(kernel, 1), &cache, arguments.stops)?;
    say(&learnt);
    fs::write(arguments.output.join("result.txt"), result + &learnt)?;
    Ok(())
}

/// A program that is not ours is stopped again and again, and its checksum stands beside that
/// of when nobody disturbed it. What takes how long is no matter here, so that the guest has
/// the host's clock, with which it and the GPU work at the same time.
fn second_act(configuration: &Configuration, cache: &Cache, goal: u64) -> Result<String> {
    say("");
    say("Second act. tinygrad, as it is published, has a small network learn in five steps: first");
    say("alone, then round after round beside a program that is urgent. Whenever that has work,");
    say("the module has learning saved, wherever its waves are, and go on afterwards. Each step");
    say("begins with what the last one has left: a single wrong bit would be in all that follow.");
    say("");
    say("1/2  booting another guest, in which tinygrad learns alone");
    let mut guest = configuration.start(cache, &Needs::ANY)?;
    let mut told = 0;
    let shown = tinygrad::show(&mut guest, goal, &mut |so_far| {
        if told == 0 {
            say("2/2  the same beside the urgent program");
        }
        let done = 1 + so_far.saved.min(goal) * u64::from(PARTS) / goal.max(1);
        if done > told.max(1) && so_far.saved < goal {
            say(&format!("     stopped {} times", so_far.stops));
        }
        told = told.max(done);
    })?;
    let Shown {
        stopped: Stopped { stops, saved },
        alone,
        rounds,
    } = shown;
    let last = rounds.last().context("nothing was learnt again")?;
    let beside = format!("beside the urgent program, stopped {stops} times");
    Ok(format!(
        "\n{:46}checksum of weights and losses\n{:46}{alone}\n{beside:46}{last}\n\n\
         In {saved} of these stops waves were in the middle of a kernel, and their registers were saved\n\
         and restored. All {} rounds have left the same bits.\n",
        "",
        "learning alone",
        rounds.len()
    ))
}

fn say(line: &str) {
    println!("{line}");
}

/// The guest, and what runs in it each time.
struct Demo {
    arena: Arena,
    load: RunSpec,
    duration: u64,
}

impl Demo {
    fn run(&mut self, contender: Contender) -> Result<Run> {
        let mut progress = Progress::begin(&mut self.arena.guest, self.duration)?;
        self.arena.run(&self.load, &[], contender, &[], |guest| {
            if progress.tell(guest)? && contender == STRICT {
                say("");
                say(&table_of_queues(guest)?);
            }
            Ok(())
        })
    }
}

/// How far a run is.
struct Progress {
    begin: Duration,
    duration: Duration,
    /// How many of the parts that are told of are done.
    done: u32,
}

impl Progress {
    fn begin(guest: &mut Guest, duration: u64) -> Result<Progress> {
        Ok(Progress {
            begin: guest.device.now()?,
            duration: Duration::from_nanos(duration),
            done: 0,
        })
    }

    /// Tells it after each part; whether one is done.
    fn tell(&mut self, guest: &mut Guest) -> Result<bool> {
        let passed = (guest.device.now()? - self.begin).as_nanos();
        let done = passed * u128::from(PARTS) / self.duration.as_nanos().max(1);
        let done = u32::try_from(done)?.min(PARTS - 1);
        let more = done > self.done;
        if more {
            self.done = done;
            say(&format!("     {} %", done * 100 / PARTS));
        }
        Ok(more)
    }
}

fn table_of_queues(guest: &mut Guest) -> Result<String> {
    guest
        .agent()
        .read_file("/sys/kernel/debug/amd_gpreempt/queues")
}

/// What the demo compares.
struct Runs {
    alone: Run,
    without: Run,
    with: Run,
    direct: Run,
}

impl Runs {
    /// The table that the demo is about, and what it says.
    fn result(&self) -> Result<String> {
        let best = latency(&self.alone)?;
        let mut out = String::from(
            "\n                            inference: time to answer a request      training\n",
        );
        out += "                              p50        p99      p99.9   p99/alone       kept   lost  repeated\n";
        let rate = |run: &Run| run.measurement.rates.get(HEAVY).copied();
        let base = rate(&self.without).context("no account of the heavy load")?;
        for (name, run) in [
            ("inference alone", &self.alone),
            ("both, driver alone", &self.without),
            ("both, amd_gpreempt", &self.with),
            ("both, transaction=direct", &self.direct),
        ] {
            let times = latency(run)?;
            let kept = rate(run).map_or("-".into(), |rate| format!("{:.1} %", 100.0 * rate / base));
            out += &format!(
                "{name:<24} {:>6} ms  {:>6} ms  {:>6} ms  {:>6.2}x  {kept:>10}  {:>5}  {:>8}\n",
                millis(times.p50),
                millis(times.p99),
                millis(times.p999),
                times.p99 as f64 / best.p99 as f64,
                run.measurement.lost,
                run.measurement.repeated,
            );
        }
        out += &self.in_words()?;
        let (with, direct) = (&self.with.measurement, &self.direct.measurement);
        out += &where_time_goes("amd_gpreempt", &with.preemptions);
        out += &where_time_goes("transaction=direct", &direct.preemptions);
        out += &format!(
            "\nTimes are the GPU's. 'kept' is the work that training got done, of what it gets done when\n\
             nothing is ever stopped for inference; 'lost' and 'repeated' count workgroups, of {} in all.\n\
             The GPU's scheduler got {} packets with the module, {} without it.\n",
            with.executed, with.packets, self.without.measurement.packets
        );
        Ok(out)
    }

    fn in_words(&self) -> Result<String> {
        let alone = latency(&self.alone)?.p99;
        let times = |run: &Run| -> Result<f64> { Ok(latency(run)?.p99 as f64 / alone as f64) };
        Ok(format!(
            "\nOf 100 requests, 99 are answered within {} ms when inference has the GPU to itself; beside\n\
             training it takes {:.0} times as long with the driver alone, {:.2} times with amd_gpreempt, and\n\
             {:.2} times with transaction=direct.\n",
            millis(alone),
            times(&self.without)?,
            times(&self.with)?,
            times(&self.direct)?
        ))
    }
}

/// Why it is not quite as fast as alone.
fn where_time_goes(name: &str, preemptions: &[Split]) -> String {
    let spread = |of: &dyn Fn(&Split) -> Option<u64>| {
        let times = preemptions.iter().filter_map(of);
        Spread::of(times.map(|nanos| nanos as f64 / 1e3))
    };
    let (Some(detection), Some(total)) = (
        spread(&|split| split.detection),
        spread(&|split| Some(split.total)),
    ) else {
        return String::new();
    };
    let mut out = format!(
        "\nWhat is left with {name}, in the median of {} times: {:.0} us until the\n\
         module is sure that the request waits, and {:.0} us to save the running work and begin. In\n\
         parts, and the longest:\n",
        preemptions.len(),
        detection.value,
        total.value
    );
    for (at, (name, _)) in Split::default().parts().iter().enumerate() {
        if let Some(part) = spread(&|split| split.parts()[at].1) {
            out += &format!("{name:>14} {:>6.0} {:>6.0} us\n", part.value, part.high);
        }
    }
    out
}

fn latency(run: &Run) -> Result<Summary> {
    run.measurement.latency().context("no request was answered")
}

fn millis(nanos: u64) -> String {
    format!("{:.2}", nanos as f64 / 1e6)
}

/// Draws a stretch from the middle of both runs, and writes the files.
fn draw(
    guest: &mut Guest,
    without: &[TimelineRecord],
    with: &[TimelineRecord],
    output: &Path,
) -> Result<()> {
    // The hardware class tells the two user queues apart.
    let names: BTreeMap<QueueId, String> = guest
        .device
        .queues()?
        .into_iter()
        .filter(|queue| queue.dispatches_started > 0)
        .map(|queue| {
            let name = if queue.pipe_priority == 2 {
                URGENT
            } else {
                HEAVY
            };
            (queue.queue, name.to_string())
        })
        .collect();
    let without_rows = rows(without);
    let with_rows = rows(with);
    let without_window = middle(without);
    let with_window = middle(with);
    let blocks = [
        (
            "The driver alone",
            named(&without_rows, &names),
            without_window,
        ),
        ("With amd_gpreempt", named(&with_rows, &names), with_window),
    ];
    for (title, rows, window) in &blocks {
        say(&format!("{title}, in the middle of the run:"));
        say(&picture::text(rows, *window, COLUMNS));
    }
    let trace = output.join("timeline.json");
    fs::write(&trace, guest.device.trace()?.to_string())?;
    say("Written:");
    for (path, what) in [
        (output.join("result.txt"), "the table"),
        (trace, "the trace, for ui.perfetto.dev or chrome://tracing"),
    ] {
        say(&format!("  {}  ({what})", path.display()));
    }
    Ok(())
}

fn named<'r>(
    rows: &'r BTreeMap<QueueId, Row>,
    names: &BTreeMap<QueueId, String>,
) -> Vec<(String, &'r Row)> {
    let mut named: Vec<(String, &Row)> = rows
        .iter()
        .filter_map(|(queue, row)| Some((names.get(queue)?.clone(), row)))
        .collect();
    named.sort_by(|left, right| left.0.cmp(&right.0));
    named
}

/// A stretch in the middle of what the records cover.
fn middle(records: &[TimelineRecord]) -> Window {
    let from = records.first().map_or(0, |record| record.at.0);
    let to = records.last().map_or(0, |record| record.at.0);
    let start = from + (to - from).saturating_sub(PICTURE_NS) / 2;
    Window {
        from: start,
        to: (start + PICTURE_NS).min(to).max(start),
    }
}
