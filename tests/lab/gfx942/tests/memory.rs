// SPDX-License-Identifier: GPL-2.0-only
//! Vector loads and stores: each lane's bytes are those at its address, wherever that
//! leads, and a fault leaves the registers as they were.

use crate::common::memory::{
    buffer, flat, set_whole, whole, Shared, ADDRESS, DATA, FLAT, GLOBAL, OFF, RESULT, SCRATCH,
};
use gfx942::wave::{Fault, HardwareRegister, Outcome, Wave, LANES};

pub const PLACE: u64 = 0x12_3456_0000;
pub const EVERY: u64 = 0x20;
pub const OLD: u32 = 0xaaaa_5555;

/// Bytes of which each is different from its neighbours.
pub fn byte(at: u64) -> u8 {
    (at * 37 + 129) as u8
}

fn expected(at: u64, count: u64) -> u32 {
    (0..count)
        .rev()
        .fold(0, |value, next| (value << 8) | u32::from(byte(at + next)))
}

pub fn memory() -> Shared {
    let mut memory = Shared::new(0);
    memory.fill(PLACE, (0..LANES as u64 * EVERY + 64).map(byte));
    memory
}

fn wave() -> Wave {
    let mut wave = Wave::new(0);
    for lane in 0..LANES {
        for register in RESULT..RESULT + 4 {
            wave.set_vector(register as u8, lane, OLD);
        }
    }
    wave
}

pub type Made = fn(u64) -> Vec<u32>;

pub const LOADS: [(&str, Made); 14] = [
    ("flat_load_ubyte", |at| vec![expected(at, 1)]),
    ("flat_load_sbyte", |at| vec![expected(at, 1) as i8 as u32]),
    ("flat_load_ushort", |at| vec![expected(at, 2)]),
    ("flat_load_sshort", |at| vec![expected(at, 2) as i16 as u32]),
    ("flat_load_dword", |at| vec![expected(at, 4)]),
    ("flat_load_dwordx2", |at| {
        (0..2).map(|of| expected(at + 4 * of, 4)).collect()
    }),
    ("flat_load_dwordx3", |at| {
        (0..3).map(|of| expected(at + 4 * of, 4)).collect()
    }),
    ("flat_load_dwordx4", |at| {
        (0..4).map(|of| expected(at + 4 * of, 4)).collect()
    }),
    ("flat_load_ubyte_d16", |at| {
        vec![0xaaaa_0000 | expected(at, 1)]
    }),
    ("flat_load_ubyte_d16_hi", |at| {
        vec![0x5555 | (expected(at, 1) << 16)]
    }),
    ("flat_load_sbyte_d16", |at| {
        vec![0xaaaa_0000 | u32::from(expected(at, 1) as i8 as u16)]
    }),
    ("flat_load_sbyte_d16_hi", |at| {
        vec![0x5555 | (u32::from(expected(at, 1) as i8 as u16) << 16)]
    }),
    ("flat_load_short_d16", |at| {
        vec![0xaaaa_0000 | expected(at, 2)]
    }),
    ("flat_load_short_d16_hi", |at| {
        vec![0x5555 | (expected(at, 2) << 16)]
    }),
];

#[test]
fn loads_bring_what_is_at_each_lanes_address() {
    let mut memory = memory();
    for (name, made) in LOADS {
        for (part, scalar, offset) in [(FLAT, 0, 5), (GLOBAL, OFF, -3), (GLOBAL, 30, 7)] {
            let mut wave = wave();
            wave.set_exec(0xffff_ffff_0fff_fffe);
            wave.set_scalar_pair(30, PLACE - 0xff00_0000);
            for lane in 0..LANES {
                let at = lane as u64 * EVERY + 8;
                match scalar {
                    30 => {
                        let own = 0xff00_0000 + at as u32;
                        wave.set_vector(ADDRESS as u8, lane, own);
                    }
                    _ => set_whole(&mut wave, ADDRESS, lane, PLACE + at),
                }
            }
            memory.done(&mut wave, &flat(name, part, scalar, offset, false));
            for lane in 0..LANES {
                let at = (lane as u64 * EVERY + 8).wrapping_add_signed(offset.into());
                let active = wave.is_active(lane);
                let mut dwords = if active { made(at) } else { Vec::new() };
                dwords.resize(4, OLD);
                for (register, dword) in (RESULT..).zip(dwords) {
                    let found = wave.vector(register as u8, lane);
                    assert_eq!(found, dword, "{name} {part} lane {lane}");
                }
            }
        }
    }
}

