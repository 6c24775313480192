// SPDX-License-Identifier: GPL-2.0-only
//! One step at a given size, for callgrind to count: `step_cost QUEUES SHAPE`.
//!
//! `idle`: no queue has anything to do. `contended`: every second queue runs at a
//! low level, the others are idle, and one of the highest level waits; the step
//! stops them all. `held`: the steps after that. The instructions between the
//! two calls of `measured` are the cost of the steps in it.

use std::hint::black_box;

use gpreempt_host_tests::cases::idle;
use gpreempt_host_tests::Vectors;
use gpreempt_policy::{
    Config, Decision, Head, Mode, Nanos, Observation, Priority, ProcessId, QueueState, Scheduler,
    Waves,
};

/// What is counted. Not inlined, so that callgrind can tell it from the rest.
#[inline(never)]
fn measured(
    scheduler: &mut Scheduler<Vectors>,
    now: Nanos,
    config: &Config,
    seen: &[Observation],
    out: &mut [Decision],
) -> usize {
    black_box(scheduler.step(now, config, black_box(seen), &[], out)).decisions
}

/// The same, not counted.
#[inline(never)]
fn prepared(
    scheduler: &mut Scheduler<Vectors>,
    now: Nanos,
    config: &Config,
    seen: &[Observation],
    out: &mut [Decision],
) -> usize {
    scheduler
        .step(now, config, black_box(seen), &[], out)
        .decisions
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("usage: step_cost QUEUES idle|contended|held");
    let shape = arguments
        .next()
        .expect("usage: step_cost QUEUES idle|contended|held");
    let mut config = Config::new();
    config.mode = Mode::Enforce;
    let mut scheduler = Scheduler::new(Vectors::new(1024));
    let mut out = vec![Decision::default(); 1024];
    let mut seen: Vec<Observation> = (0..count)
        .map(|n| {
            // Four queues a process, as ROCm applications have.
            idle(n + 1, n / 4 + 1, u32::from(n % 2 == 0) * 7)
        })
        .collect();
    let mut now = Nanos::SECOND;
    let poll = Nanos::from_micros(config.numbers.poll_interval_us);
    let mut pass = |scheduler: &mut Scheduler<Vectors>, seen: &[Observation], counted: bool| {
        now = now.after(poll);
        if counted {
            measured(scheduler, now, &config, seen, &mut out)
        } else {
            prepared(scheduler, now, &config, seen, &mut out)
        }
    };
    pass(&mut scheduler, &seen, false);
    match shape.as_str() {
        "idle" => {
            pass(&mut scheduler, &seen, false);
            assert_eq!(pass(&mut scheduler, &seen, true), 0);
        }
        "contended" | "held" => {
            if let Some((first, others)) = seen.split_first_mut() {
                first.kfd = Priority::HIGHEST;
                first.backlog = Some(1);
                first.head = Head::Runnable;
                for queue in others.iter_mut().filter(|queue| queue.queue.0 % 2 == 0) {
                    queue.backlog = Some(9);
                    queue.progress = 1;
                    queue.waves = Waves::Known(8);
                    queue.head = Head::Runnable;
                }
            }
            // The first queue waits from the second look on.
            assert_eq!(pass(&mut scheduler, &seen, false), 0);
            let stopped = pass(&mut scheduler, &seen, shape == "contended");
            assert_eq!(stopped > 0, count > 4, "{stopped} were stopped");
            if shape == "held" {
                for queue in seen
                    .iter_mut()
                    .filter(|queue| queue.waves == Waves::Known(8))
                {
                    // Those of the beneficiary's own process go on.
                    if queue.process != ProcessId(1) {
                        queue.state = QueueState::StoppedByUs;
                    }
                }
                pass(&mut scheduler, &seen, false);
                assert_eq!(pass(&mut scheduler, &seen, true), 0);
            }
        }
        _ => panic!("usage: step_cost QUEUES idle|contended|held"),
    }
}
