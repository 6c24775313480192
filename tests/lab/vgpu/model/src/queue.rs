// SPDX-License-Identifier: GPL-2.0-only
//! A queue that the GPU serves: one of the driver's rings, or a user's.
//!
//! A user's compute queue is one logical queue on all accelerator dies: the
//! first die reads its packets, every die runs its share of the workgroups.

use std::collections::BTreeMap;

use crate::compute::Dispatch;
use crate::memory::Space;
use crate::terms::{Exit, Format, GpuNanos, QueueKey, Role, SdmaRing, Seat, Slot};

/// A buffer of packets that a ring refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    pub space: Space,
    pub address: u64,
    pub dwords: u32,
}

/// A queue on its way out of its slot, on some of its dies.
#[derive(Clone, Debug)]
pub struct Leaving {
    pub exit: Exit,
    pub dies: u32,
    /// Tells its events from those of an earlier attempt.
    pub serial: u64,
    /// The waves have been taken off the compute units.
    pub saving: bool,
}

#[derive(Debug)]
pub struct Queue {
    pub role: Role,
    pub format: Format,
    pub seat: Seat,
    /// Mask of dies on which it is loaded; bit 0 alone for SDMA.
    pub dies: u32,
    /// The die that reads its packets.
    pub home: u32,
    /// Dword index in BAR 2, unless its doorbell is disabled.
    pub doorbell: Option<u32>,
    pub space: Space,
    pub vmid: u32,
    pub pasid: u32,
    /// Descriptor of the first die in the kernel's address space, and how far
    /// behind it the next die's is. SDMA rings loaded by register have none.
    pub mqd: Option<u64>,
    pub stride: u64,
    pub ring: u64,
    pub ring_bytes: u64,
    /// Next to fetch, reported as read, and written, in units of the format.
    pub fetched: u64,
    pub read: u64,
    pub write: u64,
    /// Where the read pointer is stored.
    pub report_address: u64,
    /// A fetch is scheduled.
    pub fetching: bool,
    pub indirect: Option<Indirect>,
    /// A vendor packet whose buffer runs now: its completion signal.
    pub indirect_signal: Option<u64>,
    pub leaving: Option<Leaving>,
    /// Dies whose saved waves are being read back.
    pub restoring: u32,
    /// Stands still for good, and why.
    pub fault: Option<String>,
    pub pipe_priority: u32,
    pub is_static: bool,
    /// Per die: compute units it may use, by shader engine, and its position
    /// in the dealing of workgroups.
    pub cu_masks: Vec<[u32; 4]>,
    pub logical_dies: Vec<u32>,
    pub chunk: u64,
    /// Launched and not yet complete, oldest first.
    pub dispatches: Vec<Dispatch>,
    pub account: usize,
    /// The SDMA engine works on its current packet until then.
    pub busy_until: GpuNanos,
    /// How long the SDMA engine has worked for this queue, in nanoseconds.
    pub busy_nanos: u64,
}

impl Queue {
    /// Bytes in one unit of the pointers.
    pub fn unit(&self) -> u64 {
        match self.format {
            Format::Aql => 64,
            Format::Pm4 => 4,
            Format::Sdma => 1,
        }
    }

    /// The address in the ring that a pointer stands for.
    pub fn ring_address(&self, pointer: u64) -> u64 {
        self.ring + pointer.wrapping_mul(self.unit()) % self.ring_bytes.max(4)
    }

    pub fn slot(&self) -> Option<Slot> {
        match self.seat {
            Seat::Compute(slot) => Some(slot),
            Seat::Sdma(_) => None,
        }
    }

    pub fn is_on(&self, die: u32) -> bool {
        (self.dies >> die) & 1 != 0
    }

    pub fn dies(&self) -> impl Iterator<Item = u32> {
        let dies = self.dies;
        (0..32).filter(move |die| (dies >> die) & 1 != 0)
    }

    /// Whether it may fetch and launch.
    pub fn is_live(&self) -> bool {
        self.fault.is_none()
            && self.leaving.is_none()
            && self.restoring == 0
            && self.is_on(self.home)
    }

    /// Its pointers as a descriptor and the registers hold them, in dwords.
    pub fn read_dwords(&self) -> u64 {
        match self.format {
            Format::Aql => self.read << 4,
            Format::Pm4 | Format::Sdma => self.read,
        }
    }

    pub fn write_dwords(&self) -> u64 {
        match self.format {
            Format::Aql => self.write << 4,
            Format::Pm4 | Format::Sdma => self.write,
        }
    }

    /// The SDMA activity counter, in units of the reference clock.
    pub fn busy_ticks(&self) -> u64 {
        GpuNanos(self.busy_nanos).ticks()
    }

    /// Doorbell as the API names it: bytes in BAR 2.
    pub fn doorbell_offset(&self) -> u64 {
        self.doorbell.map_or(0, |index| u64::from(index) * 4)
    }
}

/// All queues that are mapped now.
#[derive(Default)]
pub struct Queues {
    queues: BTreeMap<QueueKey, Queue>,
    next: u64,
}

impl Queues {
    pub fn insert(&mut self, queue: Queue) -> QueueKey {
        let key = QueueKey(self.next);
        self.next += 1;
        self.queues.insert(key, queue);
        key
    }

    pub fn get(&self, key: QueueKey) -> Option<&Queue> {
        self.queues.get(&key)
    }

    pub fn get_mut(&mut self, key: QueueKey) -> Option<&mut Queue> {
        self.queues.get_mut(&key)
    }

    pub fn remove(&mut self, key: QueueKey) -> Option<Queue> {
        self.queues.remove(&key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (QueueKey, &Queue)> {
        self.queues.iter().map(|(key, queue)| (*key, queue))
    }

    pub fn find(&self, mut wanted: impl FnMut(&Queue) -> bool) -> Option<QueueKey> {
        self.iter()
            .find(|(_, queue)| wanted(queue))
            .map(|(key, _)| key)
    }

    /// Those that a doorbell rings, by its dword index.
    pub fn by_doorbell(&self, index: u32) -> Vec<QueueKey> {
        self.iter()
            .filter(|(_, queue)| queue.doorbell == Some(index))
            .map(|(key, _)| key)
            .collect()
    }

    /// Who sits in a slot of a die.
    pub fn in_slot(&self, die: u32, slot: Slot) -> Option<QueueKey> {
        self.find(|queue| queue.is_on(die) && queue.seat == Seat::Compute(slot))
    }

    pub fn on_ring(&self, ring: SdmaRing) -> Option<QueueKey> {
        self.find(|queue| queue.seat == Seat::Sdma(ring))
    }

    pub fn clear(&mut self) {
        self.queues.clear();
    }
}