#[test]
fn stores_put_data_at_each_lanes_address_and_nothing_beside_it() {
    for (name, bytes, upper) in [
        ("flat_store_byte", 1, false),
        ("flat_store_byte_d16_hi", 1, true),
        ("flat_store_short", 2, false),
        ("flat_store_short_d16_hi", 2, true),
        ("flat_store_dword", 4, false),
        ("flat_store_dwordx2", 8, false),
        ("flat_store_dwordx3", 12, false),
        ("flat_store_dwordx4", 16, false),
    ] {
        let mut memory = memory();
        let mut wave = Wave::new(0);
        let data = |lane: usize, at: u32| 0x0102_0304_u32.wrapping_mul(at + 3) ^ lane as u32;
        for lane in 0..LANES {
            set_whole(&mut wave, ADDRESS, lane, PLACE + lane as u64 * EVERY);
            for at in 0..4 {
                wave.set_vector((DATA + at) as u8, lane, data(lane, at));
            }
        }
        wave.set_exec(u64::MAX - 2);
        memory.done(&mut wave, &flat(name, GLOBAL, OFF, 4, false));
        for lane in 0..LANES {
            let words: Vec<u8> = (0..4)
                .map(|at| {
                    if upper {
                        data(lane, at) >> 16
                    } else {
                        data(lane, at)
                    }
                })
                .flat_map(u32::to_le_bytes)
                .collect();
            for at in 0..EVERY {
                let place = lane as u64 * EVERY + at;
                let written = lane != 1 && (4..4 + bytes).contains(&at);
                let expected = match written {
                    true => words[at as usize - 4],
                    false => byte(place),
                };
                assert_eq!(
                    memory.number(PLACE + place, 1),
                    expected.into(),
                    "{name} {lane} {at}"
                );
            }
        }
    }
}

#[test]
fn a_fault_names_the_address_and_leaves_the_registers() {
    for (name, write) in [("flat_load_dword", false), ("flat_store_dword", true)] {
        let mut memory = memory();
        let mut wave = wave();
        for lane in 0..LANES {
            let missing = if lane == 9 { 1 << 40 } else { 0 };
            set_whole(&mut wave, ADDRESS, lane, PLACE + missing);
        }
        let mut before = wave.clone();
        before.pc = crate::common::CODE;
        let outcome = memory.step(&mut wave, &flat(name, GLOBAL, OFF, 0, false));
        let address = PLACE + (1 << 40);
        assert_eq!(outcome, Outcome::Fault(Fault { address, write }));
        assert_eq!(wave, before);
        // A lane that is not active asks for nothing.
        wave.set_exec(!(1 << 9));
        memory.done(&mut wave, &flat(name, GLOBAL, OFF, 0, false));
    }
}

/// Lanes whose places follow each other, with gaps where lanes are not active.
fn neighbours(wave: &mut Wave, size: u64) {
    for lane in 0..LANES {
        let next = if lane < 40 { lane } else { lane + 1 };
        set_whole(wave, ADDRESS, lane, PLACE + next as u64 * size);
    }
    wave.set_exec(!((1 << 7) | (3 << 20)));
}

