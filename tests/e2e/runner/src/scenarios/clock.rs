// SPDX-License-Identifier: GPL-2.0-only
//! The clock that guest and GPU share: whichever of their processes the host lets wait,
//! neither sees the other late.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::json;

use crate::cache::Cache;
use crate::guest::Guest;
use crate::image::Image;
use crate::load::{queue, Load};
use crate::machine::Console;
use crate::scenario::{Needs, Scenario, Suite};

const OWN_CLOCK: Needs = Needs {
    own_clock: true,
    ..Needs::ONCE
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "neither guest nor GPU is late where the host lets one of them wait",
        needs: OWN_CLOCK,
        run: waiting,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "an idle guest does not run ahead of the host",
        needs: OWN_CLOCK,
        run: idle,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "two guests that are asked the same do the same at the same times",
        needs: OWN_CLOCK,
        run: twice,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a race ends in the same way with the same seed, and not with each",
        needs: OWN_CLOCK,
        run: race,
    },
];

const REQUESTS: u64 = 60;
/// The guest accesses the GPU when a request begins, and would wait there in any case, but
/// not while it runs.
const RUNS_NS: u64 = 1_500_000;
/// For how long one of them is stopped, while the other goes on as far as it can.
const STOPPED: Duration = Duration::from_millis(15);
/// By how much requests may differ: what the guest's programs and interrupts cost.
const MOST_NS: u64 = 60_000;

fn waiting(guest: &mut Guest) -> Result<()> {
    let more =
        json!({"arrival": {"closed_loop": {"depth": 1, "think_ns": 0}}, "requests": REQUESTS});
    let spec = json!({"queues": [queue("urgent", 4, RUNS_NS, more)], "samples": true});
    let load = Load::start(guest, spec)?;
    let both = [guest.device.process(), guest.machine.process()];
    let over = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let stopper = scope.spawn(|| stop_in_turn(both, &over));
        let report = load.finish(guest);
        over.store(true, Ordering::Relaxed);
        let stops = stopper.join().expect("it does not panic")?;
        ensure!(stops > 20, "only {stops} stops fell into the load");
        report
    })?;
    let samples = &report.queues.first().context("no queue")?.samples;
    ensure!(
        samples.len() as u64 == REQUESTS,
        "{} requests",
        samples.len()
    );
    let runs = samples
        .iter()
        .map(|sample| sample.end_ns - sample.submit_ns);
    alike("requests took", runs)?;
    // The GPU's own times say nothing of when the guest learnt of them, but that the next
    // request follows does.
    let answers = samples
        .windows(2)
        .map(|pair| pair[1].submit_ns.saturating_sub(pair[0].end_ns));
    alike("the next request followed after", answers)
}

fn alike(what: &str, times: impl Iterator<Item = u64> + Clone) -> Result<()> {
    let (least, most) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
    ensure!(
        most - least < MOST_NS,
        "{what} {least} to {most} ns: one of them waited for the host"
    );
    Ok(())
}

/// Stops one process and then the other, until it is over; how often.
fn stop_in_turn(processes: [u32; 2], over: &AtomicBool) -> Result<u32> {
    let mut stops = 0;
    for process in processes.into_iter().cycle() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let process = Pid::from_raw(i32::try_from(process)?);
        kill(process, Signal::SIGSTOP)?;
        thread::sleep(STOPPED);
        kill(process, Signal::SIGCONT)?;
        thread::sleep(STOPPED / 3);
        stops += 1;
    }
    Ok(stops)
}

fn idle(guest: &mut Guest) -> Result<()> {
    const SLEEP_S: u32 = 2;
    let uptime = |guest: &mut Guest| -> Result<f64> {
        let text = guest.agent().read_file("/proc/uptime")?;
        let first = text.split_whitespace().next().context("no uptime")?;
        Ok(first.parse()?)
    };
    let before = uptime(guest)?;
    let begin = std::time::Instant::now();
    guest.agent().shell(&format!("sleep {SLEEP_S}"))?;
    let (guest_s, host_s) = (uptime(guest)? - before, begin.elapsed().as_secs_f64());
    // It is told in hundredths.
    let whole = f64::from(SLEEP_S) - 0.02;
    ensure!(guest_s > whole, "{guest_s} s passed in the guest");
    // A clock that jumps from timer to timer would be through in a moment.
    ensure!(
        host_s > guest_s * 0.9,
        "{guest_s} s of an idle guest took {host_s} s of the host's"
    );
    Ok(())
}

/// Another guest of the same kind.
fn twin(guest: &Guest, seed: Option<u64>) -> Result<Guest> {
    let image = Image {
        seed,
        ..guest.image.clone()
    };
    Guest::start(&Cache::open()?, &image, &guest.shape, 0, Console::File)
}

fn twice(guest: &mut Guest) -> Result<()> {
    let one = life(&mut twin(guest, None)?)?;
    let other = life(&mut twin(guest, None)?)?;
    for (at, (one, other)) in one.iter().zip(&other).enumerate() {
        ensure!(one == other, "record {at} differs: {one} and {other}");
    }
    ensure!(one == other, "one did more than the other");
    Ok(())
}

/// What a guest did, and when: the records of its GPU, what the load says, and the kernel's
/// log.
fn life(guest: &mut Guest) -> Result<Vec<String>> {
    let mut all = vec![format!("up at {:?}", guest.device.now()?)];
    let uptime = guest.agent().read_file("/proc/uptime")?;
    all.push(uptime);
    let (log, _) = guest.agent().log(0)?;
    all.extend(
        log.iter()
            .map(|line| format!("{} {}", line.time_us, line.text)),
    );
    // More than fits into a socket at once.
    all.push(guest.agent().shell("seq 100000")?);
    let urgent = json!({"priority": 12, "requests": 40,
        "arrival": {"poisson": {"mean_ns": 5_000_000}}});
    let spec = json!({
        "queues": [
            queue("urgent", 4, 500_000, urgent),
            queue("heavy", 200, 900_000, json!({"priority": 2, "requests": 10})),
        ],
        "samples": true,
    });
    let load = Load::start(guest, spec)?;
    all.push(format!("ready at {:?}", guest.device.now()?));
    let report = load.finish(guest)?;
    all.push(format!("over at {:?}", guest.device.now()?));
    all.extend(
        guest
            .device
            .hiq(0)?
            .iter()
            .map(|record| format!("{record:?}")),
    );
    let timeline = guest.device.timeline(0)?;
    all.extend(timeline.iter().map(|record| format!("{record:?}")));
    for queue in &report.queues {
        all.extend(queue.samples.iter().map(|sample| format!("{sample:?}")));
    }
    Ok(all)
}

/// Two programs that add to a number without a lock, each on the processor that it is on.
const RACE: &str = "
    add() {
        i=0
        while [ $i -lt 300 ]; do
            read n </tmp/number || n=0
            echo $((n + 1)) >/tmp/number
            i=$((i + 1))
        done
    }
    echo 0 >/tmp/number
    add & add
    wait
    cat /tmp/number";

fn race(guest: &mut Guest) -> Result<()> {
    let mut ends = Vec::new();
    for seed in [1, 1, 2, 3] {
        ends.push(twin(guest, Some(seed))?.agent().shell(RACE)?);
    }
    ensure!(ends[0] == ends[1], "with one seed it ended in {ends:?}");
    let first = &ends[0];
    ensure!(
        ends.iter().any(|end| end != first),
        "no seed made a difference: {ends:?}"
    );
    Ok(())
}
