// SPDX-License-Identifier: GPL-2.0-only
//! Atomic instructions: what they leave in memory, what they hand back, and that lanes
//! of the same address come one after another.

mod common;

use common::memory::{flat, set_whole, share, whole, Shared, ADDRESS, DATA, GLOBAL, OFF, RESULT};
use gfx942::wave::{Wave, LANES};

const PLACE: u64 = 0x9_0000_0000;
const BOUNDARIES: [u64; 9] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

type Rule = fn(u64, u64, u32) -> u64;

/// A number of 32 or 64 bits as one with a sign.
fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

/// The names for memory and for the local share, and what becomes of old and data.
const RULES: [(&str, &str, Rule); 13] = [
    ("swap", "wrxchg_b", |_, data, _| data),
    ("add", "add_u", |old, data, _| old.wrapping_add(data)),
    ("sub", "sub_u", |old, data, _| old.wrapping_sub(data)),
    ("", "rsub_u", |old, data, _| data.wrapping_sub(old)),
    ("smin", "min_i", |old, data, bits| {
        signed(old, bits).min(signed(data, bits)) as u64
    }),
    ("smax", "max_i", |old, data, bits| {
        signed(old, bits).max(signed(data, bits)) as u64
    }),
    ("umin", "min_u", |old, data, _| old.min(data)),
    ("umax", "max_u", |old, data, _| old.max(data)),
    ("and", "and_b", |old, data, _| old & data),
    ("or", "or_b", |old, data, _| old | data),
    ("xor", "xor_b", |old, data, _| old ^ data),
    (
        "inc",
        "inc_u",
        |old, data, _| if old >= data { 0 } else { old + 1 },
    ),
    ("dec", "dec_u", |old, data, _| {
        if old == 0 || old > data {
            data
        } else {
            old - 1
        }
    }),
];