#[test]
fn neighbouring_lanes_load_and_store_what_is_theirs() {
    for (name, make) in LOADS {
        let size = match name {
            _ if name.contains("byte") => 1,
            _ if name.contains("short") => 2,
            _ => 4 * make(0).len() as u64,
        };
        let mut memory = memory();
        let mut wave = wave();
        neighbours(&mut wave, size);
        memory.done(&mut wave, &flat(name, GLOBAL, OFF, 0, false));
        for lane in 0..LANES {
            let at = whole(&wave, ADDRESS, lane) - PLACE;
            let old = vec![OLD; make(0).len()];
            let expected = if wave.is_active(lane) { make(at) } else { old };
            for (register, value) in (RESULT..).zip(expected) {
                assert_eq!(wave.vector(register as u8, lane), value, "{name} {lane}");
            }
        }
    }
    let mut memory = memory();
    let mut wave = wave();
    neighbours(&mut wave, 4);
    memory.done(&mut wave, &flat("flat_store_dword", GLOBAL, OFF, 0, false));
    for lane in 0..LANES {
        let at = whole(&wave, ADDRESS, lane);
        let expected = match wave.is_active(lane) {
            true => wave.vector(DATA as u8, lane),
            false => expected(at - PLACE, 4),
        };
        assert_eq!(memory.number(at, 4), u64::from(expected), "{lane}");
    }
    // Between the lanes that have a gap between them.
    assert_eq!(memory.number(PLACE + 160, 4), u64::from(expected(160, 4)));
}

#[test]
fn of_neighbouring_lanes_those_before_a_fault_are_done() {
    for (name, write) in [("flat_load_dword", false), ("flat_store_dword", true)] {
        let mut memory = memory();
        let mut wave = wave();
        for lane in 0..LANES {
            set_whole(&mut wave, ADDRESS, lane, PLACE + lane as u64 * 4);
        }
        let address = PLACE + 9 * 4;
        memory.bytes.0.remove(&(address + 2));
        let mut before = wave.clone();
        before.pc = crate::common::CODE;
        let outcome = memory.step(&mut wave, &flat(name, GLOBAL, OFF, 0, false));
        assert_eq!(outcome, Outcome::Fault(Fault { address, write }));
        assert_eq!(wave, before);
        for lane in (0..LANES as u64).filter(|lane| *lane != 9) {
            let data = wave.vector(DATA as u8, lane as usize);
            let is_stored = write && lane < 9;
            let expected = if is_stored {
                data
            } else {
                expected(lane * 4, 4)
            };
            let found = memory.number(PLACE + lane * 4, 4);
            assert_eq!(found, u64::from(expected), "{name} {lane}");
        }
    }
}

#[test]
fn flat_addresses_reach_the_local_share_and_scratch() {
    let mut memory = Shared::new(256);
    let scratch = 0x5000_0000;
    memory.fill(scratch, (0..4096).map(byte));
    let mut wave = wave();
    wave.set_hardware(HardwareRegister::MemoryBases, 0x0001_0002);
    wave.set_scalar_pair(102, scratch);
    wave.set_exec(0b11);
    set_whole(&mut wave, ADDRESS, 0, (1 << 48) + 8);
    set_whole(&mut wave, ADDRESS, 1, (2 << 48) + 8);
    memory.done(&mut wave, &flat("flat_load_dwordx2", FLAT, 0, 0, false));
    let share = |at: u32| u32::from_le_bytes([0, 1, 2, 3].map(|of| ((at + of) * 3) as u8));
    assert_eq!(wave.vector(RESULT as u8, 0), share(8));
    assert_eq!(wave.vector(RESULT as u8 + 1, 0), share(12));
    // The third dword of each lane is behind two of all lanes, the fourth behind three.
    assert_eq!(wave.vector(RESULT as u8, 1), expected(2 * 256 + 4, 4));
    assert_eq!(wave.vector(RESULT as u8 + 1, 1), expected(3 * 256 + 4, 4));
    // The bounds of both are constants for programs.
    for (source, value) in [
        (235, 1 << 48),
        (236, (1 << 48) + 0xffff_ffff),
        (237, 2 << 48),
    ] {
        memory.done(&mut wave, &crate::common::sop1("s_mov_b64", 10, source));
        assert_eq!(wave.scalar_pair(10), value);
    }
}

