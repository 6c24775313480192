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

use crate::guest::Guest;
use crate::load::{queue, Load};
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
    ensure!(guest_s >= SLEEP_S.into(), "{guest_s} s passed in the guest");
    // A clock that jumps from timer to timer would be through in a moment.
    ensure!(
        host_s > guest_s * 0.9,
        "{guest_s} s of an idle guest took {host_s} s of the host's"
    );
    Ok(())
}
