// SPDX-License-Identifier: GPL-2.0-only
//! Gives each emulated processor one of the host's to itself.
//!
//! The emulated processors are threads that are busy for as long as the guest is. The
//! host moves them about whenever QEMU or the device has something to do, and where
//! two of them meet on one processor, a thread of the guest waits for some
//! milliseconds: a hundred microseconds of GPU time. That spoils what is measured in a
//! guest, and only that, so that guests which run beside each other are left alone.

use anyhow::{Context, Result};
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use serde_json::Value;

/// Ties the emulated processors that QEMU lists, each to a processor of its own.
pub(crate) fn tie(emulated: &Value) -> Result<()> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).context("which processors are there?")?;
    for (thread, processor) in places(&threads(emulated)?, &usable(&allowed)) {
        let mut one = CpuSet::new();
        one.set(processor)?;
        sched_setaffinity(thread, &one)
            .with_context(|| format!("cannot tie thread {thread} to processor {processor}"))?;
    }
    Ok(())
}

/// The threads of the emulated processors, by what QEMU says of them.
fn threads(emulated: &Value) -> Result<Vec<Pid>> {
    let all = emulated.as_array().context("QEMU lists no processors")?;
    let mut threads = all
        .iter()
        .map(|one| {
            let thread = one["thread-id"].as_i64();
            let thread = thread.and_then(|id| i32::try_from(id).ok());
            thread
                .map(Pid::from_raw)
                .with_context(|| format!("QEMU names no thread of {one}"))
        })
        .collect::<Result<Vec<_>>>()?;
    // One thread can stand for several processors.
    threads.dedup();
    Ok(threads)
}

/// The numbers of the processors in a set.
fn usable(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count())
        .filter(|&processor| set.is_set(processor).unwrap_or(false))
        .collect()
}

/// A processor for each thread, none twice; none at all where they are too few.
fn places(threads: &[Pid], processors: &[usize]) -> Vec<(Pid, usize)> {
    if processors.len() < threads.len() {
        return Vec::new();
    }
    let processors = processors.iter().copied();
    threads.iter().copied().zip(processors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pids(numbers: &[i32]) -> Vec<Pid> {
        numbers.iter().copied().map(Pid::from_raw).collect()
    }

    #[test]
    fn threads_are_read_in_their_order() {
        let emulated =
            json!([{"cpu-index": 0, "thread-id": 31}, {"cpu-index": 1, "thread-id": 30}]);
        assert_eq!(threads(&emulated).unwrap(), pids(&[31, 30]));
    }

    #[test]
    fn a_thread_of_several_processors_counts_once() {
        let emulated = json!([{"thread-id": 7}, {"thread-id": 7}]);
        assert_eq!(threads(&emulated).unwrap(), pids(&[7]));
    }

    #[test]
    fn an_answer_without_threads_is_an_error() {
        for answer in [
            json!({}),
            json!([{"cpu-index": 0}]),
            json!([{"thread-id": 1_u64 << 40}]),
        ] {
            assert!(threads(&answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn each_thread_gets_a_processor_that_may_be_used() {
        let all = places(&pids(&[10, 11]), &[2, 5, 6]);
        assert_eq!(all, [(Pid::from_raw(10), 2), (Pid::from_raw(11), 5)]);
    }

    #[test]
    fn too_few_processors_are_not_shared_out() {
        assert!(places(&pids(&[10, 11]), &[0]).is_empty());
    }

    #[test]
    fn usable_processors_are_those_of_the_set() {
        let mut set = CpuSet::new();
        set.set(1).unwrap();
        set.set(3).unwrap();
        assert_eq!(usable(&set), [1, 3]);
    }
}