#[test]
fn scratch_goes_round_among_the_lanes() {
    let mut memory = Shared::new(0);
    let base = 0x5000_0000;
    memory.fill(base, (0..8192).map(|_| 0));
    let mut wave = Wave::new(0);
    wave.set_scalar_pair(102, base);
    wave.set_scalar(30, 16);
    for lane in 0..LANES {
        wave.set_vector(ADDRESS as u8, lane, 6);
        for at in 0..4 {
            wave.set_vector((DATA + at) as u8, lane, 0x1000 * at + lane as u32);
        }
    }
    memory.done(
        &mut wave,
        &flat("flat_store_dwordx4", SCRATCH, 30, 2, false),
    );
    for lane in 0..LANES as u64 {
        for at in 0..4 {
            let place = base + (24 / 4 + at) * 256 + lane * 4;
            assert_eq!(memory.number(place, 4), 0x1000 * at + lane);
        }
    }
    // Across dwords, byte by byte.
    memory.done(&mut wave, &flat("flat_load_dword", SCRATCH, 30, 4, false));
    assert_eq!(wave.vector(RESULT as u8, 5), (0x1005 << 16));
    memory.done(&mut wave, &flat("flat_load_dword", SCRATCH, OFF, 20, false));
    assert_eq!(wave.vector(RESULT as u8, 5), (0x1005 << 16));
}

#[test]
fn loads_can_go_to_the_local_share() {
    let mut memory = memory();
    memory.share = vec![0; 512];
    let mut wave = wave();
    wave.set_m0(32);
    wave.set_exec(!2);
    for lane in 0..LANES {
        set_whole(&mut wave, ADDRESS, lane, PLACE + lane as u64 * EVERY);
    }
    for (name, bytes, signed) in [
        ("flat_load_lds_ubyte", 1, false),
        ("flat_load_lds_sbyte", 1, true),
        ("flat_load_lds_ushort", 2, false),
        ("flat_load_lds_sshort", 2, true),
    ] {
        memory.done(&mut wave, &flat(name, GLOBAL, OFF, 8, false));
        for lane in 2..LANES as u64 {
            let value = expected(lane * EVERY + 8, bytes);
            let above = 32 - 8 * bytes as u32;
            let value = match signed {
                true => ((value << above) as i32 >> above) as u32,
                false => value,
            };
            let found = memory.number_in_share(32 + 8 + 4 * lane as usize);
            assert_eq!(found, value, "{name} {lane}");
        }
    }
    let code = flat("flat_load_lds_dword", GLOBAL, OFF, 8, false);
    memory.done(&mut wave, &code);
    for lane in 0..LANES as u64 {
        let at = 32 + 8 + 4 * lane as usize;
        let found = memory.share[at..at + 4].try_into().unwrap();
        let value = if lane == 1 {
            0
        } else {
            expected(lane * EVERY + 8, 4)
        };
        assert_eq!(u32::from_le_bytes(found), value, "{lane}");
    }
}

/// The descriptor of a buffer of records of these bytes.
pub fn described(wave: &mut Wave, stride: u32, records: u32, fourth: u32) {
    wave.set_scalar(16, PLACE as u32);
    wave.set_scalar(17, (PLACE >> 32) as u32 | (stride << 16));
    wave.set_scalar(18, records);
    wave.set_scalar(19, fourth);
    wave.set_scalar(20, 4);
}

#[test]
fn buffers_end_where_their_descriptor_says() {
    let mut memory = memory();
    let mut wave = wave();
    described(&mut wave, 0, 64, 0);
    for lane in 0..LANES {
        wave.set_vector(DATA as u8, lane, OLD);
        wave.set_vector(ADDRESS as u8, lane, 4 * lane as u32);
    }
    memory.done(&mut wave, &buffer("buffer_load_dword", 8, true, false));
    for lane in 0..LANES as u64 {
        let within = 4 * lane + 8 + 4;
        let expected = if within + 4 <= 64 {
            expected(within, 4)
        } else {
            0
        };
        assert_eq!(wave.vector(DATA as u8, lane as usize), expected, "{lane}");
    }
    for lane in 0..LANES {
        wave.set_vector(DATA as u8, lane, 0x1000 + lane as u32);
    }
    memory.done(&mut wave, &buffer("buffer_store_dword", 8, true, false));
    assert_eq!(memory.number(PLACE + 60, 4), 0x1000 + 12);
    assert_eq!(memory.number(PLACE + 64, 4), u64::from(expected(64, 4)));
}

