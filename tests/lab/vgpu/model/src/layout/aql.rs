// SPDX-License-Identifier: GPL-2.0-only
//! The 64-byte packets and the signals of the HSA standard's queues.

/// Kinds of packets, in the low byte of the header.
pub mod kind {
    pub const VENDOR: u32 = 0;
    pub const INVALID: u32 = 1;
    pub const KERNEL_DISPATCH: u32 = 2;
    pub const BARRIER_AND: u32 = 3;
    pub const AGENT_DISPATCH: u32 = 4;
    pub const BARRIER_OR: u32 = 5;
}

/// Formats of vendor packets, in the second byte of their second half-word.
pub mod vendor {
    pub const PM4_BUFFER: u32 = 1;
    pub const BARRIER_VALUE: u32 = 2;
}

const BARRIER_BIT: u32 = 1 << 8;

/// Offsets in a signal (amd_signal_t).
pub mod signal {
    pub const VALUE: u64 = 8;
    pub const MAILBOX: u64 = 16;
    pub const EVENT: u64 = 24;
    pub const START: u64 = 32;
}

/// In what a queue's owner keeps (amd_queue_t).
pub mod owner {
    /// How many waves have scratch and how much, where it begins, bytes of a die's part, and
    /// bytes that an item has.
    pub const RING_SIZE: u64 = 140;
    pub const LOCATION: u64 = 160;
    pub const DIE_BYTES: u64 = 168;
    pub const ITEM_BYTES: u64 = 176;
    pub const PROPERTIES: u64 = 180;
    /// The signal by which it is asked for something.
    pub const INACTIVE_SIGNAL: u64 = 192;

    /// Of the properties: scratch is given back after the dispatch that uses it.
    pub const SCRATCH_ONCE: u32 = 1 << 4;
}

/// What the owner is asked for: a dispatch wants more scratch than there is, or scratch is
/// given back.
pub mod inactive {
    pub const WANTS_SCRATCH: u64 = 1;
    pub const RETURNS_SCRATCH: u64 = 512;
}

/// The packet by field.
pub struct Packet {
    pub words: [u32; 16],
}

impl Packet {
    pub fn wide(&self, index: usize) -> u64 {
        u64::from(self.words[index]) | (u64::from(self.words[index + 1]) << 32)
    }

    pub fn kind(&self) -> u32 {
        self.words[0] & 0xff
    }

    /// It waits for all earlier packets.
    pub fn has_barrier(&self) -> bool {
        self.words[0] & BARRIER_BIT != 0
    }

    pub fn vendor_format(&self) -> u32 {
        (self.words[0] >> 16) & 0xff
    }

    pub fn completion(&self) -> u64 {
        self.wide(14)
    }

    /// Signals that a barrier waits for.
    pub fn dependencies(&self) -> impl Iterator<Item = u64> + '_ {
        (0..5)
            .map(|index| self.wide(2 + index * 2))
            .filter(|signal| *signal != 0)
    }

    pub fn workgroup(&self) -> [u32; 3] {
        [
            self.words[1] & 0xffff,
            self.words[1] >> 16,
            self.words[2] & 0xffff,
        ]
    }

    pub fn grid(&self) -> [u32; 3] {
        [self.words[3], self.words[4], self.words[5]]
    }

    /// Bytes of scratch that an item of a dispatch has.
    pub fn private_segment(&self) -> u32 {
        self.words[6]
    }

    /// Bytes of local memory that a workgroup of a dispatch has.
    pub fn group_segment(&self) -> u32 {
        self.words[7]
    }

    /// Addresses of a dispatch's kernel descriptor and arguments.
    pub fn kernel_object(&self) -> u64 {
        self.wide(8)
    }

    pub fn kernarg(&self) -> u64 {
        self.wide(10)
    }
}
