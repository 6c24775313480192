// SPDX-License-Identifier: GPL-2.0-only
//! The interrupt ring: 32-byte entries in guest memory, a write pointer that
//! is also stored there, and one MSI. The driver says whose addresses these are: the bus's, or
//! the GPU's own, as for a GPU in one package with processors.

use crate::memory::{Memory, Space};
use crate::registers::table::ih;
use crate::registers::{io_die_of, RegisterFile};
use crate::terms::GpuNanos;

pub const ENTRY_BYTES: u32 = 32;

const ENABLE: u32 = 1 << 0;
const OVERFLOW_CLEAR: u32 = 1 << 31;
const OVERFLOW: u32 = 1 << 0;

/// Sources of interrupts, as the driver's soc15_ih_clientid.h numbers them.
pub mod client {
    pub const BUS: u32 = 0x03;
    pub const COMMAND_PROCESSOR: u32 = 0x14;
    pub const GRAPHICS_MEMORY: u32 = 0x1b;
    pub const SHADER_ENGINE: u32 = 0x0a;
    pub const SYSTEM_MEMORY: u32 = 0x12;
    /// By SDMA engine of an I/O die.
    pub const SDMA: [u32; 4] = [0x08, 0x09, 0x01, 0x04];
}

pub mod source {
    pub const MEMORY_FAULT: u32 = 0;
    pub const MAILBOX_ANSWER: u32 = 135;
    pub const MAILBOX_HEARD: u32 = 138;
    pub const PRIVILEGED_QUEUE: u32 = 178;
    pub const END_OF_PIPE: u32 = 181;
    pub const BAD_OPCODE: u32 = 183;
    pub const SDMA_TRAP: u32 = 224;
    pub const WAVE_MESSAGE: u32 = 239;
}

/// The node of each XCC. Every fourth number, from 0 on, is an I/O die with its SDMA engines.
const XCC_NODES: [u32; 8] = [1, 2, 5, 6, 9, 10, 13, 14];

pub fn xcc_node(xcc: u32) -> u32 {
    XCC_NODES[xcc as usize & 7]
}

/// The node of an SDMA engine.
pub fn sdma_node(engine: u32) -> u32 {
    4 * io_die_of(engine)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    pub client: u32,
    pub source: u32,
    pub ring: u32,
    pub vmid: u32,
    pub pasid: u32,
    pub node: u32,
    pub data: [u32; 4],
}

impl Interrupt {
    fn words(&self, now: GpuNanos) -> [u32; 8] {
        let time = now.ticks();
        [
            self.client | (self.source << 8) | (self.ring << 16) | (self.vmid << 24),
            time as u32,
            (time >> 32) as u32 & 0xffff,
            self.pasid | (self.node << 16),
            self.data[0],
            self.data[1],
            self.data[2],
            self.data[3],
        ]
    }
}

/// State beside the registers.
#[derive(Clone, Default)]
pub struct InterruptRing {
    raised: u64,
    dropped: u64,
}

impl InterruptRing {
    /// Entries that the ring took.
    pub fn raised(&self) -> u64 {
        self.raised
    }

    /// The size in bytes, if the ring is enabled and can hold anything.
    fn size(registers: &RegisterFile) -> Option<u32> {
        let control = registers.get(ih::IH_RB_CNTL);
        let size = 4u32.checked_shl((control >> 1) & 0x1f)?;
        (control & ENABLE != 0 && size >= 2 * ENTRY_BYTES).then_some(size)
    }

    /// By which addresses the ring and the copy of its write pointer are reached.
    fn space(registers: &RegisterFile) -> Space {
        const OF_THE_GPU: u32 = 4;
        match (registers.get(ih::IH_RB_CNTL) >> 28) & 7 {
            OF_THE_GPU => Space::Kernel,
            _ => Space::Bus,
        }
    }

    /// Appends an entry and signals it. If the ring is full the entry is lost and
    /// the overflow bit tells the driver.
    pub fn send(
        &mut self,
        interrupt: &Interrupt,
        now: GpuNanos,
        registers: &mut RegisterFile,
        memory: &mut Memory,
        signal: bool,
    ) {
        let Some(size) = Self::size(registers) else {
            return;
        };
        let base = (u64::from(registers.get(ih::IH_RB_BASE)) << 8)
            | (u64::from(registers.get(ih::IH_RB_BASE_HI)) << 40);
        let stored = registers.get(ih::IH_RB_WPTR);
        let write = stored & !OVERFLOW & (size - 1);
        let next = (write + ENTRY_BYTES) & (size - 1);
        if next == registers.get(ih::IH_RB_RPTR) & (size - 1) {
            return self.overflow(registers, memory, signal);
        }
        let mut bytes = [0; ENTRY_BYTES as usize];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(interrupt.words(now)) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let place = base.wrapping_add(u64::from(write));
        if memory.write(Self::space(registers), place, &bytes).is_err() {
            self.dropped += 1;
            return;
        }
        self.raised += 1;
        let pointer = match stored & OVERFLOW {
            0 => next,
            overflow => write | overflow,
        };
        Self::store(registers, memory, pointer, signal);
    }

    /// Loses an entry for want of room, and says so.
    pub fn overflow(&mut self, registers: &mut RegisterFile, memory: &mut Memory, signal: bool) {
        let Some(size) = Self::size(registers) else {
            return;
        };
        self.dropped += 1;
        let write = registers.get(ih::IH_RB_WPTR) & !OVERFLOW & (size - 1);
        Self::store(registers, memory, write | OVERFLOW, signal);
    }

