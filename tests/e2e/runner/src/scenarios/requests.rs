// SPDX-License-Identifier: GPL-2.0-only
//! The shapes of load that the later suites build on: requests that arrive by a
//! clock, wait for each other across processes, never end, or lie in video memory.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use gpu_workload::report::{QueueReport, RunReport};
use serde_json::json;

use crate::guest::Guest;
use crate::load::{queue, run, Load, DILATION};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "requests arrive by the clock",
        needs: Needs::ANY,
        run: arrivals,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a request waits for one of another process",
        needs: Needs::ANY,
        run: dependencies,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a kernel that never ends goes with its queue",
        needs: Needs::ANY,
        run: endless,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "code and counters may lie in video memory",
        needs: Needs::ANY,
        run: video_memory,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a queue at no percentage stands still until it is let go",
        needs: Needs::ANY,
        run: percentage,
    },
];

const PATIENCE: Duration = Duration::from_secs(120);

fn report_of<'a>(report: &'a RunReport, name: &str) -> Result<&'a QueueReport> {
    report
        .queues
        .iter()
        .find(|queue| queue.identity.name == name)
        .with_context(|| format!("no report of {name}"))
}

fn arrivals(guest: &mut Guest) -> Result<()> {
    const PERIOD_NS: u64 = 2_000_000;
    let open = |arrival| json!({"arrival": arrival, "requests": 20, "group": "open"});
    let rate = queue(
        "rate",
        4,
        50_000,
        open(json!({"fixed_rate": {"period_ns": PERIOD_NS}})),
    );
    let poisson = queue(
        "poisson",
        4,
        50_000,
        open(json!({"poisson": {"mean_ns": PERIOD_NS}})),
    );
    let times: Vec<u64> = (0..20).map(|i| i * i * 100_000).collect();
    let trace = queue(
        "trace",
        4,
        50_000,
        open(json!({"trace": {"times_ns": times}})),
    );
    let report = run(
        guest,
        json!({"queues": [rate, poisson, trace], "samples": true}),
    )?;
    for queue in &report.queues {
        let name = &queue.identity.name;
        ensure!(
            queue.requests.completed == 20,
            "{name}: {:?}",
            queue.requests
        );
        for sample in &queue.samples {
            ensure!(
                sample.start_ns < sample.end_ns && sample.submit_ns < sample.end_ns,
                "{name}: a request ran backwards: {sample:?}"
            );
        }
        let dilation = queue
            .clock
            .dilation
            .context("the clocks were not related")?;
        // Both clocks follow the host's, so this does not depend on its speed.
        ensure!(
            (dilation / f64::from(DILATION) - 1.0).abs() < 0.05,
            "{name}: {dilation} guest nanoseconds passed for one of the GPU's"
        );
    }
    let rate = report_of(&report, "rate")?;
    let first = rate.samples.first().context("no samples")?.arrival_ns;
    let last = rate.samples.last().context("no samples")?.arrival_ns;
    let expected = 19 * PERIOD_NS;
    ensure!(
        (last - first).abs_diff(expected) < expected / 20,
        "twenty arrivals took {} ns and not {expected}",
        last - first
    );
    Ok(())
}

fn dependencies(guest: &mut Guest) -> Result<()> {
    for second_group in ["one", "two"] {
        let more = |group: &str, priority: u32| json!({"group": group, "priority": priority, "requests": 8});
        let low = queue("low", 16, 300_000, more("one", 1));
        let high = queue("high", 4, 10_000, more(second_group, 15));
        let report = run(
            guest,
            json!({
                "queues": [low, high], "samples": true,
                "dependencies": [{"from": "low", "to": "high"}],
            }),
        )?;
        in_order(&report, "low", "high", 8).with_context(|| format!("group {second_group}"))?;
    }
    Ok(())
}

/// Checks that each of so many requests of one queue waited for the same one of the
/// other.
pub(super) fn in_order(
    report: &RunReport,
    first: &str,
    second: &str,
    requests: usize,
) -> Result<()> {
    let (first, second) = (report_of(report, first)?, report_of(report, second)?);
    for queue in [first, second] {
        ensure!(
            queue.samples.len() == requests && queue.requests.completed == requests as u64,
            "not all requests have their times: {queue:?}"
        );
    }
    for (first, second) in first.samples.iter().zip(&second.samples) {
        ensure!(
            second.start_ns >= first.end_ns,
            "{second:?} did not wait for {first:?}"
        );
    }
    Ok(())
}

fn endless(guest: &mut Guest) -> Result<()> {
    let more = json!({
        "group": "endless", "cost_ns": "endless", "requests": 3, "drain": false,
        "arrival": {"closed_loop": {"depth": 2}},
    });
    let forever = queue("forever", 8, 0, more);
    let other = queue("other", 4, 50_000, json!({"requests": 1_000_000}));
    let load = Load::start(guest, json!({"queues": [forever, other]}))?;
    guest.wait_until("the endless kernel runs", PATIENCE, |guest| {
        let queues = guest.device.queues()?;
        Ok(queues.iter().any(|queue| queue.workgroups_resident == 8))
    })?;
    let before = load.completed(guest, "other")?;
    guest.wait_until("the other goes on", PATIENCE, |guest| {
        Ok(load.completed(guest, "other")? > before)
    })?;
    load.stop(guest)?;
    let report = load.finish(guest)?;
    let forever = report_of(&report, "forever")?;
    ensure!(
        forever.requests.completed == 0 && forever.requests.abandoned == 2,
        "the endless requests: {:?}",
        forever.requests
    );
    ensure!(
        forever.workgroups.executed == 0,
        "an endless workgroup ended"
    );
    Ok(())
}

fn video_memory(guest: &mut Guest) -> Result<()> {
    let there = queue(
        "device",
        64,
        20_000,
        json!({"place": "device", "requests": 20}),
    );
    let report = run(guest, json!({"queues": [there]}))?;
    let there = report_of(&report, "device")?;
    ensure!(
        there.workgroups.executed == 20 * 64,
        "{:?}",
        there.workgroups
    );
    Ok(())
}

fn percentage(guest: &mut Guest) -> Result<()> {
    let still = queue("still", 4, 20_000, json!({"percentage": 0, "requests": 5}));
    let other = queue("other", 4, 20_000, json!({"requests": 1_000_000}));
    let load = Load::start(guest, json!({"queues": [still, other]}))?;
    guest.wait_until("the other has done much", PATIENCE, |guest| {
        Ok(load.completed(guest, "other")? >= 20)
    })?;
    ensure!(
        load.completed(guest, "still")? == 0,
        "a queue at 0 percent completed work"
    );
    load.control(
        guest,
        "still",
        &["update", "--percentage", "100", "--priority", "15"],
    )?;
    guest.wait_until("the queue is let go", PATIENCE, |guest| {
        Ok(load.completed(guest, "still")? == 5)
    })?;
    // The driver says so in its log, too.
    guest.expect_log("must be between 0 to");
    for (argument, value) in [("--priority", "16"), ("--percentage", "101")] {
        let refused = load.control(guest, "still", &["update", argument, value]);
        let message = refused.map_or_else(|error| format!("{error:#}"), |value| value.to_string());
        ensure!(
            message.contains("EINVAL"),
            "{argument} {value} was not refused: {message}"
        );
    }
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}
