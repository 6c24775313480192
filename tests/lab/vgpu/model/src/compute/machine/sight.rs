// SPDX-License-Identifier: GPL-2.0-only
//! What a wave sees of memory: its process's address space, the local memory of its
//! workgroup, the counters of its die, and the clock.

use gfx942::wave::{Fault, Memory as Seen};

use crate::memory::{Memory, MemoryFault, Space};
use crate::terms::GpuNanos;

const PAGE: u64 = 4096;

pub struct Sight<'a> {
    memory: &'a mut Memory,
    space: Space,
    share: &'a mut [u8],
    counters: &'a mut [u32],
    now: GpuNanos,
    /// The page of code that was fetched last. Nothing else happens on the GPU while
    /// this value lives.
    code: Option<(u64, Vec<u8>)>,
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
            code: None,
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
}

impl Seen for Sight<'_> {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let read = self.memory.read(self.space, address, into);
        read.map_err(|fault| self.note(fault))
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        // A page behind the first may be missing: nothing is written then.
        let crosses = address % PAGE + from.len() as u64 > PAGE;
        let probed = match crosses {
            true => self.memory.probe(self.space, address, from.len(), true),
            false => Ok(()),
        };
        let written = probed.and_then(|()| self.memory.write(self.space, address, from));
        written.map_err(|fault| self.note(fault))
    }

    fn probe(&mut self, address: u64, size: usize) -> Result<(), Fault> {
        let probed = self.memory.probe(self.space, address, size, true);
        probed.map_err(|fault| self.note(fault))
    }

    fn fetch(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let (page, offset) = (address & !(PAGE - 1), (address % PAGE) as usize);
        if self.code.as_ref().is_none_or(|(base, _)| *base != page) {
            let mut bytes = vec![0; PAGE as usize];
            let read = self.memory.read(self.space, page, &mut bytes);
            read.map_err(|fault| self.note(MemoryFault { address, ..fault }))?;
            self.code = Some((page, bytes));
        }
        let bytes = self.code.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        match bytes.get(offset..offset + into.len()) {
            Some(found) => {
                into.copy_from_slice(found);
                Ok(())
            }
            None => self.read(address, into),
        }
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
