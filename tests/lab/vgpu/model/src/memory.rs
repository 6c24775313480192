// SPDX-License-Identifier: GPL-2.0-only
//! Memory as the GPU addresses it: video memory, the kernel's flat aperture
//! onto guest pages (GART), and each process's four-level page table.
//!
//! Walks are never cached, so a translation is what the tables say now.

use crate::{Bus, Vram};

/// Where video memory starts in the GPU's own address space.
pub const FB_BASE: u64 = 0x80_0000_0000;

const PAGE: u64 = 4096;
/// Bytes that a fill writes at a time; more than a page.
const FILL_STEP: usize = 64 << 10;
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
const VALID: u64 = 1 << 0;
const SYSTEM: u64 = 1 << 1;
const READABLE: u64 = 1 << 5;
const WRITEABLE: u64 = 1 << 6;
const PDE_AS_PTE: u64 = 1 << 54;
/// Set in the last directory level when a table follows; clear for a page of
/// 2 MiB (the driver calls this bit "translate further").
const FURTHER: u64 = 1 << 56;

/// Whose addresses are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The kernel's: video memory, the GART, and guest-physical elsewhere.
    Kernel,
    /// A process's, by the root of its page table with its flag bits.
    Process { root: u64 },
    /// Guest-physical, as the interrupt ring uses it.
    Bus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCause {
    /// No valid entry for the page.
    NotMapped,
    /// The entry forbids this access.
    Forbidden,
    /// The entry leads outside video or guest memory.
    Nowhere,
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

pub struct Memory {
    bus: Box<dyn Bus>,
    vram: Box<dyn Vram>,
    pub gart: Gart,
}

impl Memory {
    pub fn new(bus: Box<dyn Bus>, vram: Box<dyn Vram>) -> Memory {
        Memory {
            bus,
            vram,
            gart: Gart::default(),
        }
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

    fn target(&self, entry: u64, offset: u64) -> Target {
        let address = (entry & ADDRESS).wrapping_add(offset);
        if entry & SYSTEM != 0 {
            Target::Guest(address)
        } else {
            Target::Vram(address)
        }
    }

    fn load_entry(&self, target: Target) -> Option<u64> {
        let mut bytes = [0; 8];
        match target {
            Target::Vram(offset) => {
                if offset.checked_add(8)? > self.vram.size() {
                    return None;
                }
                self.vram.read(offset, &mut bytes);
            }
            Target::Guest(address) => self.bus.read(address, &mut bytes).ok()?,
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// Where an address leads, and for how many bytes it goes on there.
    fn translate(
        &self,
        space: Space,
        address: u64,
        write: bool,
    ) -> Result<(Target, u64), MemoryFault> {
        let rest = PAGE - address % PAGE;
        let fault = |cause| MemoryFault {
            address,
            write,
            cause,
        };
        match space {
            Space::Bus => Ok((Target::Guest(address), rest)),
            Space::Kernel => {
                if let Some(offset) = address.checked_sub(FB_BASE) {
                    if offset < self.vram.size() {
                        return Ok((Target::Vram(offset), self.vram.size() - offset));
                    }
                }
                let gart = &self.gart;
                if gart.end > gart.start && (gart.start..=gart.end).contains(&address) {
                    let index = (address - gart.start) / PAGE;
                    let entry = self
                        .load_entry(Target::Vram(gart.table.wrapping_add(index * 8)))
                        .filter(|entry| entry & VALID != 0)
                        .ok_or_else(|| fault(FaultCause::NotMapped))?;
                    return Ok((self.target(entry, address % PAGE), rest));
                }
                Ok((Target::Guest(address), rest))
            }
            Space::Process { root } => {
                let mut entry = root | VALID;
                for (level, shift) in [39u32, 30, 21, 12].into_iter().enumerate() {
                    let index = (address >> shift) & 0x1ff;
                    entry = self
                        .load_entry(self.target(entry, index * 8))
                        .filter(|entry| entry & VALID != 0)
                        .ok_or_else(|| fault(FaultCause::NotMapped))?;
                    let last = level == 3
                        || entry & PDE_AS_PTE != 0
                        || (level == 2 && entry & FURTHER == 0);
                    if last {
                        let needed = if write { WRITEABLE } else { READABLE };
                        if entry & needed == 0 {
                            return Err(fault(FaultCause::Forbidden));
                        }
                        // A sum, since a big page of guest memory need be
                        // aligned in the process's addresses only.
                        let size = 1 << shift;
                        let offset = address & (size - 1);
                        // Guest memory comes in pieces of any size; pages
                        // are safe.
                        return Ok(match self.target(entry, offset) {
                            target @ Target::Guest(_) => (target, rest),
                            target => (target, size - offset),
                        });
                    }
                }
                unreachable!("the last level always ends the walk")
            }
        }
    }

    fn check(&self, target: Target, length: u64) -> Option<Target> {
        match target {
            Target::Vram(offset) => {
                (offset.checked_add(length)? <= self.vram.size()).then_some(target)
            }
            Target::Guest(_) => Some(target),
        }
    }

    /// Calls `access` for each part of a range that lies in one piece.
    fn for_pages<E>(
        &self,
        space: Space,
        address: u64,
        length: usize,
        write: bool,
        mut access: E,
    ) -> Result<(), MemoryFault>
    where
        E: FnMut(&Self, Target, std::ops::Range<usize>) -> Result<(), crate::BusError>,
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
            let target = self.check(target, part as u64).ok_or_else(nowhere)?;
            access(self, target, done..done + part).map_err(|_| nowhere())?;
            done += part;
        }
        Ok(())
    }

    pub fn read(&self, space: Space, address: u64, data: &mut [u8]) -> Result<(), MemoryFault> {
        let length = data.len();
        self.for_pages(
            space,
            address,
            length,
            false,
            |memory, target, range| match target {
                Target::Vram(offset) => {
                    memory.vram.read(offset, &mut data[range]);
                    Ok(())
                }
                Target::Guest(address) => memory.bus.read(address, &mut data[range]),
            },
        )
    }

    pub fn write(&mut self, space: Space, address: u64, data: &[u8]) -> Result<(), MemoryFault> {
        self.for_pages(
            space,
            address,
            data.len(),
            true,
            |memory, target, range| match target {
                Target::Vram(offset) => {
                    memory.vram.write(offset, &data[range]);
                    Ok(())
                }
                Target::Guest(address) => memory.bus.write(address, &data[range]),
            },
        )
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
                        // The pattern starts where the range's would be.
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

    fn atomic_target(&self, space: Space, at: u64, size: u64) -> Result<Target, MemoryFault> {
        let nowhere = MemoryFault {
            address: at,
            write: true,
            cause: FaultCause::Nowhere,
        };
        if at % size != 0 {
            return Err(nowhere);
        }
        let (target, _) = self.translate(space, at, true)?;
        self.check(target, size).ok_or(nowhere)
    }

    pub fn add_u32(&mut self, space: Space, at: u64, value: u32) -> Result<u32, MemoryFault> {
        match self.atomic_target(space, at, 4)? {
            Target::Vram(offset) => Ok(self.vram.fetch_add_u32(offset, value)),
            Target::Guest(address) => {
                self.bus
                    .fetch_add_u32(address, value)
                    .map_err(|_| MemoryFault {
                        address: at,
                        write: true,
                        cause: FaultCause::Nowhere,
                    })
            }
        }
    }

    pub fn add_u64(&mut self, space: Space, at: u64, value: u64) -> Result<u64, MemoryFault> {
        match self.atomic_target(space, at, 8)? {
            Target::Vram(offset) => Ok(self.vram.fetch_add_u64(offset, value)),
            Target::Guest(address) => {
                self.bus
                    .fetch_add_u64(address, value)
                    .map_err(|_| MemoryFault {
                        address: at,
                        write: true,
                        cause: FaultCause::Nowhere,
                    })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestBus, TestVram};

    const ROOT: u64 = 0x10_0000;

    struct Fixture {
        memory: Memory,
        bus: TestBus,
    }

    fn fixture() -> Fixture {
        let bus = TestBus::new(8 << 20);
        let vram = TestVram::new(16 << 20);
        Fixture {
            memory: Memory::new(Box::new(bus.clone()), Box::new(vram)),
            bus,
        }
    }

    impl Fixture {
        fn entry(&mut self, table: u64, index: u64, value: u64) {
            self.memory
                .vram_write(table + index * 8, &value.to_le_bytes());
        }
    }

    const RW: u64 = VALID | READABLE | WRITEABLE;

    /// Directories for addresses 0 to 1 GiB: tables at ROOT + 1, 2, 3 pages.
    fn directories(f: &mut Fixture) {
        f.entry(ROOT, 0, (ROOT + PAGE) | VALID);
        f.entry(ROOT + PAGE, 0, (ROOT + 2 * PAGE) | VALID);
        f.entry(ROOT + 2 * PAGE, 0, (ROOT + 3 * PAGE) | VALID | FURTHER);
    }

    #[test]
    fn a_walk_ends_in_video_or_guest_memory() {
        let mut f = fixture();
        directories(&mut f);
        f.entry(ROOT + 3 * PAGE, 5, 0x20_0000 | RW);
        f.entry(ROOT + 3 * PAGE, 6, 0x3000 | RW | SYSTEM);
        let space = Space::Process { root: ROOT | VALID };
        // Across the border of the two pages.
        f.memory
            .write(space, 6 * PAGE - 4, &[1, 2, 3, 4, 5, 6, 7, 8])
            .unwrap();
        assert_eq!(f.memory.vram_read(0x20_0ffc), 0x0403_0201);
        let mut bytes = [0; 4];
        f.bus.read(0x3000, &mut bytes).unwrap();
        assert_eq!(bytes, [5, 6, 7, 8]);
        assert_eq!(
            f.memory.read_u64(space, 6 * PAGE - 4),
            Ok(0x0807_0605_0403_0201)
        );
    }

    #[test]
    fn a_big_page_adds_its_offset() {
        let mut f = fixture();
        directories(&mut f);
        // The base is not aligned to 2 MiB: masking would hit other memory.
        f.entry(ROOT + 2 * PAGE, 1, 0x14_5000 | RW | SYSTEM);
        let space = Space::Process { root: ROOT };
        f.memory
            .write_u32(space, 0x20_0000 + 0x1f_0010, 77)
            .unwrap();
        let mut bytes = [0; 4];
        f.bus.read(0x14_5000 + 0x1f_0010, &mut bytes).unwrap();
        assert_eq!(u32::from_le_bytes(bytes), 77);
    }

    #[test]
    fn permissions_and_holes_are_faults() {
        let mut f = fixture();
        directories(&mut f);
        f.entry(ROOT + 3 * PAGE, 1, 0x3000 | VALID | READABLE | SYSTEM);
        f.entry(ROOT + 3 * PAGE, 2, (64 << 20) | RW);
        f.entry(ROOT + 3 * PAGE, 3, (64 << 20) | RW | SYSTEM);
        let space = Space::Process { root: ROOT };
        assert!(f.memory.read_u32(space, PAGE).is_ok());
        let cause = |result: Result<(), MemoryFault>| result.unwrap_err().cause;
        assert_eq!(
            cause(f.memory.write_u32(space, PAGE, 1)),
            FaultCause::Forbidden
        );
        assert_eq!(
            cause(f.memory.write_u32(space, 9 * PAGE, 1)),
            FaultCause::NotMapped
        );
        assert_eq!(
            cause(f.memory.write_u32(space, 2 * PAGE, 1)),
            FaultCause::Nowhere
        );
        assert_eq!(
            cause(f.memory.write_u32(space, 3 * PAGE, 1)),
            FaultCause::Nowhere
        );
        assert_eq!(
            cause(f.memory.write_u32(space, 1 << 40, 1)),
            FaultCause::NotMapped
        );
    }

    #[test]
    fn the_kernel_sees_video_memory_gart_and_bus() {
        let mut f = fixture();
        f.memory.gart = Gart {
            start: 0x10_0000,
            end: 0x10_1fff,
            table: 0x1000,
        };
        f.entry(0x1000, 1, 0x5000 | VALID | SYSTEM);
        f.memory
            .write_u32(Space::Kernel, FB_BASE + 0x40, 1)
            .unwrap();
        assert_eq!(f.memory.vram_read(0x40), 1);
        f.memory.write_u32(Space::Kernel, 0x10_1008, 2).unwrap();
        assert_eq!(f.memory.read_u32(Space::Bus, 0x5008), Ok(2));
        assert!(f.memory.read_u32(Space::Kernel, 0x10_0000).is_err());
        f.memory.write_u32(Space::Kernel, 0x7000, 3).unwrap();
        assert_eq!(f.memory.read_u32(Space::Bus, 0x7000), Ok(3));
    }

    #[test]
    fn atomics_need_alignment_and_return_the_old_value() {
        let mut f = fixture();
        assert_eq!(f.memory.add_u64(Space::Bus, 0x100, 5), Ok(0));
        assert_eq!(f.memory.add_u64(Space::Bus, 0x100, u64::MAX), Ok(5));
        assert_eq!(f.memory.read_u64(Space::Bus, 0x100), Ok(4));
        assert!(f.memory.add_u32(Space::Bus, 0x102, 1).is_err());
    }

    #[test]
    fn a_fill_keeps_its_pattern_across_pieces() {
        let mut f = fixture();
        directories(&mut f);
        // A page of guest memory, then a big page of video memory.
        f.entry(ROOT + 3 * PAGE, 511, 0x6000 | RW | SYSTEM);
        f.entry(ROOT + 2 * PAGE, 1, 0x40_0000 | RW);
        let space = Space::Process { root: ROOT };
        let start = 0x20_0000 - 6;
        f.memory.fill(space, start, 200_000, 0x0403_0201).unwrap();
        let mut bytes = vec![0; 200_008];
        f.memory.read(space, start, &mut bytes).unwrap();
        let expected = |index: usize| [1, 2, 3, 4][index % 4];
        assert!((0..200_000).all(|index| bytes[index] == expected(index)));
        assert_eq!(bytes[200_000..], [0; 8]);
        f.memory.fill(space, start, 100_000, 0).unwrap();
        f.memory.read(space, start, &mut bytes).unwrap();
        assert!(bytes[..100_000].iter().all(|byte| *byte == 0));
        assert!((100_000..200_000).all(|index| bytes[index] == expected(index)));
        assert!(f.memory.fill(space, start, 8 << 20, 1).is_err());
    }

    #[test]
    fn words_outside_video_memory_read_as_ones() {
        let mut f = fixture();
        assert_eq!(f.memory.vram_read(u64::MAX), u32::MAX);
        f.memory.vram_write((16 << 20) - 2, &[1, 2, 3, 4]);
        assert_eq!(f.memory.vram_read((16 << 20) - 4), 0);
    }
}
