// SPDX-License-Identifier: GPL-2.0-only
//! How far a queue has been read: its ring, its buffer of packets, and the read
//! pointer that its owner sees.

use super::{Indirect, Queue, Queues};
use crate::bus::Buses;
use crate::layout::aql;
use crate::memory::MemoryFault;
use crate::terms::{Format, QueueKey};

impl Queue {
    /// Bytes in one unit of the pointers.
    fn unit(&self) -> u64 {
        match self.format() {
            Format::Aql => 64,
            Format::Pm4 => 4,
            Format::Sdma => 1,
        }
    }

    pub fn ring(&self) -> u64 {
        self.identity.ring
    }

    pub fn ring_bytes(&self) -> u64 {
        self.identity.ring_bytes
    }

    /// The address of a pointer in the ring.
    pub fn ring_address(&self, pointer: u64) -> u64 {
        self.ring()
            .wrapping_add(pointer.wrapping_mul(self.unit()) % self.ring_bytes().max(4))
    }

    /// The next packet to read, in units of the format.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    /// What the owner sees as read.
    pub fn read(&self) -> u64 {
        self.read
    }

    pub fn write(&self) -> u64 {
        self.write
    }

    /// Takes the write pointer from memory. Where it cannot be read, the queue comes upon
    /// that when it is to read its first packet.
    pub fn read_write_pointer(&mut self, bus: &Buses, address: u64) {
        match bus.memory.read_u64(self.space(), address) {
            Ok(write) => self.learn_write_pointer(write),
            Err(_) => {
                self.write = self.read;
                self.unread_write = Some(address);
            }
        }
    }

    pub fn learn_write_pointer(&mut self, write: u64) {
        self.write = write;
        self.unread_write = None;
    }

    /// Reading continues after a packet; the owner does not see it yet.
    pub fn fetch_to(&mut self, target: u64) {
        self.fetched = target;
    }

    /// A die's copy of a ring follows without executing.
    pub fn follow_to(&mut self, target: u64) {
        self.fetched = target;
        self.read = target;
    }

    /// Continues where reading was when the queue left its slot.
    pub fn resume_at(&mut self, fetched: u64) {
        self.fetched = self.fetched.max(fetched);
    }

    /// Has packets to read.
    pub fn has_backlog(&self) -> bool {
        self.fetched < self.write || self.indirect.is_some()
    }

    /// Its pointers as a descriptor and the registers hold them, in dwords.
    pub fn read_dwords(&self) -> u64 {
        match self.format() {
            Format::Aql => self.read << 4,
            Format::Pm4 | Format::Sdma => self.read,
        }
    }

    pub fn write_dwords(&self) -> u64 {
        match self.format() {
            Format::Aql => self.write << 4,
            Format::Pm4 | Format::Sdma => self.write,
        }
    }

    /// The buffer of packets that it is in.
    pub fn indirect(&self) -> Option<Indirect> {
        self.indirect
    }

    /// Continues in a buffer of packets, unless it is empty.
    pub fn enter_buffer(&mut self, buffer: Indirect) {
        self.indirect = (buffer.dwords > 0).then_some(buffer);
    }

    /// Some dwords of its buffer are done; true if they were the last.
    pub fn advance_in_buffer(&mut self, buffer: Indirect, dwords: u32) -> bool {
        let left = buffer.dwords.saturating_sub(dwords);
        self.enter_buffer(Indirect {
            address: buffer.address.wrapping_add(u64::from(dwords) * 4),
            dwords: left,
            ..buffer
        });
        left == 0
    }

    /// Remembers the signal of the vendor packet whose buffer runs now.
    pub fn set_buffer_signal(&mut self, signal: u64) {
        self.indirect_signal = Some(signal);
    }

    pub fn take_buffer_signal(&mut self) -> Option<u64> {
        self.indirect_signal.take()
    }
}

impl Queues {
    /// Everything before `target` has been read, and the owner is told.
    pub fn read_to(&mut self, bus: &mut Buses, key: QueueKey, target: u64) {
        if let Some(queue) = self.get_mut(key) {
            queue.read = target;
            self.report_read_pointer(bus, key);
        }
    }

    /// The read pointer may pass a packet of an AQL queue: its place in the
    /// ring is free for the producer. Packets are passed in order, so the pointer
    /// goes no further than `target`, where an earlier packet may hold it.
    pub fn pass(&mut self, bus: &mut Buses, key: QueueKey, number: u64, target: u64) {
        let Some(queue) = self.get(key) else {
            return;
        };
        if queue.read > number {
            return;
        }
        if let Err(fault) = queue.invalidate(bus, number) {
            self.memory_fault(bus, key, fault, "packet header");
            return;
        }
        if target > queue.read {
            self.read_to(bus, key, target);
        }
    }

    /// Stores a read pointer where the queue's owner looks for it.
    pub fn report_read_pointer(&mut self, bus: &mut Buses, key: QueueKey) {
        let Some(queue) = self.get(key) else {
            return;
        };
        let (space, address) = (queue.space(), queue.identity.report_address);
        if address == 0 {
            return;
        }
        if bus.faults.read_pointers_stuck && queue.role().is_user() {
            bus.strike();
            return;
        }
        let result = match queue.format() {
            Format::Aql | Format::Sdma => bus.memory.write_u64(space, address, queue.read),
            Format::Pm4 => {
                let index = queue.read % (queue.ring_bytes() / 4).max(1);
                bus.memory.write_u32(space, address, index as u32)
            }
        };
        if let Err(fault) = result {
            self.memory_fault(bus, key, fault, "read pointer report");
        }
    }
}

impl Queue {
    /// Marks a packet of the ring as consumed.
    fn invalidate(&self, bus: &mut Buses, number: u64) -> Result<(), MemoryFault> {
        let (space, address) = (self.space(), self.ring_address(number));
        let header = bus.memory.read_u32(space, address)?;
        let taken = header & 0xffff_0000 | aql::kind::INVALID;
        bus.memory.write_u32(space, address, taken)
    }
}

/// Completes a read pointer whose low half is known. The write pointer is never
/// behind it and less than 2^32 ahead.
pub fn full_pointer(low: u32, write: u64) -> u64 {
    let behind = (write as u32).wrapping_sub(low);
    write.saturating_sub(u64::from(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_pointer_gets_its_high_half_from_the_write_pointer() {
        assert_eq!(full_pointer(0, 0), 0);
        assert_eq!(full_pointer(0x10, 0x30), 0x10);
        assert_eq!(full_pointer(0xffff_fff0, 0x1_0000_0010), 0xffff_fff0);
        assert_eq!(full_pointer(0x20, 0x7_0000_0020), 0x7_0000_0020);
        assert_eq!(full_pointer(0x40, 0), 0, "a stale one of an empty ring");
    }
}