fn cut(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

#[test]
fn memory_is_changed_and_what_it_had_is_returned() {
    for (name, _, rule) in RULES.into_iter().filter(|rule| !rule.0.is_empty()) {
        for (suffix, bits) in [("", 32), ("_x2", 64)] {
            let name = format!("flat_atomic_{name}{suffix}");
            for old in BOUNDARIES.map(|value| cut(value, bits)) {
                for data in BOUNDARIES.map(|value| cut(value, bits)) {
                    for returns in [false, true] {
                        let mut memory = Shared::new(0);
                        memory.fill(PLACE, old.to_le_bytes());
                        let mut wave = Wave::new(0);
                        wave.set_exec(8);
                        set_whole(&mut wave, ADDRESS, 3, PLACE);
                        set_whole(&mut wave, DATA, 3, data);
                        set_whole(&mut wave, RESULT, 3, 0x77);
                        memory.done(&mut wave, &flat(&name, GLOBAL, OFF, 0, returns));
                        let expected = cut(rule(old, data, bits), bits);
                        let found = memory.number(PLACE, bits as usize / 8);
                        assert_eq!(found, expected, "{name} {old:x} {data:x}");
                        let back = if returns { old } else { 0x77 };
                        assert_eq!(cut(whole(&wave, RESULT, 3), bits), back, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_local_share_is_changed_likewise() {
    for (_, name, rule) in RULES {
        for bits in [32, 64] {
            let (stem, kind) = name.split_once('_').unwrap();
            let name = format!("ds_{stem}_rtn_{kind}{bits}");
            let code = share(&name, 8, [ADDRESS, DATA, 0, RESULT]);
            for old in BOUNDARIES.map(|value| cut(value, bits)) {
                for data in BOUNDARIES.map(|value| cut(value, bits)) {
                    let mut memory = Shared::new(32);
                    memory.share[16..24].copy_from_slice(&old.to_le_bytes());
                    let mut wave = Wave::new(0);
                    wave.set_exec(8);
                    wave.set_vector(ADDRESS as u8, 3, 8);
                    set_whole(&mut wave, DATA, 3, data);
                    memory.done(&mut wave, &code);
                    let found = u64::from_le_bytes(memory.share[16..24].try_into().unwrap());
                    let expected = cut(rule(old, data, bits), bits);
                    assert_eq!(cut(found, bits), expected, "{name} {old:x} {data:x}");
                    assert_eq!(cut(whole(&wave, RESULT, 3), bits), old);
                }
            }
        }
    }
}

#[test]
fn lanes_of_one_address_come_one_after_another() {
    let mut memory = Shared::new(0);
    memory.fill(PLACE, [0; 4]);
    let mut wave = Wave::new(0);
    for lane in 0..LANES {
        set_whole(&mut wave, ADDRESS, lane, PLACE);
        wave.set_vector(DATA as u8, lane, 1);
    }
    memory.done(&mut wave, &flat("flat_atomic_add", GLOBAL, OFF, 0, true));
    let mut found: Vec<u32> = (0..LANES)
        .map(|lane| wave.vector(RESULT as u8, lane))
        .collect();
    found.sort_unstable();
    assert_eq!(found, (0..64).collect::<Vec<u32>>());
    assert_eq!(memory.number(PLACE, 4), 64);
}

#[test]
fn a_comparison_decides_whether_memory_is_changed() {
    for (name, bits) in [("flat_atomic_cmpswap", 32), ("flat_atomic_cmpswap_x2", 64)] {
        for (old, expected) in [(5, 9), (6, 6)] {
            let mut memory = Shared::new(0);
            memory.fill(PLACE, u64::to_le_bytes(old));
            let mut wave = Wave::new(0);
            wave.set_exec(1);
            set_whole(&mut wave, ADDRESS, 0, PLACE);
            // What is written stands before what is compared with.
            set_whole(&mut wave, DATA, 0, 9);
            set_whole(&mut wave, DATA + bits / 32, 0, 5);
            memory.done(&mut wave, &flat(name, GLOBAL, OFF, 0, true));
            assert_eq!(memory.number(PLACE, 8), expected, "{name}");
            assert_eq!(wave.vector(RESULT as u8, 0), old as u32);
        }
    }
    // In the local share it is the other way round.
    for (old, expected) in [(5, 9), (6, 6)] {
        let mut memory = Shared::new(8);
        memory.share[..4].copy_from_slice(&u32::to_le_bytes(old));
        let mut wave = Wave::new(0);
        wave.set_exec(1);
        wave.set_vector(DATA as u8, 0, 5);
        wave.set_vector(DATA as u8 + 1, 0, 9);
        memory.done(
            &mut wave,
            &share("ds_cmpst_rtn_b32", 0, [ADDRESS, DATA, DATA + 1, RESULT]),
        );
        assert_eq!(memory.share[..4], u32::to_le_bytes(expected));
        assert_eq!(wave.vector(RESULT as u8, 0), old);
    }
}

#[test]
fn floating_point_is_added_and_compared_in_memory() {
    let run = |name: &str, old: u64, data: u64| {
        let mut memory = Shared::new(0);
        memory.fill(PLACE, old.to_le_bytes());
        let mut wave = Wave::new(0);
        wave.set_exec(1);
        set_whole(&mut wave, ADDRESS, 0, PLACE);
        set_whole(&mut wave, DATA, 0, data);
        memory.done(&mut wave, &flat(name, GLOBAL, OFF, 0, false));
        memory.number(PLACE, 8)
    };
    for (old, data) in [(1.5_f32, 2.25_f32), (0.1, 0.2), (-1e30, 1e10), (3.0, -3.0)] {
        let found = run(
            "flat_atomic_add_f32",
            old.to_bits().into(),
            data.to_bits().into(),
        );
        assert_eq!(found as u32, (old + data).to_bits());
    }
    for (old, data) in [(1.5_f64, 2.25_f64), (0.1, 0.2), (-1e300, 1e10), (3.0, -3.5)] {
        let run = |name| f64::from_bits(run(name, old.to_bits(), data.to_bits()));
        assert_eq!(run("flat_atomic_add_f64"), old + data);
        assert_eq!(run("flat_atomic_min_f64"), old.min(data));
        assert_eq!(run("flat_atomic_max_f64"), old.max(data));
    }
    // One and two, as halves; then as the upper halves of singles.
    assert_eq!(
        run("flat_atomic_pk_add_f16", 0x3c00_4000, 0x4000_4000) as u32,
        0x4200_4400
    );
    assert_eq!(
        run("flat_atomic_pk_add_bf16", 0x3f80_4000, 0x4000_4000) as u32,
        0x4040_4080
    );
}
