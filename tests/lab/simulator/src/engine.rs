// SPDX-License-Identifier: GPL-2.0-only

//! The GPU as a sequence of events: packets become kernels, kernels become
//! workgroups, workgroups occupy slots and share the throughput of the
//! compute units, and a transaction of the driver saves and restores them.
//!
//! Placement is pooled: the node is one reservoir of slots and of throughput.
//! All resident workgroups slow down alike when together they ask for more
//! than the compute units can do, so one virtual clock serves them all and a
//! step costs the same for any number of workgroups.

mod placement;
mod share;
mod switching;

use crate::gpu::{Gpu, Nanos, TransactionCost, FULL_DEMAND};
use crate::kernel::{Kernel, PipeClass, Program, Work};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

pub type QueueIndex = usize;
pub type RequestId = u64;

#[derive(Clone, Copy, Debug)]
struct Batch {
    id: u64,
    finish: Work,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Saved {
    remaining: Work,
    count: u32,
}

#[derive(Debug)]
struct Running {
    kernel: Kernel,
    unplaced: u32,
    resident: u32,
    done: u32,
    batches: Vec<Batch>,
    saved: Vec<Saved>,
    read_pointer_moved: bool,
}

#[derive(Debug)]
enum Head {
    Empty,
    /// The packet processor works on the packet; `token` voids an old wake-up.
    Processing {
        token: u64,
    },
    /// Nothing happens until the queue is mapped again.
    Parked,
    Running(Running),
}

#[derive(Debug)]
struct Job {
    request: RequestId,
    program: Program,
    next: usize,
}

#[derive(Debug)]
struct Queue {
    class: PipeClass,
    jobs: VecDeque<Job>,
    head: Head,
    read: u64,
    write: u64,
    active: bool,
    in_hqd: bool,
    in_ready: bool,
    /// Work done for the queue, in picoseconds of workgroup time.
    service: u128,
    /// The share of throughput that its workgroups had, over the virtual clock, up to
    /// `charged_at` on it.
    used: u128,
    charged_at: Work,
    workgroups_done: u64,
    workgroups_lost: u64,
}

impl Queue {
    fn busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// The throughput that its resident workgroups can use.
    fn demand(&self) -> u128 {
        match &self.head {
            Head::Running(r) => u128::from(r.resident) * u128::from(r.kernel.demand),
            _ => 0,
        }
    }

    fn state_bytes(&self) -> u64 {
        match &self.head {
            Head::Running(r) => {
                let saved: u64 = r.saved.iter().map(|s| u64::from(s.count)).sum();
                (u64::from(r.resident) + saved) * r.kernel.state_bytes
            }
            _ => 0,
        }
    }
}

#[derive(Debug)]
enum Switch {
    None,
    /// The command is on its way, everything still runs.
    Commanded {
        at: Nanos,
        stop: Vec<QueueIndex>,
        start: Vec<QueueIndex>,
    },
    /// Everything is unmapped until the time.
    Unmapped {
        until: Nanos,
        cost: TransactionCost,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub request: RequestId,
    pub queue: QueueIndex,
    pub at: Nanos,
}

/// What can be seen of a queue from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub read: u64,
    pub write: u64,
    /// On the compute units.
    pub waves: u32,
    /// In the save area.
    pub saved_waves: u32,
    /// Those of the whole launch at the head, as its packet says.
    pub grid: u32,
    pub active: bool,
    pub in_hqd: bool,
}

impl View {
    pub fn backlog(&self) -> u64 {
        self.write - self.read
    }
}

#[derive(Debug)]
pub struct Engine {
    gpu: Gpu,
    now: Nanos,
    work: Work,
    free_slots: u64,
    demand: u64,
    capacity: u64,
    queues: Vec<Queue>,
    finishing: BinaryHeap<Reverse<(Work, u64, QueueIndex)>>,
    processing: BinaryHeap<Reverse<(Nanos, u64, QueueIndex)>>,
    ready: [VecDeque<QueueIndex>; 3],
    serial: u64,
    switch: Switch,
    /// Next end of a time slice, while there are more queues than slots.
    slice_end: Option<Nanos>,
    slice_cursor: usize,
    /// Queues that come in when the waves of those that left are saved.
    slice_entering: Option<(Nanos, Vec<QueueIndex>)>,
    completions: Vec<Completion>,
    finished_transaction: Option<TransactionCost>,
    pub transactions: u64,
    pub transaction_cost: TransactionCost,
    pub slice_switches: u64,
    /// Integral of used throughput over time.
    used: u128,
}

impl Engine {
    pub fn new(gpu: Gpu) -> Self {
        Self {
            free_slots: gpu.slots(),
            capacity: gpu.compute_units * FULL_DEMAND,
            gpu,
            now: 0,
            work: 0,
            demand: 0,
            queues: Vec::new(),
            finishing: BinaryHeap::new(),
            processing: BinaryHeap::new(),
            ready: Default::default(),
            serial: 0,
            switch: Switch::None,
            slice_end: None,
            slice_cursor: 0,
            slice_entering: None,
            completions: Vec::new(),
            finished_transaction: None,
            transactions: 0,
            transaction_cost: TransactionCost::default(),
            slice_switches: 0,
            used: 0,
        }
    }

    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub fn now(&self) -> Nanos {
        self.now
    }

