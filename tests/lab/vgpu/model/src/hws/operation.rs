// SPDX-License-Identifier: GPL-2.0-only
//! The operation that runs: queues have to leave, then others are mapped.

use std::collections::{BTreeSet, VecDeque};

use super::Hws;
use crate::clock::SchedulerStep;
use crate::engines::Engines;
use crate::terms::QueueKey;

#[derive(Clone, Debug)]
pub struct Operation {
    serial: u64,
    /// The log's record of the packet that asked for it.
    record: Option<u64>,
    /// Queues that have yet to leave.
    waiting: BTreeSet<QueueKey>,
    /// Queues to map after that, by place in the runlist.
    to_map: VecDeque<usize>,
}

impl Operation {
    pub fn to_leave(&self) -> usize {
        self.waiting.len()
    }

    pub fn to_map(&self) -> usize {
        self.to_map.len()
    }

    pub fn next_to_map(&mut self) -> Option<usize> {
        self.to_map.pop_front()
    }

    /// Stops waiting; returns the queues it waited for.
    pub fn give_up(&mut self) -> BTreeSet<QueueKey> {
        std::mem::take(&mut self.waiting)
    }
}

impl Hws {
    pub(super) fn begin_operation(
        &mut self,
        engines: &mut Engines,
        record: Option<u64>,
        waiting: BTreeSet<QueueKey>,
        to_map: VecDeque<usize>,
    ) {
        let serial = engines.bus.clock.serial();
        let idle = waiting.is_empty();
        self.operation = Some(Operation {
            serial,
            record,
            waiting,
            to_map,
        });
        if !idle {
            let latency = u64::from(self.unmap_latency.max(1));
            let limit = latency * engines.bus.config.timing.unmap_latency_unit;
            let deadline = SchedulerStep::Deadline { serial };
            self.after(engines, limit, deadline);
        }
        self.operation_progress(engines);
    }

    pub(super) fn is_running(&self, serial: u64) -> bool {
        let operation = self.operation.as_ref();
        operation.is_some_and(|operation| operation.serial == serial)
    }

    /// Continues with the operation when nothing is left to leave.
    pub(super) fn operation_progress(&mut self, engines: &mut Engines) {
        let Some(operation) = &self.operation else {
            return;
        };
        if !operation.waiting.is_empty() {
            return;
        }
        let serial = operation.serial;
        if !operation.to_map.is_empty() {
            let nanos = engines.bus.config.timing.map_queue;
            let next = SchedulerStep::MapNext { serial };
            self.after(engines, nanos, next);
            return;
        }
        let record = operation.record;
        self.operation = None;
        if let Some(record) = record {
            let now = engines.bus.now();
            engines.bus.accounts.hiq_completed(now, record);
        }
        self.start_slice(engines);
        if let Some(ring) = self.ring {
            engines.queues.kick(&mut engines.bus, ring);
        }
    }

    /// Queues that the operation waits for.
    pub fn waiting(&self) -> Vec<QueueKey> {
        let operation = self.operation.as_ref();
        operation.map_or(Vec::new(), |operation| {
            operation.waiting.iter().copied().collect()
        })
    }

    /// A queue has left its slots.
    pub fn queue_left(&mut self, engines: &mut Engines, key: QueueKey) {
        for listed in &mut self.listed {
            if listed.key == Some(key) {
                listed.key = None;
            }
        }
        self.release_vmids(engines);
        if let Some(operation) = &mut self.operation {
            if operation.waiting.remove(&key) {
                self.operation_progress(engines);
            }
        }
    }
}
