// SPDX-License-Identifier: GPL-2.0-only
//! What a debugger does to the queues of another process, and sees of them.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use gpu_workload::kfd::debugger::Session;
use gpu_workload::kfd::ioctl::{Kfd, QueueSnapshot};
use gpu_workload::kfd::trap::QueueStatus;
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

/// What a debugger finds of a suspended queue in the memory of its process, where the
/// driver has said at the beginning of the save area what is where.
fn saved(pid: u32, queue: &QueueSnapshot, code: &Range<u64>) -> Result<serde_json::Value> {
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let read = |offset: u32, bytes: usize| {
        let mut part = vec![0; bytes];
        memory
            .read_exact_at(&mut part, queue.save_area + u64::from(offset))
            .with_context(|| format!("reading the save area of queue {}", queue.queue_id))?;
        Ok::<_, anyhow::Error>(words(&part))
    };
    // `struct kfd_context_save_area_header`. The waves lie before the place that it names.
    let [_, _, end, waves] = read(0, 16)?[..] else {
        unreachable!("sixteen bytes are four words");
    };
    let begin = end
        .checked_sub(waves)
        .filter(|_| end <= queue.save_area_bytes)
        .with_context(|| format!("{waves} bytes before {end} are not in {queue:?}"))?;
    Ok(json!({
        "queue": queue.queue_id,
        "addresses": addresses(&read(begin, waves as usize)?, code),
    }))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let each = bytes.chunks_exact(4);
    each.map(|word| u32::from_ne_bytes(word.try_into().expect("four bytes")))
        .collect()
}

/// The addresses within code that are anywhere in what was saved. The trap handler has
/// flags of its own above them.
fn addresses(words: &[u32], code: &Range<u64>) -> Vec<u64> {
    let pairs = words.windows(2);
    pairs
        .map(|pair| u64::from(pair[0]) | (u64::from(pair[1] & 0xffff) << 32))
        .filter(|address| code.contains(address))
        .collect()
}

/// Suspends queues of a process once, and says what was saved of them.
pub fn look(pid: u32, code: &Range<u64>) -> Result<serde_json::Value> {
    let kfd = Kfd::open()?;
    let mut session = Session::attach(&kfd, pid)?;
    let queues = session.queues()?;
    let ids: Vec<u32> = queues.iter().map(|queue| queue.queue_id).collect();
    let statuses = session.suspend(&ids)?;
    ensure!(
        statuses.iter().all(|status| *status == QueueStatus::Done),
        "suspend of queues {ids:?}: {statuses:?}"
    );
    let found: Result<Vec<_>> = queues.iter().map(|queue| saved(pid, queue, code)).collect();
    session.resume(&ids)?;
    Ok(json!(found?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_wherever_they_are_and_only_within_the_code() {
        let words = [
            0x1000,
            0x7f,
            0x0fff,
            0x7f,
            0x2000,
            0x7f,
            0x1ffc,
            0x0400_007f,
        ];
        let code = 0x7f_0000_1000..0x7f_0000_2000;
        let found = addresses(&words, &code);
        assert_eq!(found, [0x7f_0000_1000_u64, 0x7f_0000_1ffc]);
        assert!(addresses(&words[1..3], &code).is_empty());
        assert!(addresses(&[], &code).is_empty());
    }
}