    pub fn add_queue(&mut self, class: PipeClass) -> QueueIndex {
        self.queues.push(Queue {
            class,
            jobs: VecDeque::new(),
            head: Head::Empty,
            read: 0,
            write: 0,
            active: true,
            in_hqd: self.queues.len() < self.gpu.hqds,
            in_ready: false,
            service: 0,
            used: 0,
            charged_at: 0,
            workgroups_done: 0,
            workgroups_lost: 0,
        });
        if self.queues.len() > self.gpu.hqds && self.slice_end.is_none() {
            self.slice_end = Some(self.now + self.gpu.quantum);
            self.slice_cursor = self.gpu.hqds;
        }
        self.queues.len() - 1
    }

    /// Writes the packets of one request and rings the doorbell.
    pub fn submit(&mut self, queue: QueueIndex, request: RequestId, program: &Program) {
        assert!(!program.is_empty(), "a request without a packet never ends");
        let q = &mut self.queues[queue];
        q.write += program.len() as u64;
        q.jobs.push_back(Job {
            request,
            program: Arc::clone(program),
            next: 0,
        });
        if matches!(q.head, Head::Empty) {
            self.take_packet(queue);
        }
    }

    pub fn view(&self, queue: QueueIndex) -> View {
        let q = &self.queues[queue];
        let (waves, saved_waves, grid) = match &q.head {
            Head::Running(r) => {
                let saved: u32 = r.saved.iter().map(|s| s.count).sum();
                let waves = r.kernel.waves;
                (
                    r.resident * waves,
                    saved * waves,
                    r.kernel.workgroups * waves,
                )
            }
            _ => (0, 0, 0),
        };
        View {
            read: q.read,
            write: q.write,
            waves,
            saved_waves,
            grid,
            active: q.active,
            in_hqd: q.in_hqd,
        }
    }

    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    pub fn busy(&self, queue: QueueIndex) -> bool {
        self.queues[queue].busy()
    }

    /// Workgroup time that the queue has received.
    pub fn service(&self, queue: QueueIndex) -> Nanos {
        (self.queues[queue].service / 1_000) as Nanos
    }

    pub fn workgroups_done(&self, queue: QueueIndex) -> u64 {
        self.queues[queue].workgroups_done
    }

    pub fn workgroups_lost(&self, queue: QueueIndex) -> u64 {
        self.queues[queue].workgroups_lost
    }

