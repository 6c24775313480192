// SPDX-License-Identifier: GPL-2.0
//! Runs a load in a guest and reads what came of it.

use std::time::Duration;

use anyhow::{bail, Context, Result};
use e2e_runner::guest::Guest;
use e2e_runner::load::report;
use gpu_workload::report::{QueueReport, RunReport};
use gpu_workload::spec::RunSpec;

/// A safety net only.
const PATIENCE: Duration = Duration::from_secs(1200);

/// One run, and the packets that the scheduler firmware saw during it.
pub struct Outcome {
    pub report: RunReport,
    pub packets: u64,
}

impl Outcome {
    pub fn queue(&self, name: &str) -> Result<&QueueReport> {
        self.report
            .queues
            .iter()
            .find(|queue| queue.identity.name == name)
            .with_context(|| format!("the run does not report on queue {name}"))
    }

    /// Workgroups lost and repeated, over all queues.
    pub fn lost_and_repeated(&self) -> (u64, u64) {
        self.report
            .queues
            .iter()
            .fold((0, 0), |(lost, repeated), queue| {
                (
                    lost + queue.workgroups.lost,
                    repeated + queue.workgroups.repeated,
                )
            })
    }
}

/// Workgroups that a queue finished in a second of GPU time.
pub fn rate(queue: &QueueReport) -> f64 {
    queue.workgroups.executed as f64 * 1e9 / queue.span_gpu_ns.max(1) as f64
}

/// Runs a load to its end; `watch` is called every second or so.
pub fn run(
    guest: &mut Guest,
    spec: &RunSpec,
    mut watch: impl FnMut(&mut Guest) -> Result<()>,
) -> Result<Outcome> {
    let before = guest.device.hiq_mark()?;
    let spec = serde_json::to_string(spec)?;
    let handle = guest.spawn(&["workload", "run", "--spec", &spec])?;
    let start = std::time::Instant::now();
    let finished = loop {
        if let Some(finished) = guest.agent().wait(handle, Duration::from_secs(1))? {
            break finished;
        }
        if start.elapsed() > PATIENCE {
            bail!("the load does not end");
        }
        watch(guest)?;
    };
    Ok(Outcome {
        report: report(&finished)?,
        packets: guest.device.hiq_mark()? - before,
    })
}
