// SPDX-License-Identifier: GPL-2.0-only

//! What user memory and the hardware say of a queue.

#![forbid(unsafe_code)]

use crate::{
    driver::{
        process::Inside,
        queue::{Format, QueueFacts, AQL_PACKET_BYTES},
    },
    look::{
        grid::{waves_on_first_die, GRID_WORDS},
        registers::HardwareQueue,
    },
};
use gpreempt_policy::{Head, Waves};

/// How many packets before the write pointer are looked at. Programs that fill a ring
/// together leave gaps there.
const LAST: u64 = 8;

/// What is known of a queue's work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// What the hardware has consumed: packets or ring words.
    pub read: Option<u64>,
    /// What the process has submitted.
    pub write: Option<u64>,
    /// The packet at the read pointer.
    pub head: Head,
    /// The waves on the compute units.
    pub waves: Waves,
    /// How many of the waves that are counted the last launch has when it is all placed.
    pub grid: Option<u32>,
}

impl Sample {
    /// What was submitted and not consumed.
    ///
    /// The process writes its own pointers: whatever they say is bounded by the
    /// ring, and a write pointer behind the read pointer is no backlog.
    pub fn backlog(&self, facts: &QueueFacts) -> Option<u32> {
        let (read, write) = (self.read?, self.write?);
        let pending = match facts.format {
            Format::Aql => {
                let pending = write.wrapping_sub(read);
                let room = facts.ring_bytes / AQL_PACKET_BYTES;
                if pending > i64::MAX.unsigned_abs() {
                    0
                } else {
                    pending.min(room)
                }
            }
            Format::Pm4 => {
                let room = facts.ring_bytes / 4;
                write.wrapping_sub(read).checked_rem(room).unwrap_or(0)
            }
        };
        Some(u32::try_from(pending).unwrap_or(u32::MAX))
    }

    /// Takes the pointers from where the process cannot write them.
    pub(crate) fn take_registers(&mut self, facts: &QueueFacts, queue: &HardwareQueue) {
        let pointers = queue.pointers(facts);
        self.read = pointers.map(|(read, _)| read);
        self.write = pointers.map(|(_, write)| write);
    }

    /// Reads the pointers, unless the registers have told them, and, if there is
    /// work, the packet that is next.
    pub(crate) fn read_pointers(&mut self, facts: &QueueFacts, inside: &Inside<'_>) {
        if self.read.is_none() {
            // The read pointer first: what it overtakes in between makes the
            // backlog too large for a moment, never negative.
            self.read = match facts.format {
                Format::Aql => inside.read(facts.key.read_pointer),
                // The command processor stores 32 bits. What follows is anything.
                Format::Pm4 => inside.read::<u32>(facts.key.read_pointer).map(u64::from),
            };
            self.write = inside.read(facts.key.write_pointer);
        }
        self.head = match (self.read, self.backlog(facts)) {
            (Some(read), Some(1..)) => self.kind(facts, inside, read),
            _ => Head::Unknown,
        };
        // The packet processor may have taken the packet meanwhile, which makes its slot
        // an invalid one. What comes behind it was not looked at.
        let stays = || inside.read(facts.key.read_pointer) == self.read;
        if self.head == Head::Invalid && !stays() {
            self.head = Head::Unknown;
        }
    }

    /// Reads how large the grid of the last launch is, where nothing is behind it: on a
    /// node with so many dies.
    pub(crate) fn read_grid(&mut self, facts: &QueueFacts, inside: &Inside<'_>, dies: u32) {
        self.grid = match self.backlog(facts) {
            Some(0) => self.last_grid(facts, inside, dies),
            _ => None,
        };
    }

    fn last_grid(&self, facts: &QueueFacts, inside: &Inside<'_>, dies: u32) -> Option<u32> {
        let packet = self.packet(facts, self.read?.checked_sub(1)?)?;
        let mut words = [0; GRID_WORDS];
        for (at, word) in (packet..).step_by(4).zip(&mut words) {
            *word = inside.read::<u32>(at)?;
        }
        waves_on_first_die(words, dies)
    }

    /// Whether the next packet, or one of the last ones before the write pointer, is not
    /// written yet. The pointers are read again.
    pub(crate) fn any_unwritten(&self, facts: &QueueFacts, inside: &Inside<'_>) -> bool {
        if self.backlog(facts).is_none_or(|backlog| backlog == 0) {
            return false;
        }
        let mut now = Sample::default();
        now.read_pointers(facts, inside);
        let behind = now.backlog(facts).unwrap_or(0).saturating_sub(1);
        let mut last = (1..=u64::from(behind).min(LAST))
            .filter_map(|back| Some(now.write?.wrapping_sub(back)));
        now.head == Head::Invalid
            || last.any(|number| now.kind(facts, inside, number) == Head::Invalid)
    }

    /// Where the packet with a number is.
    fn packet(&self, facts: &QueueFacts, number: u64) -> Option<u64> {
        let packets = facts.ring_bytes / AQL_PACKET_BYTES;
        let slot = match facts.format {
            Format::Aql => number.checked_rem(packets)?,
            Format::Pm4 => return None,
        };
        facts
            .key
            .ring
            .checked_add(slot.checked_mul(AQL_PACKET_BYTES)?)
    }

    /// The kind of the packet with a number.
    fn kind(&self, facts: &QueueFacts, inside: &Inside<'_>, number: u64) -> Head {
        const VENDOR_SPECIFIC: u32 = 0;
        const INVALID: u32 = 1;
        const KERNEL_DISPATCH: u32 = 2;
        const BARRIER_AND: u32 = 3;
        const AGENT_DISPATCH: u32 = 4;
        const BARRIER_OR: u32 = 5;
        /// The vendor's packet that waits for the value of a signal.
        const BARRIER_VALUE: u32 = 2;
        let packet = self.packet(facts, number);
        let header = packet.and_then(|packet| inside.read::<u32>(packet));
        // The type, and the vendor's own behind the header's two bytes.
        match header.map(|header| (header & 0xff, (header >> 16) & 0xff)) {
            Some((INVALID, _)) => Head::Invalid,
            Some((KERNEL_DISPATCH | AGENT_DISPATCH, _)) => Head::Runnable,
            Some((BARRIER_AND | BARRIER_OR, _) | (VENDOR_SPECIFIC, BARRIER_VALUE)) => Head::Barrier,
            _ => Head::Unknown,
        }
    }
}
