// SPDX-License-Identifier: GPL-2.0-only
//! The names of queues, of the places where they are loaded, and of the ways in
//! which they differ.

/// Names a queue for as long as it is mapped; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueKey(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The driver's interface queue, which maps the other kernel queues.
    Privileged,
    /// A kernel ring of the compute or SDMA engines.
    Kernel,
    /// The scheduler firmware's ring.
    Scheduler,
    /// Under the scheduler firmware.
    User,
    /// Loaded by the driver through registers, without the scheduler.
    Manual,
}

impl Role {
    pub fn is_user(self) -> bool {
        matches!(self, Role::User | Role::Manual)
    }
}

/// The unit of its pointers: packets of 64 bytes, dwords, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Aql,
    Pm4,
    Sdma,
}

/// A hardware queue slot of one XCC. Micro engine 1 has the user's and the
/// kernel's compute queues, 2 the driver's two privileged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    pub me: u32,
    pub pipe: u32,
    pub queue: u32,
}

impl Slot {
    pub const COUNT: usize = 4 * 4 * 8;

    pub fn index(self) -> usize {
        (self.me as usize & 3) * 32 + (self.pipe as usize & 3) * 8 + (self.queue as usize & 7)
    }

    /// As interrupt entries name it.
    pub fn ring_id(self) -> u32 {
        ((self.me & 3) << 2) | (self.pipe & 3) | ((self.queue & 7) << 4)
    }

    /// Its bit in SET_RESOURCES.queue_mask and in the wave status register,
    /// which know the first micro engine only.
    pub fn mask_bit(self) -> u32 {
        self.pipe * 8 + self.queue
    }

    pub fn from_mask_bit(bit: u32) -> Slot {
        Slot {
            me: 1,
            pipe: bit / 8,
            queue: bit % 8,
        }
    }
}

/// A ring of an SDMA engine, by its registers' place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SdmaRing {
    pub engine: u32,
    /// Offset of its registers in the engine.
    pub registers: u32,
}

/// Where a queue is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// The same slot on each of the queue's dies.
    Compute(Slot),
    Sdma(SdmaRing),
}

/// How a queue gives up its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Its waves are saved.
    Save,
    /// Its waves end first.
    Drain,
    /// Its waves are lost.
    Kill,
}
