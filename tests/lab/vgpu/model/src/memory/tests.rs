// SPDX-License-Identifier: GPL-2.0-only
//! Walks, permissions, fills and atomic operations.

mod strict;

use super::translate::{FURTHER, READABLE, SYSTEM, VALID, WRITEABLE};
use super::*;
use crate::testing::{TestBus, TestVram};

const PAGE: u64 = 4096;
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
    let space = process(0);
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
    let space = process(0);
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
    let space = process(0);
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
    f.memory.set_gart(Gart {
        start: 0x10_0000,
        end: 0x10_1fff,
        table: 0x1000,
    });
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

/// Guest memory in which a processor of the guest's adds 1 to a word of 4 bytes and to one
/// of 8 right after each of the next times that somebody else has read it.
struct Meddled {
    bus: TestBus,
    times: std::sync::atomic::AtomicU32,
}

const MEDDLED: u64 = 0x3000;

impl Bus for Meddled {
    fn read(&self, address: u64, data: &mut [u8]) -> Result<(), BusError> {
        use std::sync::atomic::Ordering::Relaxed;
        self.bus.read(address, data)?;
        let left = self.times.load(Relaxed);
        let added = (data[0] + 1).to_le_bytes();
        if left > 0 && (MEDDLED..MEDDLED + 16).contains(&address) {
            self.times.store(left - 1, Relaxed);
            self.bus.write(address, &added)?;
        }
        Ok(())
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), BusError> {
        self.bus.write(address, data)
    }

    fn exchange_u32(&self, address: u64, old: u32, new: u32) -> Result<u32, BusError> {
        self.bus.exchange_u32(address, old, new)
    }

    fn exchange_u64(&self, address: u64, old: u64, new: u64) -> Result<u64, BusError> {
        self.bus.exchange_u64(address, old, new)
    }

    fn raise_msi(&self) {}
}

#[test]
fn nothing_is_lost_of_what_a_processor_adds_meanwhile() {
    let bus = Meddled {
        bus: TestBus::new(8 << 20),
        times: 1.into(),
    };
    let vram = TestVram::new(16 << 20);
    let mut memory = Memory::new(Box::new(bus), Box::new(vram));
    let mut looked = Lookups::default();
    let mut double = |old: u64| old * 2 + 10;
    // What is returned is what was there when it was changed, the processor's 1 included.
    let word = (MEDDLED + 8, 4);
    let doubled = memory.change_again(Space::Bus, &mut looked, word, &mut double);
    assert_eq!(doubled, Ok(1));
    assert_eq!(memory.read_u32(Space::Bus, MEDDLED + 8), Ok(12));
    let bus = Meddled {
        bus: TestBus::new(8 << 20),
        times: 1.into(),
    };
    memory.bus = Arc::new(bus);
    assert_eq!(memory.add_u64(Space::Bus, MEDDLED, 5), Ok(1));
    assert_eq!(memory.read_u64(Space::Bus, MEDDLED), Ok(6));
}

#[test]
fn a_word_of_waves_is_changed_where_its_page_leads() {
    let mut f = fixture();
    directories(&mut f);
    f.entry(ROOT + 3 * PAGE, 5, 0x20_0000 | RW);
    f.entry(ROOT + 3 * PAGE, 6, 0x3000 | RW | SYSTEM);
    f.entry(ROOT + 3 * PAGE, 7, 0x4000 | VALID | READABLE | SYSTEM);
    f.entry(ROOT + 3 * PAGE, 8, 0x4000 | VALID | WRITEABLE | SYSTEM);
    let (space, mut looked) = (process(0), Lookups::default());
    let mut change = |address, bytes, add: u64| {
        let mut add = |old: u64| old.wrapping_add(add);
        f.memory
            .change_again(space, &mut looked, (address, bytes), &mut add)
    };
    assert_eq!(change(5 * PAGE + 8, 8, u64::MAX), Ok(0));
    assert_eq!(change(5 * PAGE + 8, 8, 2), Ok(u64::MAX));
    // The word behind it stays as it is.
    assert_eq!(change(6 * PAGE, 4, u64::MAX), Ok(0));
    assert_eq!(change(6 * PAGE, 8, 1), Ok(0xffff_ffff));
    // Not aligned, and in two pages.
    assert_eq!(change(6 * PAGE - 2, 4, 0x5_0000), Ok(0));
    assert_eq!(change(6 * PAGE, 4, 0), Ok(5));
    for (page, write) in [(7, true), (8, false), (9, false)] {
        let refused = change(page * PAGE, 4, 1).map_err(|fault| (fault.write, fault.address));
        assert_eq!(refused, Err((write, page * PAGE)));
    }
}

