// SPDX-License-Identifier: GPL-2.0-only

//! What a queue has had of the node, and what it has still to do.

use super::{Engine, Head, QueueIndex};
use crate::gpu::Nanos;
use crate::kernel::Kernel;

impl Engine {
    /// For how long the queue would have had all of the node, for what its workgroups
    /// have had of it by a time that is not after the next event.  Work that was thrown
    /// away counts, too.
    pub fn node_time(&self, queue: QueueIndex, by: Nanos) -> Nanos {
        let q = &self.queues[queue];
        let work = self.work + self.work_in(by.saturating_sub(self.now));
        let used = q.used + q.demand() * u128::from(work - q.charged_at);
        (used / (u128::from(self.capacity) * 1_000)) as Nanos
    }

    /// Whether the queue has work that is not on the compute units, or has more to come
    /// behind it.
    pub fn waits(&self, queue: QueueIndex) -> bool {
        let q = &self.queues[queue];
        match &q.head {
            Head::Running(r) => r.unplaced > 0 || !r.saved.is_empty() || q.write > q.read,
            // Whether there is room is not known yet.
            Head::Processing { .. } => false,
            Head::Empty | Head::Parked => q.busy(),
        }
    }

    /// How long what the queue runs would last by itself: its kernel, or the next one if
    /// none has begun.
    pub fn rest(&self, queue: QueueIndex) -> Nanos {
        let q = &self.queues[queue];
        let rounds = |kernel: &Kernel, workgroups: u32| {
            let slots = u64::from(workgroups) * kernel.slots;
            slots.div_ceil(self.gpu.slots()) * kernel.time
        };
        match &q.head {
            Head::Empty => 0,
            Head::Running(r) => {
                let resident = r.batches.iter().map(|b| b.finish.saturating_sub(self.work));
                let saved = r.saved.iter().map(|s| s.remaining);
                let longest = resident.chain(saved).max().unwrap_or(0);
                longest / 1_000 + rounds(&r.kernel, r.unplaced)
            }
            Head::Processing { .. } | Head::Parked => {
                let job = &q.jobs[0];
                let kernel = &job.program[job.next];
                rounds(kernel, kernel.workgroups)
            }
        }
    }

    /// What the workgroups of a queue had on the compute units until now is charged to
    /// it, before there are more or fewer of them.
    pub(super) fn charge(&mut self, queue: QueueIndex) {
        let work = self.work;
        let q = &mut self.queues[queue];
        q.used += q.demand() * u128::from(work - q.charged_at);
        q.charged_at = work;
    }
}
