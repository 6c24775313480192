// SPDX-License-Identifier: GPL-2.0-only
//! The local data share, and what moves between lanes by way of it.

use crate::common::memory::{share, Shared, ADDRESS, DATA, RESULT};
use crate::common::CODE;
use gfx942::wave::{Outcome, Wave, LANES};

fn byte(at: u32) -> u8 {
    (at * 3) as u8
}

fn dword(at: u32) -> u32 {
    u32::from_le_bytes([0, 1, 2, 3].map(|of| byte(at + of)))
}

/// The four registers of a lane's result after a read.
fn read(name: &str, offset: u32, address: u32) -> [u32; 4] {
    let mut memory = Shared::new(2048);
    let mut wave = Wave::new(0);
    wave.set_exec(1 << 20);
    wave.set_vector(ADDRESS as u8, 20, address);
    for register in RESULT..RESULT + 4 {
        wave.set_vector(register as u8, 20, 0xaaaa_5555);
    }
    memory.done(&mut wave, &share(name, offset, [ADDRESS, 0, 0, RESULT]));
    [0, 1, 2, 3].map(|at| wave.vector((RESULT + at) as u8, 20))
}

#[test]
fn reads_bring_all_widths() {
    assert_eq!(read("ds_read_u8", 3, 40)[0], byte(43).into());
    assert_eq!(read("ds_read_i8", 20, 40)[0], byte(60) as i8 as u32);
    assert_eq!(read("ds_read_u16", 2, 60)[0], dword(62) & 0xffff);
    assert_eq!(read("ds_read_i16", 2, 60)[0], dword(62) as i16 as u32);
    assert_eq!(
        read("ds_read_u8_d16_hi", 2, 60)[0],
        0x5555 | (u32::from(byte(62)) << 16)
    );
    assert_eq!(
        read("ds_read_u16_d16", 2, 60)[0],
        0xaaaa_0000 | dword(62) & 0xffff
    );
    assert_eq!(
        read("ds_read_u8_d16", 2, 60)[0],
        0xaaaa_0000 | u32::from(byte(62))
    );
    // This byte is below zero.
    let negative = byte(60) as i8 as u16;
    assert!(negative > 0xff00);
    assert_eq!(
        read("ds_read_i8_d16", 20, 40)[0],
        0xaaaa_0000 | u32::from(negative)
    );
    assert_eq!(
        read("ds_read_i8_d16_hi", 20, 40)[0],
        0x5555 | (u32::from(negative) << 16)
    );
    assert_eq!(
        read("ds_read_u16_d16_hi", 2, 60)[0],
        0x5555 | (dword(62) << 16)
    );
    let four = [0, 4, 8, 12].map(|at| dword(100 + at));
    for (name, count) in [
        ("ds_read_b32", 1),
        ("ds_read_b64", 2),
        ("ds_read_b96", 3),
        ("ds_read_b128", 4),
    ] {
        let mut expected = [0xaaaa_5555; 4];
        expected[..count].copy_from_slice(&four[..count]);
        assert_eq!(read(name, 40, 60), expected, "{name}");
    }
    // What is not there is zero.
    assert_eq!(read("ds_read_b32", 40, 4000)[0], 0);
}

#[test]
fn two_offsets_count_what_is_read() {
    let both = |first: u32, second: u32| first | (second << 8);
    let old = 0xaaaa_5555;
    let found = read("ds_read2_b32", both(3, 7), 16);
    assert_eq!(found, [dword(16 + 12), dword(16 + 28), old, old]);
    let found = read("ds_read2st64_b32", both(1, 2), 16);
    assert_eq!(found, [dword(16 + 256), dword(16 + 512), old, old]);
    let found = read("ds_read2_b64", both(3, 7), 16);
    assert_eq!(found, [40, 44, 72, 76].map(dword));
    let found = read("ds_read2st64_b64", both(1, 2), 16);
    assert_eq!(found, [528, 532, 1040, 1044].map(dword));
}

#[test]
fn writes_put_all_widths_and_nothing_beside_them() {
    let data = [0x1122_3344_u32, 0x5566_7788, 0x99aa_bbcc, 0xddee_ff00];
    let run = |name: &str, offset: u32, second: u32| {
        let mut memory = Shared::new(2048);
        let mut wave = Wave::new(0);
        wave.set_exec(1 << 20);
        wave.set_vector(ADDRESS as u8, 20, 16);
        for (register, value) in (DATA..).zip(data) {
            wave.set_vector(register as u8, 20, value);
        }
        memory.done(&mut wave, &share(name, offset, [ADDRESS, DATA, second, 0]));
        memory.share
    };
    let bytes: Vec<u8> = data.iter().flat_map(|value| value.to_le_bytes()).collect();
    let upper = &bytes[2..4];
    let cases = [
        ("ds_write_b8", &bytes[..1]),
        ("ds_write_b8_d16_hi", &upper[..1]),
        ("ds_write_b16", &bytes[..2]),
        ("ds_write_b16_d16_hi", upper),
        ("ds_write_b32", &bytes[..4]),
        ("ds_write_b64", &bytes[..8]),
        ("ds_write_b96", &bytes[..12]),
        ("ds_write_b128", &bytes[..16]),
    ];
    for (name, written) in cases {
        let mut expected = Shared::new(2048).share;
        expected[21..21 + written.len()].copy_from_slice(written);
        assert_eq!(run(name, 5, 0), expected, "{name}");
    }
    for (name, width, step) in [
        ("ds_write2_b32", 4, 4),
        ("ds_write2st64_b32", 4, 256),
        ("ds_write2_b64", 8, 8),
        ("ds_write2st64_b64", 8, 512),
    ] {
        let mut expected = Shared::new(2048).share;
        for (at, from) in [(1, 0), (3, 8)] {
            let place = 16 + at * step;
            if place + width <= expected.len() {
                expected[place..place + width].copy_from_slice(&bytes[from..from + width]);
            }
        }
        assert_eq!(run(name, 1 | (3 << 8), DATA + 2), expected, "{name}");
    }
}