#[test]
fn a_fill_keeps_its_pattern_across_pieces() {
    let mut f = fixture();
    directories(&mut f);
    // A page of guest memory, then a big page of video memory.
    f.entry(ROOT + 3 * PAGE, 511, 0x6000 | RW | SYSTEM);
    f.entry(ROOT + 2 * PAGE, 1, 0x40_0000 | RW);
    let space = process(0);
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

/// The process, as a die sees it.
fn process(die: u32) -> Space {
    let root = ROOT | VALID;
    let via = Via::Die(die);
    Space::Process { root, via }
}

#[test]
fn what_was_looked_up_stays_for_its_kind_of_access_and_faults_do_not() {
    let mut f = fixture();
    directories(&mut f);
    let table = ROOT + 3 * PAGE;
    f.entry(table, 5, 0x20_0000 | VALID | READABLE);
    f.entry(table, 6, 0x3000 | RW | SYSTEM);
    f.memory.vram_write(0x20_0ffc, &[1, 2, 3, 4]);
    f.bus.write(0x3000, &[5, 6, 7, 8]).unwrap();
    let space = process(0);
    let (mut kept, at) = (Lookups::default(), 6 * PAGE - 4);
    let mut bytes = [0; 8];
    for (from, expected) in [(0, [1, 2, 3, 4]), (4, [5, 6, 7, 8])] {
        let four = &mut bytes[..4];
        f.memory
            .read_again(space, &mut kept, at + from, four)
            .unwrap();
        assert_eq!(four, expected);
    }
    // Across the border of the two.
    f.memory
        .read_again(space, &mut kept, at, &mut bytes)
        .unwrap();
    assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
    // That it can be read does not say that it can be written.
    let fault = |address, write, cause| MemoryFault {
        address,
        write,
        cause,
    };
    let refused = f.memory.write_again(space, &mut kept, at, &[9; 4]);
    assert_eq!(refused, Err(fault(at, true, FaultCause::Forbidden)));
    let missing = f
        .memory
        .read_again(space, &mut kept, 7 * PAGE + 8, &mut bytes);
    assert_eq!(
        missing,
        Err(fault(7 * PAGE + 8, false, FaultCause::NotMapped))
    );
    // What was refused is looked up again.
    f.entry(table, 5, 0x20_0000 | RW);
    f.entry(table, 7, 0x5000 | RW | SYSTEM);
    f.memory.write_again(space, &mut kept, at, &[9; 4]).unwrap();
    assert_eq!(f.memory.vram_read(0x20_0ffc), 0x0909_0909);
    assert_eq!(
        f.memory
            .read_again(space, &mut kept, 7 * PAGE + 8, &mut bytes),
        Ok(())
    );
    // What was found is not, until nothing is kept any more.
    f.entry(table, 6, 0x4000 | RW | SYSTEM);
    f.bus.write(0x4000, &[10]).unwrap();
    let mut byte = [0];
    f.memory
        .read_again(space, &mut kept, 6 * PAGE, &mut byte)
        .unwrap();
    assert_eq!(byte, [5]);
    let mut nothing = Lookups::default();
    f.memory
        .read_again(space, &mut nothing, 6 * PAGE, &mut byte)
        .unwrap();
    assert_eq!(byte, [10]);
    // A page with the same place among those that are kept.
    f.entry(table, 6 + 64, 0x6000 | RW | SYSTEM);
    f.bus.write(0x6000, &[11]).unwrap();
    f.memory
        .read_again(space, &mut nothing, 70 * PAGE, &mut byte)
        .unwrap();
    assert_eq!(byte, [11]);
}

#[test]
fn what_leads_out_of_memory_is_not_kept() {
    let mut f = fixture();
    directories(&mut f);
    f.entry(ROOT + 3 * PAGE, 5, (16 << 20) | RW);
    f.entry(ROOT + 3 * PAGE, 6, (8 << 20) | RW | SYSTEM);
    let space = process(0);
    for address in [5 * PAGE + 12, 6 * PAGE + 12] {
        let mut kept = Lookups::default();
        for _ in 0..2 {
            let fault = |write| MemoryFault {
                address,
                write,
                cause: FaultCause::Nowhere,
            };
            let read = f.memory.read_again(space, &mut kept, address, &mut [0; 4]);
            assert_eq!(read, Err(fault(false)));
            let written = f.memory.write_again(space, &mut kept, address, &[0; 4]);
            assert_eq!(written, Err(fault(true)));
        }
    }
}
