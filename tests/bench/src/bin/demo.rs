// SPDX-License-Identifier: GPL-2.0
//! The demo: an urgent load beside a heavy one on one GPU, without the module
//! and with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use clap::Parser;
use e2e_runner::cache::{make_directory, module, Cache};
use e2e_runner::guest::Guest;
use e2e_runner::load::DILATION;
use e2e_runner::scenario::{Configuration, Needs};
use gpreempt_bench::contender::{Contender, STRICT};
use gpreempt_bench::load::{heavy, run as run_of, urgent, HEAVY, URGENT};
use gpreempt_bench::measure::{Arena, Run};
use gpreempt_bench::picture::{self, rows, Row, Window};
use gpu_workload::latency::Summary;
use vgpu_model::{QueueId, TimelineRecord};

/// What the module is worth, in one table and one picture.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The kernel series to boot.
    #[arg(long, default_value = "7.3")]
    kernel: String,
    /// How long each load lasts, in seconds of GPU time.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Where the picture and the trace are written.
    #[arg(long)]
    output: PathBuf,
}

/// The part of a run that the picture shows.
const PICTURE_NS: u64 = 60_000_000;
const COLUMNS: u64 = 90;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !(0.05..=60.0).contains(&arguments.seconds) {
        bail!("--seconds is {}; give 0.05 to 60", arguments.seconds);
    }
    let duration = (arguments.seconds * 1e9) as u64;
    make_directory(&arguments.output)?;
    let cache = Cache::open()?;
    let kernel = cache
        .kernels(&[arguments.kernel])?
        .pop()
        .context("no kernel")?;
    if !module(&kernel.release)?.exists() {
        bail!(
            "there is no module for {}: run 'make module'",
            kernel.release
        );
    }
    say("An AMD MI300X runs two programs. 'training' fills the GPU with long kernels at low");
    say("priority; 'inference' sends a short request every 20 ms at high priority. A GPU does");
    say("not take compute units back from work that runs, so the urgent request waits.");
    say("");
    say(&format!(
        "1/4  Booting Linux {} with the distribution's own amdgpu driver and a virtual MI300X",
        kernel.release
    ));
    let guest = Configuration {
        kernel,
        xcc: 1,
        cycles: 0,
    }
    .start(&cache, &Needs::ANY)?;
    let mut arena = Arena::new(guest, false)?;

    let both = run_of(vec![urgent(duration), heavy(duration)]);
    say("2/4  Inference alone: the best it can be");
    let alone = arena.run(&both, Contender::Alone, &[], |_| Ok(()))?;
    say("3/4  Inference beside training, as the driver does it");
    let without = arena.run(&both, Contender::Nobody, &[], |_| Ok(()))?;
    say("4/4  The same with amd_gpreempt loaded; its live table:");
    let mut ticks = 0;
    let with = arena.run(&both, STRICT, &[], |guest| {
        ticks += 1;
        if ticks % 15 == 5 {
            say(&table_of_queues(guest)?);
        }
        Ok(())
    })?;

    let result = result(&alone, &without, &with)?;
    say(&result);
    fs::write(arguments.output.join("result.txt"), &result)?;
    draw(
        &mut arena.guest,
        &without.timeline,
        &with.timeline,
        &arguments.output,
    )
}

fn say(line: &str) {
    println!("{line}");
}

fn table_of_queues(guest: &mut Guest) -> Result<String> {
    guest
        .agent()
        .read_file("/sys/kernel/debug/amd_gpreempt/queues")
}

/// The table that the demo is about.
fn result(alone: &Run, without: &Run, with: &Run) -> Result<String> {
    let best = latency(alone)?;
    let mut out = String::from(
        "\n                            inference: time to answer a request      training\n",
    );
    out += "                              p50        p99      p99.9   p99/alone       kept   lost  repeated\n";
    let rate = |run: &Run| run.measurement.rates.get(HEAVY).copied();
    let base = rate(without).context("no account of the heavy load")?;
    for (name, run) in [
        ("inference alone", alone),
        ("both, driver alone", without),
        ("both, amd_gpreempt", with),
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
    out += &format!(
        "\nTimes are GPU time; the guest's clock runs {DILATION} times as fast. With the module the\n\
         scheduler firmware got {} packets, without it {}.\n",
        with.measurement.packets, without.measurement.packets
    );
    Ok(out)
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
        say(&format!("{title}:"));
        say(&picture::text(rows, *window, COLUMNS));
    }
    let svg = output.join("timeline.svg");
    let trace = output.join("timeline.json");
    fs::write(&svg, picture::svg(&blocks))?;
    fs::write(&trace, guest.device.trace()?.to_string())?;
    say("Written:");
    for (path, what) in [
        (output.join("result.txt"), "the table"),
        (svg, "the picture"),
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
