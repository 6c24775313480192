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

const PERIOD_NS: u64 = 2_000_000;
const REQUESTS: u64 = 60;
/// So long is one of them stopped, the other meanwhile goes on if it can: half a period
/// and more by a clock that would follow the host's.
const STOPPED: Duration = Duration::from_millis(15);
/// By how much requests may differ: what the guest's programs and interrupts cost.
const MOST_NS: u64 = 60_000;

fn waiting(guest: &mut Guest) -> Result<()> {
    let more = json!({"arrival": {"fixed_rate": {"period_ns": PERIOD_NS}}, "requests": REQUESTS});
    let spec = json!({"queues": [queue("urgent", 4, 50_000, more)], "samples": true});
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
    let times = samples
        .iter()
        .map(|sample| sample.end_ns - sample.arrival_ns);
    let (least, most) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
    ensure!(
        most - least < MOST_NS,
        "requests took {least} to {most} ns: one of them waited for the host"
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
