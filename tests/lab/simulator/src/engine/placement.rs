// SPDX-License-Identifier: GPL-2.0-only

//! How the workgroups of kernels come onto the compute units, and leave them when
//! they are done.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::{Batch, Completion, Engine, Head, QueueIndex, Running, Switch};
use crate::gpu::ReadPointer;
use crate::kernel::PipeClass;

impl Engine {
    pub(super) fn has_batch(&self, queue: QueueIndex, id: u64) -> bool {
        match &self.queues[queue].head {
            Head::Running(r) => r.batches.iter().any(|b| b.id == id),
            _ => false,
        }
    }

    pub(super) fn launch(&mut self, queue: QueueIndex) {
        let q = &mut self.queues[queue];
        let job = &q.jobs[0];
        let kernel = job.program[job.next].clone();
        q.head = Head::Running(Running {
            unplaced: kernel.workgroups,
            kernel,
            resident: 0,
            done: 0,
            batches: Vec::new(),
            saved: Vec::new(),
            read_pointer_moved: false,
        });
        self.make_ready(queue);
    }

    pub(super) fn make_ready(&mut self, queue: QueueIndex) {
        let q = &mut self.queues[queue];
        if !q.in_ready {
            q.in_ready = true;
            self.ready[q.class as usize].push_back(queue);
        }
    }

    pub(super) fn unready(&mut self, queue: QueueIndex) {
        let q = &mut self.queues[queue];
        if q.in_ready {
            q.in_ready = false;
            self.ready[q.class as usize].retain(|&other| other != queue);
        }
    }

    /// Places workgroups: higher classes first, queues of a class in turns.
    pub(super) fn dispatch(&mut self) {
        if matches!(self.switch, Switch::Unmapped { .. }) {
            return;
        }
        for class in PipeClass::ALL.iter().rev().map(|c| *c as usize) {
            while self.free_slots > 0 {
                let waiting = std::mem::take(&mut self.ready[class]);
                let mut served = VecDeque::new();
                let mut left = waiting.len() as u64;
                for queue in waiting {
                    let share = self.free_slots / left;
                    left -= 1;
                    let placed = self.place(queue, share);
                    if placed {
                        served.push_back(queue);
                    } else {
                        self.ready[class].push_back(queue);
                    }
                }
                if served.is_empty() {
                    break;
                }
                // Who gets nothing comes first the next time, even where slots become free
                // one by one.
                served.retain(|&queue| self.queues[queue].in_ready);
                self.ready[class].append(&mut served);
            }
            if !self.ready[class].is_empty() {
                return;
            }
        }
    }

    /// Places what fits of one queue in `share` slots, at least one workgroup
    /// where one fits at all.
    fn place(&mut self, queue: QueueIndex, share: u64) -> bool {
        self.charge(queue);
        let now_work = self.work;
        let q = &mut self.queues[queue];
        let Head::Running(r) = &mut q.head else {
            unreachable!("only running heads are ready");
        };
        let slots = r.kernel.slots;
        if self.free_slots < slots {
            return false;
        }
        let mut fit = (share / slots).max(1).min(u64::from(u32::MAX)) as u32;
        let mut placed = 0;
        let mut batches = Vec::new();
        while fit > 0 {
            let Some(saved) = r.saved.last_mut() else {
                break;
            };
            let count = saved.count.min(fit);
            batches.push((saved.remaining, count));
            saved.count -= count;
            fit -= count;
            placed += count;
            if saved.count == 0 {
                r.saved.pop();
            }
        }
        let fresh = fit.min(r.unplaced);
        if fresh > 0 {
            let first = r.kernel.workgroups - r.unplaced;
            batches.extend(r.kernel.work_of(first, fresh));
            r.unplaced -= fresh;
            placed += fresh;
        }
        for (remaining, count) in batches {
            let mut finish = now_work + remaining;
            if r.kernel.grain > 1 {
                finish = finish.next_multiple_of(r.kernel.grain);
                if let Some(same) = r.batches.iter_mut().find(|b| b.finish == finish) {
                    same.count += count;
                    continue;
                }
            }
            self.serial += 1;
            let id = self.serial;
            r.batches.push(Batch { id, finish, count });
            self.finishing.push(Reverse((finish, id, queue)));
        }
        r.resident += placed;
        self.free_slots -= u64::from(placed) * slots;
        self.demand += u64::from(placed) * r.kernel.demand;
        if placed > 0 && !r.read_pointer_moved && self.gpu.read_pointer == ReadPointer::Launch {
            r.read_pointer_moved = true;
            q.read += 1;
        }
        q.in_ready = r.unplaced > 0 || !r.saved.is_empty();
        placed > 0
    }

    pub(super) fn finish_batch(&mut self, queue: QueueIndex, id: u64) {
        self.charge(queue);
        let q = &mut self.queues[queue];
        let Head::Running(r) = &mut q.head else {
            unreachable!("a batch belongs to a running kernel");
        };
        let index = r
            .batches
            .iter()
            .position(|b| b.id == id)
            .expect("checked by the caller");
        let batch = r.batches.swap_remove(index);
        r.resident -= batch.count;
        r.done += batch.count;
        self.free_slots += u64::from(batch.count) * r.kernel.slots;
        self.demand -= u64::from(batch.count) * r.kernel.demand;
        q.workgroups_done += u64::from(batch.count);
        q.service += u128::from(batch.count) * u128::from(r.kernel.time) * 1_000;
        if r.done < r.kernel.workgroups {
            return;
        }
        assert!(
            r.done == r.kernel.workgroups
                && r.resident == 0
                && r.unplaced == 0
                && r.saved.is_empty(),
            "a kernel ends with each of its workgroups done exactly once"
        );
        if !r.read_pointer_moved {
            q.read += 1;
        }
        let job = &mut q.jobs[0];
        job.next += 1;
        if job.next == job.program.len() {
            self.completions.push(Completion {
                request: job.request,
                queue,
                at: self.now,
            });
            q.jobs.pop_front();
        }
        self.take_packet(queue);
    }
}