#[test]
fn each_dword_ends_for_itself_where_a_buffer_ends() {
    // Two dwords and a half are left, of which the scalar offset takes one.
    let mut memory = memory();
    let mut wave = wave();
    wave.set_exec(1);
    described(&mut wave, 0, 14, 0);
    wave.set_vector(ADDRESS as u8, 0, 0);
    let registers = |wave: &Wave| [0, 1, 2, 3].map(|at| wave.vector((DATA + at) as u8, 0));
    memory.done(&mut wave, &buffer("buffer_load_dwordx4", 0, true, false));
    assert_eq!(registers(&wave), [expected(4, 4), expected(8, 4), 0, 0]);
    for at in 0..4 {
        wave.set_vector((DATA + at) as u8, 0, 0x1000 + at);
    }
    memory.done(&mut wave, &buffer("buffer_store_dwordx4", 0, true, false));
    assert_eq!(memory.number(PLACE + 8, 4), 0x1001);
    assert_eq!(memory.number(PLACE + 12, 4), expected(12, 4).into());
    // An atomic is done wholly or not at all.
    let before = memory.number(PLACE + 8, 8);
    memory.done(&mut wave, &buffer("buffer_atomic_add_x2", 4, true, false));
    assert_eq!(memory.number(PLACE + 8, 8), before);
    // Without an index the bytes count also where records have a size.
    described(&mut wave, 20, 14, 0);
    memory.done(&mut wave, &buffer("buffer_load_dword", 8, true, false));
    assert_eq!(wave.vector(DATA as u8, 0), 0);
    memory.done(&mut wave, &buffer("buffer_load_dword", 4, true, false));
    assert_eq!(
        u64::from(wave.vector(DATA as u8, 0)),
        memory.number(PLACE + 8, 4)
    );
}

#[test]
fn buffers_of_records_have_an_index_and_an_offset() {
    let mut memory = memory();
    let mut wave = wave();
    described(&mut wave, 20, 50, 0);
    for lane in 0..LANES {
        wave.set_vector(ADDRESS as u8, lane, lane as u32);
        wave.set_vector(ADDRESS as u8 + 1, lane, 8);
    }
    memory.done(&mut wave, &buffer("buffer_load_ushort", 3, true, true));
    for lane in 0..LANES as u64 {
        let expected = if lane < 50 {
            expected(20 * lane + 8 + 3 + 4, 2)
        } else {
            0
        };
        assert_eq!(wave.vector(DATA as u8, lane as usize), expected, "{lane}");
    }
    // With the lane's number as the index, and eight records interleaved.
    described(&mut wave, 16, 64, 1 << 23);
    wave.set_scalar(17, wave.scalar(17) | (1 << 31));
    for lane in 0..LANES {
        wave.set_vector(ADDRESS as u8, lane, 9);
    }
    memory.done(&mut wave, &buffer("buffer_load_ubyte", 0, true, false));
    for lane in 0..LANES as u64 {
        let within = lane / 8 * 8 * 16 + 9 / 4 * 8 * 4 + lane % 8 * 4 + 9 % 4;
        assert_eq!(
            wave.vector(DATA as u8, lane as usize),
            expected(within + 4, 1),
            "{lane}"
        );
    }
}

#[test]
fn scalar_loads_through_buffers_are_zero_beyond_the_end() {
    let mut memory = memory();
    let mut wave = wave();
    described(&mut wave, 0, 20, 0);
    memory.done(
        &mut wave,
        &crate::common::smem("s_buffer_load_dwordx4", 40, 16, 8),
    );
    let found = [40, 41, 42, 43].map(|register| wave.scalar(register));
    assert_eq!(found, [expected(8, 4), expected(12, 4), expected(16, 4), 0]);
}