#[test]
fn places_are_exchanged_in_pairs() {
    for (name, dwords, step) in [
        ("ds_wrxchg2_rtn_b32", 1, 4),
        ("ds_wrxchg2st64_rtn_b32", 1, 256),
        ("ds_wrxchg2_rtn_b64", 2, 8),
        ("ds_wrxchg2st64_rtn_b64", 2, 512),
    ] {
        let mut memory = Shared::new(4096);
        let mut wave = Wave::new(0);
        wave.set_exec(1);
        wave.set_vector(ADDRESS as u8, 0, 8);
        // The result takes the registers of its sources.
        for at in 0..4 {
            wave.set_vector(RESULT as u8 + at, 0, 0x1111 * (u32::from(at) + 1));
        }
        let second = RESULT + dwords;
        memory.done(
            &mut wave,
            &share(name, 1 | (4 << 8), [ADDRESS, RESULT, second, RESULT]),
        );
        for (of, place) in [(0, 8 + step), (1, 8 + 4 * step)] {
            for at in 0..dwords {
                let register = RESULT + of * dwords + at;
                let place = place + 4 * at;
                assert_eq!(wave.vector(register as u8, 0), dword(place), "{name}");
                let written = 0x1111 * (of * dwords + at + 1);
                assert_eq!(memory.number_in_share(place as usize), written, "{name}");
            }
        }
    }
}

/// What each lane gets of the others' numbers, which are their own with a mark.
fn crossed(name: &str, offset: u32, exec: u64, address: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut wave = Wave::new(0);
    for lane in 0..LANES {
        wave.set_vector(ADDRESS as u8, lane, address(lane as u32));
        wave.set_vector(DATA as u8, lane, 0x100 + lane as u32);
        wave.set_vector(RESULT as u8, lane, 0xffff);
    }
    wave.set_exec(exec);
    let data = if name == "ds_swizzle_b32" { 0 } else { DATA };
    let code = share(name, offset, [ADDRESS, data, 0, RESULT]);
    Shared::new(0).done(&mut wave, &code);
    (0..LANES)
        .map(|lane| wave.vector(RESULT as u8, lane))
        .collect()
}

#[test]
fn lanes_take_and_bring_numbers() {
    let turned = crossed("ds_bpermute_b32", 4, u64::MAX, |lane| lane * 4 * 5);
    for (lane, found) in (0..64_u32).zip(turned) {
        assert_eq!(found, 0x100 + (lane * 5 + 1) % 64);
    }
    let brought = crossed("ds_permute_b32", 0, u64::MAX, |lane| (lane + 3) * 4);
    for (lane, found) in (0..64_u32).zip(brought) {
        assert_eq!(found, 0x100 + (lane + 61) % 64);
    }
    // Lanes that are not active give zero, and get nothing.
    let halved = crossed("ds_bpermute_b32", 0, 0xffff_ffff, |lane| (lane ^ 33) * 4);
    assert!(halved.iter().take(32).all(|found| *found == 0));
    assert!(halved.iter().skip(32).all(|found| *found == 0xffff));
}

#[test]
fn patterns_say_from_where_lanes_take() {
    // Within four lanes: two bits for each.
    let within = crossed("ds_swizzle_b32", 0x8000 | 0b00_01_10_11, u64::MAX, |lane| {
        lane
    });
    for (lane, found) in (0..64_u32).zip(within) {
        assert_eq!(found, lane / 4 * 4 + 3 - lane % 4);
    }
    // Within 32 lanes: what is kept, set and turned round of the number.
    let (and, or, xor) = (0x1e, 0x04, 0x10);
    let mask = and | (or << 5) | (xor << 10);
    let found = crossed("ds_swizzle_b32", mask, u64::MAX, |lane| lane);
    for (lane, found) in (0..64_u32).zip(found) {
        assert_eq!(found, lane / 32 * 32 + (((lane % 32) & and | or) ^ xor));
    }
}

