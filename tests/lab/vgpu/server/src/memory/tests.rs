// SPDX-License-Identifier: GPL-2.0-only
//! Accesses of each alignment, ranges, and what the guest does meanwhile.

use super::*;

fn guest(bytes: u64) -> (GuestMemory, VideoMemory) {
    let backing = VideoMemory::new(bytes).unwrap();
    let guest = GuestMemory::default();
    guest.map(0x10_0000, backing.file(), 0, bytes).unwrap();
    (guest, backing)
}

#[test]
fn every_alignment_and_length_reads_back_what_was_written() {
    let memory = VideoMemory::new(4096).unwrap();
    for start in 0..9 {
        for length in 0..40usize {
            let data: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
            memory.write(start, &data);
            let mut seen = vec![0; length];
            memory.read(start, &mut seen);
            assert_eq!(seen, data, "offset {start}, {length} bytes");
        }
    }
}

#[test]
fn zeroing_clears_its_range_and_no_more() {
    let size = 5 * PAGE;
    for (start, length) in [
        (0, size),
        (1, 10),
        (PAGE - 3, 6),
        (100, PAGE),
        (PAGE, PAGE),
        (PAGE - 1, 2 * PAGE + 2),
        (size - 1, 1),
        (7, 0),
    ] {
        let memory = VideoMemory::new(size).unwrap();
        memory.write(0, &vec![0xa5; size as usize]);
        memory.zero(start, length);
        let mut seen = vec![0; size as usize];
        memory.read(0, &mut seen);
        for (at, byte) in (0..).zip(seen) {
            let zeroed = (start..start + length).contains(&at);
            assert_eq!(byte == 0, zeroed, "byte {at} of {start}, {length} bytes");
        }
    }
}

#[test]
fn guest_memory_is_found_by_address_and_ends_where_it_ends() {
    let (guest, backing) = guest(8192);
    guest.write(0x10_0ffe, &[1, 2, 3, 4]).unwrap();
    let mut seen = [0; 4];
    backing.read(0xffe, &mut seen);
    assert_eq!(seen, [1, 2, 3, 4]);
    for (address, length) in [(0xf_ffff, 1), (0x10_1fff, 2), (u64::MAX, 1), (0, 1)] {
        assert_eq!(
            guest.read(address, &mut vec![0; length]),
            Err(BusError { address, length })
        );
    }
}

#[test]
fn a_range_beyond_the_file_or_the_addresses_is_refused() {
    let backing = VideoMemory::new(8192).unwrap();
    let guest = GuestMemory::default();
    for (address, offset, length) in [
        (0, 0, 12288),
        (0, 4096, 8192),
        (0, 8192, 4096),
        (0, 4096, u64::MAX),
        (u64::MAX - 4095, 0, 8192),
    ] {
        let refused = guest.map(address, backing.file(), offset, length);
        assert_eq!(refused, Err(nix::errno::Errno::EINVAL), "{offset} {length}");
    }
    assert!(guest.read(0, &mut [0]).is_err());
}

#[test]
fn an_unmapped_range_is_an_error_afterwards() {
    let (guest, _backing) = guest(4096);
    guest.unmap(0, 0x20_0000);
    assert!(guest.read(0x10_0000, &mut [0]).is_err());
}

#[test]
fn exchanging_is_refused_where_it_cannot_be_atomic() {
    let (guest, _backing) = guest(4096);
    assert_eq!(guest.exchange_u64(0x10_0008, 0, 5), Ok(0));
    assert_eq!(guest.exchange_u64(0x10_0008, 4, 6), Ok(5));
    assert_eq!(guest.exchange_u32(0x10_0008, 5, 7), Ok(5));
    assert_eq!(guest.exchange_u64(0x10_0008, 7, 7), Ok(7));
    assert!(guest.exchange_u64(0x10_0004, 0, 1).is_err());
    assert!(guest.exchange_u32(0x10_0002, 0, 1).is_err());
    assert!(guest.exchange_u64(0x10_0ffc, 0, 1).is_err());
}

/// The GPU adds through the model's bus, and a processor of the guest by an instruction
/// of its own, at the same time.
#[test]
fn the_guests_processors_and_the_gpu_lose_nothing_of_what_both_add() {
    const ROUNDS: u64 = 100_000;
    let (guest, backing) = guest(4096);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                backing.mapping.long(8).fetch_add(3, Ordering::Relaxed);
                backing.mapping.word(16).fetch_add(1, Ordering::Relaxed);
            }
        });
        let (mut long, mut word) = (0, 0);
        for _ in 0..ROUNDS {
            while let Ok(found) = guest.exchange_u64(0x10_0008, long, long + 2) {
                if std::mem::replace(&mut long, found) == found {
                    break;
                }
            }
            while let Ok(found) = guest.exchange_u32(0x10_0010, word, word + 5) {
                if std::mem::replace(&mut word, found) == found {
                    break;
                }
            }
        }
    });
    let mut sums = [0; 12];
    guest.read(0x10_0008, &mut sums).unwrap();
    let [long, word] = [0, 8].map(|at| u32::from_le_bytes(*sums[at..].first_chunk().unwrap()));
    assert_eq!(u64::from(long), 5 * ROUNDS);
    assert_eq!(u64::from(word), 6 * ROUNDS);
}
