// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler firmware ("HWS"): it takes runlists from its own ring, gives
//! their processes address spaces and their queues slots, takes them away on
//! request, and rotates them when they do not all fit.
//!
//! One operation runs at a time; the ring waits for it. That orders a
//! QUERY_STATUS behind the unmapping before it.

mod map;
mod runlist;
mod select;
mod unmap;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::gpu::{Event, Gpu};
use crate::layout::pm4::{self as packet, opcode, Engine};
use crate::memory::Space;
use crate::terms::{Fence, GpuNanos, HiqAction, QueueKey};

/// What becomes of a packet on the scheduler's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Done,
    /// Its operation runs; the ring goes on when that is over.
    Started,
    /// Another operation runs; the packet is taken after it.
    Busy,
}

/// What the scheduler does later.
#[derive(Clone, Debug)]
pub enum Step {
    MapNext {
        serial: u64,
    },
    /// Queues that have not yielded by now are given up.
    Deadline {
        serial: u64,
    },
    /// A look at the time slice.
    Slice {
        serial: u64,
    },
    Fence {
        record: u64,
        address: u64,
        value: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pasid: u32,
    root: u64,
    quantum: u32,
}

/// A queue of the runlist.
#[derive(Clone, Debug)]
struct Listed {
    process: usize,
    engine: Engine,
    descriptor: u64,
    write_address: u64,
    doorbell: u32,
    is_static: bool,
    /// Its queue while it is mapped.
    key: Option<QueueKey>,
}

#[derive(Debug)]
struct Operation {
    serial: u64,
    /// The log's record of the packet that asked for it.
    record: Option<u64>,
    /// Queues that have yet to leave.
    waiting: BTreeSet<QueueKey>,
    /// Then to be mapped, by place in the runlist.
    to_map: VecDeque<usize>,
}

#[derive(Default)]
pub struct Hws {
    vmid_mask: u32,
    queue_mask: u64,
    /// How long a queue may take to leave, in the driver's units.
    unmap_latency: u32,
    processes: Vec<Process>,
    listed: Vec<Listed>,
    /// Processes that may be mapped at a time; 0 is no limit.
    concurrent: u32,
    /// The process in each address space in use.
    vmids: BTreeMap<u32, u32>,
    /// Where in the runlist the choice of queues starts.
    cursor: usize,
    operation: Option<Operation>,
    /// The ring that waits for the operation to end.
    ring: Option<QueueKey>,
    slice_started: GpuNanos,
    slice_serial: u64,
}

impl Hws {
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, process) in self.processes.iter().enumerate() {
            let vmid = self
                .vmids
                .iter()
                .find(|(_, pasid)| **pasid == process.pasid);
            let vmid = vmid.map_or("none".to_owned(), |(vmid, _)| vmid.to_string());
            lines.push(format!("process pasid {} vmid {vmid}", process.pasid));
            for listed in self.listed.iter().filter(|listed| listed.process == index) {
                lines.push(format!(
                    "  queue doorbell {:#x} {:?} descriptor {:#x}{}{}",
                    u64::from(listed.doorbell) * 4,
                    listed.engine,
                    listed.descriptor,
                    if listed.is_static { " static" } else { "" },
                    if listed.key.is_some() { " mapped" } else { "" },
                ));
            }
        }
        if let Some(operation) = &self.operation {
            lines.push(format!(
                "busy: {} queues to leave, {} to map",
                operation.waiting.len(),
                operation.to_map.len()
            ));
        }
        lines
    }
}

impl Gpu {
    pub fn hws_set_resources(&mut self, packet: &packet::SetResources<'_>) {
        self.hws.vmid_mask = packet.vmid_mask();
        self.hws.queue_mask = packet.queue_mask();
        self.hws.unmap_latency = packet.unmap_latency();
    }

    /// Logs a packet of the scheduler's ring that needs no operation.
    pub fn hws_log_other(&mut self, opcode: u32, body: &[u32]) {
        let action = if opcode == opcode::SET_RESOURCES {
            let packet = packet::SetResources(body);
            HiqAction::SetResources {
                vmid_mask: packet.vmid_mask(),
                queue_mask: packet.queue_mask(),
                unmap_latency_units: packet.unmap_latency(),
            }
        } else if opcode == opcode::NOP {
            return;
        } else {
            HiqAction::Other { opcode }
        };
        let record = self.accounts.hiq_fetched(self.now, action);
        self.accounts.hiq_completed(self.now, record);
    }