    /// Stores the write pointer where the driver looks for it.
    fn store(registers: &mut RegisterFile, memory: &mut Memory, pointer: u32, signal: bool) {
        registers.set(ih::IH_RB_WPTR, pointer);
        let high = u64::from(registers.get(ih::IH_RB_WPTR_ADDR_HI) & 0xffff) << 32;
        let copy = high | u64::from(registers.get(ih::IH_RB_WPTR_ADDR_LO));
        // A ring without a place for the copy is read by register only.
        let _ = memory.write_u32(Self::space(registers), copy, pointer);
        if signal {
            memory.raise_msi();
        }
    }

    /// Takes the read pointer that the driver wrote to a doorbell; false if the
    /// doorbell is not this ring's.
    pub fn doorbell(registers: &mut RegisterFile, index: u32, value: u64) -> bool {
        let control = registers.get(ih::IH_DOORBELL_RPTR);
        let is_own = (control >> 28) & 1 != 0 && control & 0x3ff_ffff == index;
        if is_own {
            registers.set(ih::IH_RB_RPTR, value as u32);
        }
        is_own
    }

    /// The driver wrote the control register.
    pub fn control_written(registers: &mut RegisterFile, value: u32) {
        if value & OVERFLOW_CLEAR != 0 {
            let pointer = registers.get(ih::IH_RB_WPTR);
            registers.set(ih::IH_RB_WPTR, pointer & !OVERFLOW);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::FB_BASE;
    use crate::terms::Config;
    use crate::testing::{TestBus, TestVram};

    fn fixture() -> (InterruptRing, RegisterFile, Memory, TestBus) {
        let bus = TestBus::new(1 << 20);
        let memory = Memory::new(Box::new(bus.clone()), Box::new(TestVram::new(1 << 20)));
        let mut registers = RegisterFile::new(&Config::default(), 1 << 26, 0x80_0000_0000);
        // 128 bytes: room for three entries, since full and empty differ.
        registers.set(ih::IH_RB_CNTL, ENABLE | (5 << 1));
        registers.set(ih::IH_RB_BASE, 0x10);
        registers.set(ih::IH_RB_WPTR_ADDR_LO, 0x800);
        (InterruptRing::default(), registers, memory, bus)
    }

    fn entry(ring: u32) -> Interrupt {
        Interrupt {
            client: client::COMMAND_PROCESSOR,
            source: source::END_OF_PIPE,
            ring,
            vmid: 3,
            pasid: 0x8001,
            node: 1,
            data: [7, 8, 9, 10],
        }
    }

    #[test]
    fn an_entry_has_the_layout_that_the_driver_reads() {
        let (mut ring, mut registers, mut memory, bus) = fixture();
        ring.send(&entry(4), GpuNanos(1230), &mut registers, &mut memory, true);
        let words: [u32; 8] = memory.read_dwords(Space::Bus, 0x1000).unwrap();
        assert_eq!(words, [0x0304_b514, 123, 0, 0x0001_8001, 7, 8, 9, 10]);
        assert_eq!(memory.read_u32(Space::Bus, 0x800), Ok(32));
        assert_eq!(bus.interrupts(), 1);
    }

    #[test]
    fn the_ring_may_be_in_the_gpus_own_addresses() {
        let (mut ring, mut registers, mut memory, bus) = fixture();
        registers.set(ih::IH_RB_CNTL, ENABLE | (5 << 1) | (4 << 28));
        registers.set(ih::IH_RB_BASE, (FB_BASE >> 8) as u32 + 0x20);
        registers.set(ih::IH_RB_WPTR_ADDR_LO, 0x900);
        registers.set(ih::IH_RB_WPTR_ADDR_HI, (FB_BASE >> 32) as u32);
        ring.send(&entry(4), GpuNanos(1230), &mut registers, &mut memory, true);
        assert_eq!(memory.vram_read(0x2000), 0x0304_b514);
        assert_eq!(memory.vram_read(0x900), 32);
        assert_eq!((ring.dropped, bus.interrupts()), (0, 1));
    }

    #[test]
    fn a_full_ring_says_so_and_recovers() {
        let (mut ring, mut registers, mut memory, _bus) = fixture();
        for _ in 0..4 {
            ring.send(&entry(0), GpuNanos(0), &mut registers, &mut memory, true);
        }
        assert_eq!((ring.raised, ring.dropped), (3, 1));
        assert_eq!(registers.get(ih::IH_RB_WPTR), 96 | OVERFLOW);
        registers.set(ih::IH_RB_RPTR, 96);
        InterruptRing::control_written(&mut registers, OVERFLOW_CLEAR);
        ring.send(&entry(0), GpuNanos(0), &mut registers, &mut memory, true);
        assert_eq!(registers.get(ih::IH_RB_WPTR), 0);
    }

    #[test]
    fn a_disabled_ring_takes_nothing() {
        let (mut ring, mut registers, mut memory, bus) = fixture();
        registers.set(ih::IH_RB_CNTL, 0);
        ring.send(&entry(0), GpuNanos(0), &mut registers, &mut memory, true);
        assert_eq!((ring.raised, bus.interrupts()), (0, 0));
    }
}
