// SPDX-License-Identifier: GPL-2.0-only
//! Memory as the GPU addresses it: video memory, the kernel's flat aperture
//! onto guest pages (GART), and each process's four-level page table.
//!
//! Each walk reads the tables as they are. Who makes many accesses in one turn may keep
//! where pages lead, see [`Lookups`]. In strict mode a cache beside it notes where an access
//! would have gone that met a translation of before.

mod atomic;
mod cache;
mod lookups;
#[cfg(test)]
mod tests;
mod translate;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use crate::terms::{Bus, BusError, StaleReport, Vram};
use cache::Cache;

pub const PAGE: u64 = 4096;

pub use lookups::Lookups;

/// Where video memory starts in the GPU's own address space.
pub const FB_BASE: u64 = 0x80_0000_0000;

/// Bytes that a fill writes at a time; more than a page.
const FILL_STEP: usize = 64 << 10;

/// Whose address space an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The kernel's: video memory, the GART, and guest-physical elsewhere.
    Kernel,
    /// A process's, by the root of its page table with its flag bits.
    Process { root: u64, via: Via },
    /// Guest-physical, as the interrupt ring uses it.
    Bus,
}

/// Who translates the addresses of a process, and may keep translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    Die(u32),
    /// For the engines that copy.
    MemoryHub,
    /// The firmware of the scheduler, for a process that may have no address space; it
    /// keeps none.
    Firmware,
}