    /// Share of the node's throughput that was used so far.
    pub fn utilisation(&self) -> f64 {
        self.used as f64 / (self.capacity as f64 * self.now.max(1) as f64)
    }

    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.completions)
    }

    /// The cost of the transaction that just ended, once.
    pub fn take_finished_transaction(&mut self) -> Option<TransactionCost> {
        self.finished_transaction.take()
    }

    pub fn in_transaction(&self) -> bool {
        !matches!(self.switch, Switch::None)
    }

    /// Unmaps everything, edits the active queues, maps what is active: what
    /// the driver does for any stop or start.
    pub fn begin_transaction(&mut self, stop: Vec<QueueIndex>, start: Vec<QueueIndex>) {
        assert!(!self.in_transaction(), "the driver's lock is held");
        self.switch = Switch::Commanded {
            at: self.now + self.gpu.doorbell + self.gpu.firmware_packet,
            stop,
            start,
        };
    }

    /// Throws away the resident waves of a queue; its kernel begins again when
    /// it is started.  Costs no saving, and the work is lost.
    pub fn kill(&mut self, queue: QueueIndex) {
        self.charge(queue);
        let q = &mut self.queues[queue];
        q.active = false;
        if let Head::Running(r) = &mut q.head {
            self.free_slots += u64::from(r.resident) * r.kernel.slots;
            self.demand -= u64::from(r.resident) * r.kernel.demand;
            let lost = r.done + r.resident;
            q.workgroups_lost += u64::from(lost);
            q.workgroups_done -= u64::from(r.done);
            r.unplaced = r.kernel.workgroups;
            r.resident = 0;
            r.done = 0;
            r.batches.clear();
            r.saved.clear();
        } else if matches!(q.head, Head::Processing { .. }) {
            q.head = Head::Parked;
        }
        self.unready(queue);
        self.dispatch();
    }

    /// Lets a killed queue run again.
    pub fn revive(&mut self, queue: QueueIndex) {
        self.queues[queue].active = true;
        self.resume_queue(queue);
        self.dispatch();
    }

    pub fn next_event(&mut self) -> Option<Nanos> {
        let mut next = match &self.switch {
            Switch::None => None,
            Switch::Commanded { at, .. } => Some(*at),
            Switch::Unmapped { until, .. } => Some(*until),
        };
        let mut consider = |at: Option<Nanos>| {
            if let Some(at) = at {
                next = Some(next.map_or(at, |n: Nanos| n.min(at)));
            }
        };
        consider(self.processing.peek().map(|Reverse((at, _, _))| *at));
        consider(self.slice_end);
        consider(self.slice_entering.as_ref().map(|(at, _)| *at));
        while let Some(Reverse((finish, id, queue))) = self.finishing.peek() {
            if self.has_batch(*queue, *id) {
                let missing = finish.saturating_sub(self.work);
                consider(Some(self.now + self.time_for(missing)));
                break;
            }
            self.finishing.pop();
        }
        next
    }

    /// Advances to `to`, which must not lie beyond the next event.
    pub fn advance(&mut self, to: Nanos) {
        debug_assert!(to >= self.now);
        let elapsed = to - self.now;
        let done = self.work_in(elapsed);
        self.used += u128::from(self.demand.min(self.capacity)) * u128::from(elapsed);
        self.work += done;
        self.now = to;
        loop {
            let mut something = false;
            while let Some(Reverse((at, token, queue))) = self.processing.peek().copied() {
                if at > self.now {
                    break;
                }
                self.processing.pop();
                if matches!(self.queues[queue].head, Head::Processing { token: t } if t == token) {
                    self.launch(queue);
                    something = true;
                }
            }
            while let Some(Reverse((finish, id, queue))) = self.finishing.peek().copied() {
                if finish > self.work {
                    break;
                }
                self.finishing.pop();
                if self.has_batch(queue, id) {
                    self.finish_batch(queue, id);
                    something = true;
                }
            }
            if something {
                self.dispatch();
            } else {
                break;
            }
        }
        self.advance_slice();
        self.advance_switch();
    }

    fn work_in(&self, elapsed: Nanos) -> Work {
        let full = u128::from(elapsed) * 1_000;
        if self.demand <= self.capacity {
            full as Work
        } else {
            (full * u128::from(self.capacity) / u128::from(self.demand)) as Work
        }
    }

    fn time_for(&self, work: Work) -> Nanos {
        if self.demand <= self.capacity {
            work.div_ceil(1_000)
        } else {
            (u128::from(work) * u128::from(self.demand)).div_ceil(u128::from(self.capacity) * 1_000)
                as Nanos
        }
    }

    fn can_run(&self, queue: QueueIndex) -> bool {
        let q = &self.queues[queue];
        q.active && q.in_hqd && !matches!(self.switch, Switch::Unmapped { .. })
    }

    /// Brings the next packet of a queue to the packet processor.
    fn take_packet(&mut self, queue: QueueIndex) {
        if !self.queues[queue].busy() {
            self.queues[queue].head = Head::Empty;
            return;
        }
        if !self.can_run(queue) {
            self.queues[queue].head = Head::Parked;
            return;
        }
        self.serial += 1;
        let token = self.serial;
        self.queues[queue].head = Head::Processing { token };
        let at = self.now + self.gpu.packet_processing;
        self.processing.push(Reverse((at, token, queue)));
    }
}