#[test]
fn patterns_turn_lanes_round_and_their_numbers() {
    let found = |pattern| crossed("ds_swizzle_b32", pattern, u64::MAX, |lane| lane + 0x100);
    // Lists of AMD's description, which counts lanes from one on.
    let described: [(u32, [u32; 6]); 6] = [
        (0xe000, [0x1, 0x11, 0x9, 0x19, 0x5, 0x15]),
        (0xe010, [0x1, 0x9, 0x5, 0xd, 0x3, 0xb]),
        (0xe01f, [1, 2, 3, 4, 5, 6]),
        (0xc000 | (1 << 5), [2, 3, 4, 5, 6, 7]),
        (0xc401 | (1 << 5), [0x1f, 2, 1, 4, 3, 6]),
        (0xc001 | (1 << 5), [1, 4, 3, 6, 5, 8]),
    ];
    for (pattern, first) in described {
        let found = found(pattern);
        for (lane, from) in first.into_iter().enumerate() {
            assert_eq!(found[lane], 0x100 + from - 1, "{pattern:x} {lane}");
            assert_eq!(found[lane + 32], 0x120 + from - 1, "{pattern:x} {lane}");
        }
    }
    assert_eq!(found(0xc000 | (1 << 5))[31], 0x100);
    assert_eq!(found(0xc400 | (1 << 5))[0], 0x11f);
    assert_eq!(found(0xe010)[16], 0x110);
    // Lanes that are not active give zero.
    let halved = crossed("ds_swizzle_b32", 0xc000 | (2 << 5), 0xffff, |lane| {
        lane + 0x100
    });
    assert_eq!(halved[13..16], [0x10f, 0, 0]);
}

#[test]
fn an_offset_brings_an_address_below_zero_above_it() {
    let below = 4_u32.wrapping_neg();
    assert_eq!(read("ds_read_b32", 12, below)[0], dword(8));
    assert_eq!(
        read("ds_read2_b32", 2 | (3 << 8), below)[..2],
        [dword(4), dword(8)]
    );
    assert_eq!(read("ds_read_b32", 0, below)[0], 0);
}

#[test]
fn lanes_are_counted_up_and_down_at_once() {
    for (name, expected) in [("ds_append", 103), ("ds_consume", 97)] {
        let mut memory = Shared::new(64);
        memory.share[20..24].copy_from_slice(&100_u32.to_le_bytes());
        let mut wave = Wave::new(0);
        wave.set_m0(0xffff_0008);
        wave.set_exec(0b1011 << 20);
        memory.done(&mut wave, &share(name, 12, [0, 0, 0, RESULT]));
        assert_eq!(memory.number_in_share(20), expected, "{name}");
        let found = [20, 21, 22, 23].map(|lane| wave.vector(RESULT as u8, lane));
        assert_eq!(found, [100, 100, 0, 100], "{name}");
        // Nobody is counted.
        wave.set_exec(0);
        memory.done(&mut wave, &share(name, 12, [0, 0, 0, RESULT]));
        assert_eq!(memory.number_in_share(20), expected, "{name}");
    }
}

/// GWS, which a bit behind the offset says.
fn counted(name: &str, offset: u32) -> Vec<u32> {
    let has_number = matches!(name, "ds_gws_init" | "ds_gws_sema_br");
    let address = if has_number { ADDRESS } else { 0 };
    share(name, offset | (1 << 16), [address, 0, 0, 0])
}

#[test]
fn waves_take_and_give_from_counters() {
    let mut memory = Shared::new(0);
    memory.counters = vec![0; 64];
    let mut wave = Wave::new(0);
    // The first active lane says how many.
    wave.set_exec(0b1100);
    for (lane, value) in [(1, 7), (2, 2), (3, 9)] {
        wave.set_vector(ADDRESS as u8, lane, value);
    }
    wave.set_m0(60 << 16);
    memory.done(&mut wave, &counted("ds_gws_init", 5));
    let mut expected = vec![0; 64];
    // 65, modulo 64.
    expected[1] = 2;
    assert_eq!(memory.counters, expected);
    let take = counted("ds_gws_sema_p", 5);
    memory.done(&mut wave, &take);
    memory.done(&mut wave, &take);
    assert_eq!(memory.counters[1], 0);
    // It stays at the instruction until another wave has given.
    assert_eq!(memory.step(&mut wave, &take), Outcome::Counter);
    assert_eq!((wave.pc, memory.counters[1]), (CODE, 0));
    let mut other = Wave::new(0);
    memory.done(&mut other, &counted("ds_gws_sema_v", 1));
    assert_eq!(memory.counters[1], 1);
    assert_eq!(memory.step(&mut wave, &take), Outcome::Next);
    memory.done(&mut wave, &counted("ds_gws_sema_br", 5));
    assert_eq!(memory.counters[1], 2);
    // Without an active lane there is no number.
    wave.set_exec(0);
    memory.done(&mut wave, &counted("ds_gws_sema_br", 5));
    memory.done(&mut wave, &counted("ds_gws_init", 5));
    assert_eq!(memory.counters[1], 2);
    // Nor is there a counter everywhere.
    memory.counters.clear();
    let outcome = memory.step(&mut wave, &take);
    assert!(matches!(outcome, Outcome::Illegal { .. }));
    assert_eq!(wave.pc, CODE);
}
