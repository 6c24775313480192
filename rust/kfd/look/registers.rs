// SPDX-License-Identifier: GPL-2.0-only

//! The registers of the hardware queues: the read and write pointers where the
//! process that owns a queue cannot write them.
//!
//! The driver's own dump reads them, under its lock of the register windows. It
//! reads all 56 of a hardware queue, which is slow, so a queue is looked for where it
//! was last found, and elsewhere only if it has moved.

#![forbid(unsafe_code)]

use crate::driver::{
    gpu::Present,
    hardware::{HardwareSlot, HardwareSource, SLOTS},
    queue::{Format, QueueFacts, AQL_PACKET_BYTES},
};
use kernel::prelude::*;

/// Which registers of a dump are used: places in the sequence from CP_MQD_BASE_ADDR on.
const CP_HQD_ACTIVE: usize = 2;
const CP_HQD_PQ_RPTR: usize = 10;
const CP_HQD_PQ_DOORBELL_CONTROL: usize = 15;
const CP_HQD_PQ_CONTROL: usize = 17;
const CP_HQD_PQ_WPTR_LO: usize = 54;
const CP_HQD_PQ_WPTR_HI: usize = 55;

/// Fields of them.
const ACTIVE: u32 = 1;
const DOORBELL_OFFSET_SHIFT: u32 = 2;
const DOORBELL_OFFSET_MASK: u32 = 0x03ff_ffff;
const PQ_EMPTY: u32 = 1 << 15;

/// What the registers of a hardware queue say of the queue in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HardwareQueue {
    doorbell: u32,
    read: u32,
    write: u64,
    empty: bool,
}

impl HardwareQueue {
    /// From a dump, which is `None` for a register that is not in it.
    fn new(register: impl Fn(usize) -> Option<u32>) -> Option<Self> {
        if register(CP_HQD_ACTIVE)? & ACTIVE == 0 {
            return None;
        }
        let write_low = register(CP_HQD_PQ_WPTR_LO)?;
        let write_high = register(CP_HQD_PQ_WPTR_HI)?;
        let doorbell = register(CP_HQD_PQ_DOORBELL_CONTROL)?;
        Some(Self {
            doorbell: (doorbell >> DOORBELL_OFFSET_SHIFT) & DOORBELL_OFFSET_MASK,
            read: register(CP_HQD_PQ_RPTR)?,
            write: (u64::from(write_high) << 32) | u64::from(write_low),
            empty: register(CP_HQD_PQ_CONTROL)? & PQ_EMPTY != 0,
        })
    }

    /// The read and the write pointer, as they would be in user memory. `None` where
    /// the registers do not tell an empty ring from a full one.
    pub(crate) fn pointers(&self, facts: &QueueFacts) -> Option<(u64, u64)> {
        const DWORDS_PER_PACKET: u64 = AQL_PACKET_BYTES / 4;
        if facts.format == Format::Pm4 {
            return Some((u64::from(self.read), self.write));
        }
        // The register has the place in the ring only; as many packets as lie
        // between it and the write pointer are left.
        let write = self.write / DWORDS_PER_PACKET;
        let room = facts.ring_bytes / AQL_PACKET_BYTES;
        let read = u64::from(self.read) / DWORDS_PER_PACKET;
        let left = write.wrapping_sub(read).checked_rem(room)?;
        (left > 0 || self.empty).then(|| (write.wrapping_sub(left), write))
    }
}

/// Where the queues were found.
pub struct Registers {
    slots: KVec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Read in this look.
    fresh: bool,
    queue: Option<HardwareQueue>,
}

impl Slot {
    fn holds(&self, doorbell: u32) -> bool {
        self.queue.is_some_and(|queue| queue.doorbell == doorbell)
    }
}

impl Registers {
    /// Nothing was found yet.
    pub fn new() -> Result<Self> {
        let slot = Slot {
            fresh: false,
            queue: None,
        };
        Ok(Self {
            slots: KVec::from_elem(slot, SLOTS, GFP_KERNEL)?,
        })
    }

    /// Begins a look, in which each hardware queue is read once at most.
    pub(crate) fn look<'a>(
        &'a mut self,
        gpu: &'a Present<'a>,
        source: HardwareSource<'a>,
    ) -> Look<'a> {
        for slot in self.slots.iter_mut() {
            slot.fresh = false;
        }
        Look {
            slots: &mut self.slots,
            gpu,
            source,
        }
    }
}

/// One look at the hardware queues.
pub(crate) struct Look<'a> {
    slots: &'a mut [Slot],
    gpu: &'a Present<'a>,
    source: HardwareSource<'a>,
}

impl Look<'_> {
    /// The hardware queue with a doorbell, if one has it now.
    pub(crate) fn find(&mut self, doorbell: u32) -> Option<HardwareQueue> {
        let last = self.slots.iter().position(|slot| slot.holds(doorbell));
        let found = last.and_then(|at| self.read(at, doorbell));
        found.or_else(|| (0..SLOTS).find_map(|at| self.read(at, doorbell)))
    }

    /// The hardware queue at a place, if it has the doorbell now.
    fn read(&mut self, at: usize, doorbell: u32) -> Option<HardwareQueue> {
        let slot = self.slots.get_mut(at)?;
        if !slot.fresh {
            slot.fresh = true;
            slot.queue = dump(self.gpu, self.source, at);
        }
        slot.queue.filter(|queue| queue.doorbell == doorbell)
    }
}

/// Reads the registers of a hardware queue. No lock of the driver may be held.
fn dump(gpu: &Present<'_>, source: HardwareSource<'_>, at: usize) -> Option<HardwareQueue> {
    let hardware = gpu.hardware().ok()?;
    let dump = hardware.dump(source, HardwareSlot::at(at)?)?;
    HardwareQueue::new(|at| dump.register(at))
}
