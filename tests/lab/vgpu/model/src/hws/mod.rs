// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler firmware ("HWS"): it takes runlists from its own ring, gives
//! their processes address spaces and their queues slots, takes them away on
//! request, and rotates them when they do not all fit.
//!
//! One operation runs at a time and the ring waits for it, so a QUERY_STATUS
//! is answered after the unmapping that precedes it.

mod map;
mod operation;
mod packet;
mod runlist;
mod select;
mod unmap;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::clock::{Event, SchedulerStep};
use crate::engines::Engines;
use crate::layout::pm4::Engine;
use crate::terms::{Config, GpuNanos, QueueKey, WaveSettings};
use operation::Operation;

/// All dies on which a queue is loaded.
pub const ALL_DIES: u32 = u32::MAX;

/// What becomes of a packet on the scheduler's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Done,
    /// Its operation runs; the ring continues when that has ended.
    Started,
    /// Another operation runs; the packet is taken afterwards.
    Busy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pasid: u32,
    root: u64,
    quantum: u32,
    settings: WaveSettings,
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

#[derive(Clone, Default)]
pub struct Hws {
    /// The first die of its partition, on which it runs.
    first: u32,
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
    /// The place in the runlist from which queues are chosen.
    cursor: usize,
    operation: Option<Operation>,
    /// The ring that waits for the operation to end.
    ring: Option<QueueKey>,
    /// Answers that are held.
    held: Vec<SchedulerStep>,
    slice_started: GpuNanos,
    slice_serial: u64,
}

impl Hws {
    /// Does something later.
    fn after(&self, engines: &mut Engines, nanos: u64, step: SchedulerStep) {
        let first = self.first;
        let event = Event::Scheduler { first, step };
        engines.bus.clock.after(nanos, event);
    }

    /// The copy engines of its partition.
    fn copy_engines(&self, engines: &Engines) -> Range<u32> {
        let bus = &engines.bus;
        bus.copy_engines_of(bus.partition_of(self.first))
    }

    fn describe(&self) -> Vec<String> {
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
                operation.to_leave(),
                operation.to_map()
            ));
        }
        lines
    }
}

/// One for each die: those of the partitions' first dies have something to do.
#[derive(Clone)]
pub struct Schedulers(Vec<Hws>);

impl Schedulers {
    pub fn new(config: &Config) -> Schedulers {
        let each = (0..config.xcc_count).map(|first| Hws {
            first,
            ..Hws::default()
        });
        Schedulers(each.collect())
    }

    /// That of a die.
    pub fn of(&mut self, die: u32) -> &mut Hws {
        let last = self.0.len() - 1;
        &mut self.0[last.min(die as usize)]
    }

    /// A queue has left its slots.
    pub fn queue_left(&mut self, engines: &mut Engines, key: QueueKey) {
        for scheduler in &mut self.0 {
            scheduler.queue_left(engines, key);
        }
    }

    /// Those whose answers are held no more give them.
    pub fn answer(&mut self, engines: &mut Engines) {
        for scheduler in &mut self.0 {
            scheduler.answer(engines);
        }
    }

    /// Queues that an operation waits for.
    pub fn waiting(&self) -> Vec<QueueKey> {
        self.0.iter().flat_map(Hws::waiting).collect()
    }

    pub fn describe(&self) -> Vec<String> {
        self.0.iter().flat_map(Hws::describe).collect()
    }
}
