// SPDX-License-Identifier: GPL-2.0-only
//! What a wave sees of memory: its process's address space, the local memory of its
//! workgroup, the counters of its die, and the clock.
//!
//! Where pages lead, and lines of code, are kept while a [`Sight`] lives, which is a
//! workgroup's turn. That is sound because nobody may rely on less:
//! - Who changes page tables has to ask for a flush before relying on the change. That is
//!   a packet or a register, which the GPU gets to between turns. An address that leads
//!   nowhere is not kept, so that it can be tried again.
//! - Who changes code has to wait until nobody executes it, or tells the wave that does by
//!   `s_icache_inv`, which drops all lines. Code that others load at the same address,
//!   another process's code, and what a trap handler has changed are of other turns.
//!
//! What bytes mean is kept for longer, but that depends on the bytes alone.

use gfx942::wave::{Fault, Memory as Seen};

use crate::memory::{Lookups, Memory, MemoryFault, Space, PAGE};
use crate::terms::GpuNanos;

/// Bytes of a line of code, and how many lines are kept.
const LINE: u64 = 256;
const LINES: usize = 16;
/// No line has this address.
const EMPTY: u64 = u64::MAX;

/// Code as it was fetched.
struct Code {
    addresses: [u64; LINES],
    lines: [[u8; LINE as usize]; LINES],
}

pub struct Sight<'a> {
    memory: &'a mut Memory,
    space: Space,
    share: &'a mut [u8],
    counters: &'a mut [u32],
    now: GpuNanos,
    lookups: Lookups,
    code: Code,
    fault: Option<MemoryFault>,
}

impl<'a> Sight<'a> {
    pub fn new(
        memory: &'a mut Memory,
        space: Space,
        share: &'a mut [u8],
        counters: &'a mut [u32],
        now: GpuNanos,
    ) -> Sight<'a> {
        Sight {
            memory,
            space,
            share,
            counters,
            now,
            lookups: Lookups::default(),
            code: Code {
                addresses: [EMPTY; LINES],
                lines: [[0; LINE as usize]; LINES],
            },
            fault: None,
        }
    }

    /// Why the last access failed.
    pub fn take_fault(&mut self) -> Option<MemoryFault> {
        self.fault.take()
    }

    fn note(&mut self, fault: MemoryFault) -> Fault {
        self.fault = Some(fault);
        Fault {
            address: fault.address,
            write: fault.write,
        }
    }

    /// The line of code with this address in it.
    fn line(&mut self, address: u64) -> Result<&[u8; LINE as usize], Fault> {
        let first = address - address % LINE;
        let at = (address / LINE) as usize % LINES;
        if self.code.addresses[at] != first {
            self.code.addresses[at] = EMPTY;
            let line = &mut self.code.lines[at];
            let read = self
                .memory
                .read_again(self.space, &mut self.lookups, first, line);
            read.map_err(|fault| self.note(MemoryFault { address, ..fault }))?;
            self.code.addresses[at] = first;
        }
        Ok(&self.code.lines[at])
    }
}

impl Seen for Sight<'_> {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let read = self
            .memory
            .read_again(self.space, &mut self.lookups, address, into);
        read.map_err(|fault| self.note(fault))
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        // A page behind the first may be missing: nothing is written then.
        let crosses = address % PAGE + from.len() as u64 > PAGE;
        let probed = match crosses {
            true => self.memory.probe(self.space, address, from.len(), true),
            false => Ok(()),
        };
        let (memory, space) = (&mut *self.memory, self.space);
        let written =
            probed.and_then(|()| memory.write_again(space, &mut self.lookups, address, from));
        written.map_err(|fault| self.note(fault))
    }

    fn change(
        &mut self,
        address: u64,
        bytes: u8,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let (memory, space) = (&mut *self.memory, self.space);
        let changed = memory.change_again(space, &mut self.lookups, (address, bytes), change);
        changed.map_err(|fault| self.note(fault))
    }

    fn probe(&mut self, address: u64, size: usize) -> Result<(), Fault> {
        let probed = self.memory.probe(self.space, address, size, true);
        probed.map_err(|fault| self.note(fault))
    }

    fn fetch(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let offset = (address % LINE) as usize;
        let here = into.len().min(LINE as usize - offset);
        let (first, rest) = into.split_at_mut(here);
        first.copy_from_slice(&self.line(address)?[offset..offset + here]);
        if rest.is_empty() {
            return Ok(());
        }
        self.fetch(address.wrapping_add(here as u64), rest)
    }

    fn forget_code(&mut self) {
        self.code.addresses = [EMPTY; LINES];
    }

    fn clock(&mut self) -> u64 {
        self.now.ticks()
    }

    fn share(&mut self) -> &mut [u8] {
        self.share
    }

    fn counters(&mut self) -> &mut [u32] {
        self.counters
    }
}
