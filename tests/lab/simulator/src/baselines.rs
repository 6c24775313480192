// SPDX-License-Identifier: GPL-2.0-only

//! The systems to compare with: a scheduler in user space that pays a system
//! call for each look and each act, and reset and resubmit.

use crate::controller::{Act, Controller, Look, Next, QueueInfo};
use crate::engine::{Engine, QueueIndex};
use crate::gpu::Nanos;
use crate::kernel::PipeClass;

/// Entering and leaving a driver's ioctl (assumption; without the transaction).
pub const SYSTEM_CALL: Nanos = 2_000;

/// Reading both pointers of one queue, when the lines are not in the cache.
pub const POINTER_READ: Nanos = 100;

fn has_work(engine: &Engine, queue: QueueIndex) -> bool {
    // The poller sees pointers only, so the last kernel of a request, whose
    // packet is already taken, looks like an idle queue.
    engine.view(queue).backlog() > 0
}

/// Polls each millisecond; suspends and resumes one process a call, as the
/// debugger's ioctls of KFD do.  Since the pointers do not tell it whether a
/// lower queue runs, it suspends all of them.
pub struct UserPoller {
    pub interval: Nanos,
}

impl Controller for UserPoller {
    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look {
        let highest = (0..queues.len())
            .filter(|&q| has_work(engine, q))
            .map(|q| queues[q].priority)
            .max();
        let mut processes: Vec<u64> = queues.iter().map(|q| q.process).collect();
        processes.sort_unstable();
        processes.dedup();
        let mut acts = Vec::new();
        for process in processes {
            let of_process =
                || (0..queues.len()).filter(|&q| queues[q].process == process && !queues[q].urgent);
            let stop: Vec<QueueIndex> = of_process()
                .filter(|&q| engine.view(q).active)
                .filter(|&q| highest.is_some_and(|h| queues[q].priority < h))
                .collect();
            let start: Vec<QueueIndex> = of_process()
                .filter(|&q| !engine.view(q).active)
                .filter(|&q| highest.is_none_or(|h| queues[q].priority >= h))
                .collect();
            if !stop.is_empty() || !start.is_empty() {
                acts.push(Act::Transaction {
                    lead: SYSTEM_CALL,
                    stop,
                    start,
                });
            }
        }
        Look {
            cost: SYSTEM_CALL + POINTER_READ * queues.len() as Nanos,
            acts,
            next: Next::After(self.interval),
        }
    }
}

/// Kills what runs as soon as an urgent request is submitted, and submits it
/// again when the last one is done.  Sits in the submission path, so it needs
/// no polling; may only touch kernels that can be run twice.
pub struct ResetAndResubmit {
    resubmit: Nanos,
}

impl ResetAndResubmit {
    /// Host work to put a killed queue's kernels back (assumption: the launch
    /// calls of the kernels that were in the device queue).
    pub const RESUBMIT: Nanos = 20_000;

    pub fn new() -> Self {
        Self {
            resubmit: Self::RESUBMIT,
        }
    }
}

impl Default for ResetAndResubmit {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for ResetAndResubmit {
    fn class(&self, info: &QueueInfo) -> PipeClass {
        PipeClass::of_priority(info.priority)
    }

    fn told(&mut self, now: Nanos, _queue: QueueIndex) -> Option<Nanos> {
        Some(now)
    }

    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look {
        let urgent = (0..queues.len()).any(|q| queues[q].urgent && engine.busy(q));
        let acts: Vec<Act> = (0..queues.len())
            .filter(|&q| !queues[q].urgent && queues[q].idempotent)
            .filter_map(|q| match (urgent, engine.view(q).active) {
                (true, true) if engine.busy(q) => Some(Act::Kill(q)),
                (false, false) => Some(Act::Revive {
                    lead: self.resubmit,
                    queue: q,
                }),
                _ => None,
            })
            .collect();
        let gpu = engine.gpu();
        let killing = acts.iter().any(|a| matches!(a, Act::Kill(_)));
        Look {
            cost: if killing {
                gpu.doorbell + gpu.firmware_packet + gpu.fence
            } else {
                0
            },
            acts,
            next: Next::Told,
        }
    }
}
