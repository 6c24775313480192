// SPDX-License-Identifier: GPL-2.0-only
//! What a debugger does to the queues of another process.

use std::thread;
use std::time::Duration;

use anyhow::{ensure, Result};
use gpu_workload::kfd::debugger::Session;
use gpu_workload::kfd::ioctl::{Kfd, QueueStatus};
use serde_json::json;

/// Suspends queues of a process and resumes them.
pub fn debug(
    pid: u32,
    mut queues: Vec<u32>,
    cycles: u32,
    suspended_ms: u64,
    running_ms: u64,
) -> Result<serde_json::Value> {
    let kfd = Kfd::open()?;
    let mut session = Session::attach(&kfd, pid)?;
    let found = session.queues()?;
    if queues.is_empty() {
        queues = found.iter().map(|queue| queue.queue_id).collect();
    }
    let mut done = 0;
    for cycle in 0..cycles {
        let suspended = session.suspend(&queues)?;
        thread::sleep(Duration::from_millis(suspended_ms));
        let resumed = session.resume(&queues)?;
        for (what, statuses) in [("suspend", suspended), ("resume", resumed)] {
            for (queue, status) in queues.iter().zip(statuses) {
                ensure!(
                    status == QueueStatus::Done,
                    "cycle {cycle}: {what} of queue {queue}: {status:?}"
                );
            }
        }
        done += 1;
        thread::sleep(Duration::from_millis(running_ms));
    }
    Ok(json!({ "pid": pid, "queues": found, "cycles": done }))
}
