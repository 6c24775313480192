// SPDX-License-Identifier: GPL-2.0-only
//! SDMA packets: their numbers, their lengths, and where they are read from.

use crate::memory::{Memory, MemoryFault, Space};
use crate::queue::{Failure, Queue};

pub mod operation {
    pub const NOP: u32 = 0;
    pub const COPY: u32 = 1;
    pub const WRITE: u32 = 2;
    pub const INDIRECT: u32 = 4;
    pub const FENCE: u32 = 5;
    pub const TRAP: u32 = 6;
    pub const POLL: u32 = 8;
    pub const CONDITIONAL: u32 = 9;
    pub const ATOMIC: u32 = 10;
    pub const FILL: u32 = 11;
    pub const PAGE_ENTRIES: u32 = 12;
    pub const TIMESTAMP: u32 = 13;
    pub const REGISTER_WRITE: u32 = 14;
    pub const PRE_EXECUTE: u32 = 15;
    pub const DUMMY_TRAP: u32 = 16;
}

/// Reads the packets of a queue, in its ring or in a buffer.
pub struct Reader {
    pub space: Space,
    /// Start, length in bytes, and offset of the packet.
    start: u64,
    length: u64,
    offset: u64,
    /// Dwords from here to the end of what was written.
    pub available: u64,
}

impl Reader {
    /// A reader of the packet at the front of a queue, if there is one.
    pub fn of(queue: &Queue) -> Option<Reader> {
        if let Some(buffer) = queue.indirect() {
            return Some(Reader {
                space: buffer.space,
                start: buffer.address,
                length: u64::from(buffer.dwords) * 4,
                offset: 0,
                available: u64::from(buffer.dwords),
            });
        }
        if queue.write() <= queue.fetched() {
            return None;
        }
        Some(Reader {
            space: queue.space(),
            start: queue.ring(),
            length: queue.ring_bytes(),
            offset: queue.fetched(),
            available: (queue.write() - queue.fetched()) / 4,
        })
    }

    pub fn word(&self, memory: &Memory, index: u64) -> Result<u32, MemoryFault> {
        let at = (self.offset.wrapping_add(index * 4)) % self.length.max(4);
        memory.read_u32(self.space, self.start.wrapping_add(at))
    }

    /// Moves a queue past this many dwords; true if its read pointer may follow.
    pub fn advance(&self, queue: &mut Queue, dwords: u64) -> bool {
        match queue.indirect() {
            Some(buffer) if buffer.address == self.start && buffer.space == self.space => {
                queue.advance_in_buffer(buffer, dwords as u32);
            }
            // The packet was in the ring. If it entered a buffer, the read pointer
            // waits, since the buffer is part of the packet.
            _ => queue.fetch_to(queue.fetched().wrapping_add(dwords * 4)),
        }
        queue.indirect().is_none() && queue.read() != queue.fetched()
    }
}

/// The length of a packet in dwords, which for some depends on later words.
pub fn packet_dwords(
    header: u32,
    word: impl Fn(u64) -> Result<u32, MemoryFault>,
) -> Result<u64, Failure> {
    let broadcast = (header >> 27) & 1 != 0;
    Ok(match header & 0xff {
        operation::NOP => 1 + u64::from((header >> 16) & 0x3fff),
        operation::COPY if (header >> 8) & 0xff != 0 => {
            return Err(Failure::Packet(format!(
                "copy of kind {}",
                (header >> 8) & 0xff
            )));
        }
        operation::COPY if broadcast => 9,
        operation::COPY => 7,
        operation::WRITE => 5 + u64::from(word(3)? & 0xf_ffff),
        operation::INDIRECT => 6,
        operation::FENCE => 4,
        operation::TRAP => 2,
        operation::POLL => 6,
        operation::CONDITIONAL => 5,
        operation::ATOMIC => 8,
        operation::FILL => 5,
        operation::PAGE_ENTRIES => 10,
        operation::TIMESTAMP => 3,
        operation::REGISTER_WRITE => 3,
        operation::PRE_EXECUTE => 2,
        operation::DUMMY_TRAP => 2,
        other => return Err(Failure::Packet(format!("unknown SDMA packet {other}"))),
    })
}