impl Space {
    /// The same addresses, as a die translates them.
    pub fn on(self, die: u32) -> Space {
        match self {
            Space::Process { root, .. } => Space::Process {
                root,
                via: Via::Die(die),
            },
            other => other,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCause {
    /// No valid entry for the page.
    NotMapped,
    /// The entry forbids this access.
    Forbidden,
    /// The entry leads outside video or guest memory.
    Nowhere,
    /// The driver has marked the entry: no further try is worth it.
    Final,
}

/// An access that the page tables or the host refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {address:#x}: {cause:?}", if *.write { "write" } else { "read" })]
pub struct MemoryFault {
    pub address: u64,
    pub write: bool,
    pub cause: FaultCause,
}

/// The kernel's flat table, as the memory hub's registers describe it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gart {
    pub start: u64,
    /// The last address that belongs to it.
    pub end: u64,
    /// Offset of the table in video memory.
    pub table: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Vram(u64),
    Guest(u64),
}

impl Target {
    const fn plus(self, bytes: u64) -> Target {
        match self {
            Target::Vram(offset) => Target::Vram(offset.wrapping_add(bytes)),
            Target::Guest(address) => Target::Guest(address.wrapping_add(bytes)),
        }
    }

    /// Where the page begins of which this is the place of an address.
    fn page(self, address: u64) -> Target {
        match self {
            Target::Vram(offset) => Target::Vram(offset.wrapping_sub(address % PAGE)),
            Target::Guest(at) => Target::Guest(at.wrapping_sub(address % PAGE)),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Vram(offset) => write!(out, "video memory {offset:#x}"),
            Target::Guest(address) => write!(out, "guest memory {address:#x}"),
        }
    }
}

/// The bus for memory: all reads and writes of the engines go through it. What is on it
/// has a clone in common.
#[derive(Clone)]
pub struct Memory {
    bus: Arc<dyn Bus>,
    vram: Arc<dyn Vram>,
    gart: Gart,
    /// In strict mode. Reads, which change nothing else, note their translations in it.
    cache: RefCell<Option<Cache>>,
}

impl Memory {
    pub fn new(bus: Box<dyn Bus>, vram: Box<dyn Vram>) -> Memory {
        Memory {
            bus: Arc::from(bus),
            vram: Arc::from(vram),
            gart: Gart::default(),
            cache: RefCell::new(None),
        }
    }

    /// Begins strict mode for so many dies, with nothing cached, or ends it.
    pub fn set_strict(&mut self, dies: Option<u32>) {
        *self.cache.get_mut() = dies.map(Cache::new);
    }

    /// The accesses that met a translation which the driver should have had forgotten;
    /// `None` unless in strict mode.
    pub fn stale(&self) -> Option<StaleReport> {
        let cache = self.cache.borrow();
        cache.as_ref().map(|cache| cache.report().clone())
    }

    /// How many translations are cached.
    #[cfg(test)]
    pub fn cached(&self) -> usize {
        self.cache.borrow().as_ref().map_or(0, Cache::len)
    }

    /// A reset leaves nothing in any cache.
    pub fn forget_translations(&mut self) {
        if let Some(cache) = self.cache.get_mut() {
            cache.clear();
        }
    }

    /// A process is given an address space with this page table.
    pub fn give_table(&mut self, root: u64, pasid: u32) {
        if let Some(cache) = self.cache.get_mut() {
            cache.given(root, pasid);
        }
    }

    /// A process has no address space any more.
    pub fn take_tables(&mut self, pasid: u32) {
        if let Some(cache) = self.cache.get_mut() {
            cache.taken(pasid);
        }
    }

    /// The driver has a die forget the translations of a process, and of these tables.
    pub fn flush(&mut self, pasid: Option<u32>, roots: &[u64], die: u32) {
        if let Some(cache) = self.cache.get_mut() {
            let mut all = pasid.map_or(Vec::new(), |pasid| cache.owned(pasid));
            all.extend(roots);
            cache.flush(&all, die);
        }
    }

    fn load(&self, target: Target, data: &mut [u8]) -> Result<(), BusError> {
        match target {
            Target::Vram(offset) => {
                self.vram.read(offset, data);
                Ok(())
            }
            Target::Guest(address) => self.bus.read(address, data),
        }
    }

    fn store(&self, target: Target, data: &[u8]) -> Result<(), BusError> {
        match target {
            Target::Vram(offset) => {
                self.vram.write(offset, data);
                Ok(())
            }
            Target::Guest(address) => self.bus.write(address, data),
        }
    }

    /// The memory hub's registers changed.
    pub fn set_gart(&mut self, gart: Gart) {
        self.gart = gart;
    }

    pub fn raise_msi(&self) {
        self.bus.raise_msi();
    }

    pub fn vram_bytes(&self) -> u64 {
        self.vram.size()
    }

    /// Reads a word of video memory by offset; all ones outside it.
    pub fn vram_read(&self, offset: u64) -> u32 {
        let mut bytes = [0xff; 4];
        if offset
            .checked_add(4)
            .is_some_and(|end| end <= self.vram.size())
        {
            self.vram.read(offset, &mut bytes);
        }
        u32::from_le_bytes(bytes)
    }

    pub fn vram_write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_some_and(|end| end <= self.vram.size()) {
            self.vram.write(offset, bytes);
        }
    }

    /// Calls `access` for each contiguous part of a range.
    fn for_pages<E>(
        &self,
        space: Space,
        address: u64,
        length: usize,
        write: bool,
        mut access: E,
    ) -> Result<(), MemoryFault>
    where
        E: FnMut(&Self, Target, std::ops::Range<usize>) -> Result<(), BusError>,
    {
        let mut done = 0;
        while done < length {
            let at = address.wrapping_add(done as u64);
            let nowhere = || MemoryFault {
                address: at,
                write,
                cause: FaultCause::Nowhere,
            };
            let (target, span) = self.translate(space, at, write)?;
            let part = usize::try_from(span).unwrap_or(length).min(length - done);
            self.note_span(space, at, part as u64, (target, write));
            let target = self.check(target, part as u64).ok_or_else(nowhere)?;
            access(self, target, done..done + part).map_err(|_| nowhere())?;
            done += part;
        }
        Ok(())
    }

    pub fn read(&self, space: Space, address: u64, data: &mut [u8]) -> Result<(), MemoryFault> {
        let length = data.len();
        self.for_pages(space, address, length, false, |memory, target, range| {
            memory.load(target, &mut data[range])
        })
    }

    pub fn write(&mut self, space: Space, address: u64, data: &[u8]) -> Result<(), MemoryFault> {
        let length = data.len();
        self.for_pages(space, address, length, true, |memory, target, range| {
            memory.store(target, &data[range])
        })
    }

    /// Fills a range with a repeated dword.
    pub fn fill(
        &mut self,
        space: Space,
        address: u64,
        length: usize,
        value: u32,
    ) -> Result<(), MemoryFault> {
        let pattern: Vec<u8> = value
            .to_le_bytes()
            .into_iter()
            .cycle()
            .take(FILL_STEP)
            .collect();
        self.for_pages(
            space,
            address,
            length,
            true,
            |memory, target, range| match target {
                Target::Vram(offset) if value == 0 => {
                    memory.vram.zero(offset, range.len() as u64);
                    Ok(())
                }
                Target::Vram(offset) => {
                    let mut done = 0;
                    while done < range.len() {
                        let part = FILL_STEP.min(range.len() - done);
                        // Keep the pattern in phase with the start of the range.
                        let phase = (range.start + done) % 4;
                        let part = part.min(FILL_STEP - phase);
                        let bytes = &pattern[phase..phase + part];
                        memory.vram.write(offset + done as u64, bytes);
                        done += part;
                    }
                    Ok(())
                }
                Target::Guest(address) => {
                    let phase = range.start % 4;
                    let bytes = &pattern[phase..phase + range.len()];
                    memory.bus.write(address, bytes)
                }
            },
        )
    }

    /// Whether a whole range can be accessed.
    pub fn probe(
        &self,
        space: Space,
        address: u64,
        length: usize,
        write: bool,
    ) -> Result<(), MemoryFault> {
        self.for_pages(space, address, length, write, |_, _, _| Ok(()))
    }

    pub fn read_u32(&self, space: Space, address: u64) -> Result<u32, MemoryFault> {
        let mut bytes = [0; 4];
        self.read(space, address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub fn read_u64(&self, space: Space, address: u64) -> Result<u64, MemoryFault> {
        let mut bytes = [0; 8];
        self.read(space, address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads consecutive dwords.
    pub fn read_dwords<const N: usize>(
        &self,
        space: Space,
        address: u64,
    ) -> Result<[u32; N], MemoryFault> {
        let mut bytes = vec![0; N * 4];
        self.read(space, address, &mut bytes)?;
        let mut words = [0; N];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        Ok(words)
    }

    pub fn write_u32(&mut self, space: Space, at: u64, value: u32) -> Result<(), MemoryFault> {
        self.write(space, at, &value.to_le_bytes())
    }

    pub fn write_u64(&mut self, space: Space, at: u64, value: u64) -> Result<(), MemoryFault> {
        self.write(space, at, &value.to_le_bytes())
    }
}
