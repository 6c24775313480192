// SPDX-License-Identifier: GPL-2.0-only

//! How queues leave and enter the hardware: the driver's transactions, and the
//! time slices of the hardware scheduler when there are more queues than slots.

use super::{Engine, Head, Queue, QueueIndex, Saved, Switch};
use crate::gpu::TransactionCost;

impl Engine {
    /// Takes the waves of a queue off the compute units and keeps them.
    pub(super) fn save_queue(&mut self, queue: QueueIndex) -> u64 {
        self.charge(queue);
        let now_work = self.work;
        let q = &mut self.queues[queue];
        let mut bytes = 0;
        match &mut q.head {
            Head::Running(r) => {
                bytes = u64::from(r.resident) * r.kernel.state_bytes;
                self.free_slots += u64::from(r.resident) * r.kernel.slots;
                self.demand -= u64::from(r.resident) * r.kernel.demand;
                r.resident = 0;
                for batch in r.batches.drain(..) {
                    r.saved.push(Saved {
                        remaining: batch.finish.saturating_sub(now_work),
                        count: batch.count,
                    });
                }
            }
            Head::Processing { .. } => q.head = Head::Parked,
            Head::Empty | Head::Parked => {}
        }
        self.unready(queue);
        bytes
    }

    pub(super) fn resume_queue(&mut self, queue: QueueIndex) {
        if !self.can_run(queue) {
            return;
        }
        match &self.queues[queue].head {
            Head::Running(r) if r.unplaced > 0 || !r.saved.is_empty() => self.make_ready(queue),
            Head::Parked => self.take_packet(queue),
            _ => {}
        }
    }

    pub(super) fn advance_switch(&mut self) {
        match std::mem::replace(&mut self.switch, Switch::None) {
            Switch::Commanded { at, stop, start } if at <= self.now => {
                self.unmap_all(&stop, &start);
            }
            Switch::Unmapped { until, cost } if until <= self.now => {
                self.transactions += 1;
                self.transaction_cost.add(&cost);
                self.finished_transaction = Some(cost);
                for queue in 0..self.queues.len() {
                    self.resume_queue(queue);
                }
                self.dispatch();
            }
            other => self.switch = other,
        }
    }

    fn unmap_all(&mut self, stop: &[QueueIndex], start: &[QueueIndex]) {
        self.slice_entering = None;
        let saved = (0..self.queues.len()).map(|q| self.save_queue(q)).sum();
        for &queue in stop {
            self.queues[queue].active = false;
        }
        for &queue in start {
            self.queues[queue].active = true;
        }
        self.fill_hqds();
        let restored = self
            .queues
            .iter()
            .filter(|q| q.active && q.in_hqd)
            .map(Queue::state_bytes)
            .sum();
        let cost = TransactionCost::new(&self.gpu, saved, restored);
        self.switch = Switch::Unmapped {
            until: self.now + cost.standstill(),
            cost,
        };
    }

    /// Chooses the queues that are in hardware: all active ones if they fit,
    /// else those with work first, from a cursor that moves on each slice.
    fn fill_hqds(&mut self) {
        let active = self.queues.iter().filter(|q| q.active).count();
        if active <= self.gpu.hqds {
            for q in &mut self.queues {
                q.in_hqd = q.active;
            }
            self.slice_end = None;
            return;
        }
        let count = self.queues.len();
        let order: Vec<QueueIndex> = (0..count)
            .map(|i| (self.slice_cursor + i) % count)
            .filter(|&q| self.queues[q].active)
            .collect();
        let busy = order.iter().filter(|&&q| self.queues[q].busy());
        let idle = order.iter().filter(|&&q| !self.queues[q].busy());
        let chosen: Vec<QueueIndex> = busy.chain(idle).take(self.gpu.hqds).copied().collect();
        for q in &mut self.queues {
            q.in_hqd = false;
        }
        for &q in &chosen {
            self.queues[q].in_hqd = true;
        }
        if let Some(&last) = chosen.last() {
            self.slice_cursor = (last + 1) % count;
        }
        self.slice_end = Some(self.now + self.gpu.quantum);
    }

    pub(super) fn advance_slice(&mut self) {
        if let Some((at, entering)) = self.slice_entering.take() {
            if at <= self.now {
                for queue in entering {
                    self.queues[queue].in_hqd = true;
                    self.resume_queue(queue);
                }
                self.dispatch();
            } else {
                self.slice_entering = Some((at, entering));
            }
        }
        let due = self.slice_end.is_some_and(|end| end <= self.now);
        if !due {
            return;
        }
        if self.in_transaction() || self.slice_entering.is_some() {
            self.slice_end = Some(self.now + self.gpu.quantum);
            return;
        }
        let before: Vec<bool> = self.queues.iter().map(|q| q.in_hqd).collect();
        self.fill_hqds();
        let mut saved = 0;
        let mut restored = 0;
        let mut entering = Vec::new();
        for (queue, was_in) in before.into_iter().enumerate() {
            let is_in = self.queues[queue].in_hqd;
            if was_in && !is_in {
                saved += self.save_queue(queue);
            } else if is_in && !was_in {
                restored += self.queues[queue].state_bytes();
                self.queues[queue].in_hqd = false;
                entering.push(queue);
            }
        }
        if entering.is_empty() {
            return;
        }
        self.slice_switches += 1;
        let at = self.now + self.gpu.transfer(saved) + self.gpu.transfer(restored);
        self.slice_entering = Some((at, entering));
        if at == self.now {
            // Nothing to move: the newcomers run at once.
            let (_, entering) = self.slice_entering.take().expect("just set");
            for queue in entering {
                self.queues[queue].in_hqd = true;
                self.resume_queue(queue);
            }
        }
        self.dispatch();
    }
}