    /// RUN_LIST, UNMAP_QUEUES or QUERY_STATUS on the scheduler's ring.
    pub fn hws_packet(&mut self, ring: QueueKey, opcode: u32, body: &[u32]) -> Taken {
        self.hws.ring = Some(ring);
        if self.hws.operation.is_some() {
            return Taken::Busy;
        }
        match opcode {
            opcode::RUN_LIST => self.hws_run_list(&packet::RunList(body)),
            opcode::UNMAP_QUEUES => self.hws_unmap(&packet::UnmapQueues(body)),
            _ => {
                self.hws_query(&packet::QueryStatus(body));
                Taken::Done
            }
        }
    }

    fn hws_query(&mut self, packet: &packet::QueryStatus<'_>) {
        let (address, value) = (packet.address(), packet.value());
        let record = self
            .accounts
            .hiq_fetched(self.now, HiqAction::QueryStatus { address, value });
        let fence = Step::Fence {
            record,
            address,
            value,
        };
        match self.faults.fence {
            Fence::OnTime => self.scheduler_step(fence),
            Fence::Late(nanos) => {
                self.events
                    .push(self.now.after(nanos), Event::Scheduler(fence));
            }
            Fence::Never => self.note("the scheduler's fence is withheld".to_owned()),
        }
    }

    pub fn scheduler_step(&mut self, step: Step) {
        if self.faults.hung {
            return;
        }
        let is_current = |gpu: &Gpu, serial| {
            gpu.hws
                .operation
                .as_ref()
                .is_some_and(|op| op.serial == serial)
        };
        match step {
            Step::Fence {
                record,
                address,
                value,
            } => {
                if let Err(fault) = self.memory.write_u64(Space::Kernel, address, value) {
                    self.note(format!("the scheduler's fence: {fault}"));
                }
                self.accounts.hiq_completed(self.now, record);
            }
            Step::MapNext { serial } if is_current(self, serial) => self.map_next(),
            Step::Deadline { serial } if is_current(self, serial) => self.give_up_waiting(),
            Step::Slice { serial } if serial == self.hws.slice_serial => self.slice_look(),
            _ => {}
        }
    }

    fn begin_operation(
        &mut self,
        record: Option<u64>,
        waiting: BTreeSet<QueueKey>,
        to_map: VecDeque<usize>,
    ) {
        let serial = self.next_serial();
        let idle = waiting.is_empty();
        self.hws.operation = Some(Operation {
            serial,
            record,
            waiting,
            to_map,
        });
        if !idle {
            let latency = u64::from(self.hws.unmap_latency.max(1));
            let limit = latency * self.config.timing.unmap_latency_unit;
            let step = Step::Deadline { serial };
            self.events
                .push(self.now.after(limit), Event::Scheduler(step));
        }
        self.operation_progress();
    }

    /// Goes on with the operation when nothing has to leave any more.
    fn operation_progress(&mut self) {
        let Some(operation) = &self.hws.operation else {
            return;
        };
        if !operation.waiting.is_empty() {
            return;
        }
        let serial = operation.serial;
        if !operation.to_map.is_empty() {
            let at = self.now.after(self.config.timing.map_queue);
            self.events
                .push(at, Event::Scheduler(Step::MapNext { serial }));
            return;
        }
        let record = operation.record;
        self.hws.operation = None;
        if let Some(record) = record {
            self.accounts.hiq_completed(self.now, record);
        }
        self.start_slice();
        if let Some(ring) = self.hws.ring {
            self.kick(ring);
        }
    }

    /// Queues that the operation waits for.
    pub fn hws_waiting(&self) -> Vec<QueueKey> {
        let operation = self.hws.operation.as_ref();
        operation.map_or(Vec::new(), |operation| {
            operation.waiting.iter().copied().collect()
        })
    }

    /// A queue has left its slots.
    pub fn hws_queue_left(&mut self, key: QueueKey) {
        for listed in &mut self.hws.listed {
            if listed.key == Some(key) {
                listed.key = None;
            }
        }
        self.release_vmids();
        if let Some(operation) = &mut self.hws.operation {
            if operation.waiting.remove(&key) {
                self.operation_progress();
            }
        }
    }
}
