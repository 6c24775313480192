// SPDX-License-Identifier: GPL-2.0-only
//! Atomic instructions: what they leave in memory, what they hand back, and that lanes
//! of the same address come one after another.

use crate::common::memory::{
    flat, set_whole, share, whole, Shared, ADDRESS, DATA, GLOBAL, OFF, RESULT,
};
use gfx942::wave::{Wave, LANES};

const PLACE: u64 = 0x9_0000_0000;
pub const BOUNDARIES: [u64; 9] = [
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

pub type Rule = fn(u64, u64, u32) -> u64;

/// A number of 32 or 64 bits as one with a sign.
fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

/// The names for memory and for the local share, and what becomes of old and data.
pub const RULES: [(&str, &str, Rule); 13] = [
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

pub fn cut(value: u64, bits: u32) -> u64 {
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
        for (bits, returns) in [(32, true), (32, false), (64, true), (64, false)] {
            let (stem, kind) = name.split_once('_').unwrap();
            // Who exchanges without wanting the old value writes.
            if stem == "wrxchg" && !returns {
                continue;
            }
            let old_value = if returns { "_rtn" } else { "" };
            let name = format!("ds_{stem}{old_value}_{kind}{bits}");
            let to = if returns { RESULT } else { 0 };
            let code = share(&name, 8, [ADDRESS, DATA, 0, to]);
            for old in BOUNDARIES.map(|value| cut(value, bits)) {
                for data in BOUNDARIES.map(|value| cut(value, bits)) {
                    let mut memory = Shared::new(32);
                    memory.share[16..24].copy_from_slice(&old.to_le_bytes());
                    let mut wave = Wave::new(0);
                    wave.set_exec(8);
                    wave.set_vector(ADDRESS as u8, 3, 8);
                    set_whole(&mut wave, DATA, 3, data);
                    set_whole(&mut wave, RESULT, 3, 0x77);
                    memory.done(&mut wave, &code);
                    let found = u64::from_le_bytes(memory.share[16..24].try_into().unwrap());
                    let expected = cut(rule(old, data, bits), bits);
                    assert_eq!(cut(found, bits), expected, "{name} {old:x} {data:x}");
                    let back = if returns { old } else { 0x77 };
                    assert_eq!(cut(whole(&wave, RESULT, 3), bits), back, "{name}");
                }
            }
        }
    }
}

/// What an instruction of the local share with two numbers leaves there; the old value,
/// where it is wanted, must be what there was.
fn shared(stem: &str, kind: &str, old: u64, data: [u64; 2]) -> u64 {
    let bits = if kind.ends_with("64") { 64 } else { 32 };
    let mut left = Vec::new();
    for (rtn, to) in [("_rtn", RESULT), ("", 0)] {
        let two = stem == "cmpst" || stem == "mskor";
        let second = if two { DATA + 2 } else { 0 };
        let code = share(
            &format!("ds_{stem}{rtn}_{kind}"),
            4,
            [ADDRESS, DATA, second, to],
        );
        let mut memory = Shared::new(16);
        memory.share[8..].copy_from_slice(&old.to_le_bytes());
        let mut wave = Wave::new(0);
        wave.set_exec(2);
        wave.set_vector(ADDRESS as u8, 1, 4);
        set_whole(&mut wave, DATA, 1, data[0]);
        set_whole(&mut wave, DATA + 2, 1, data[1]);
        memory.done(&mut wave, &code);
        if !rtn.is_empty() {
            assert_eq!(cut(whole(&wave, RESULT, 1), bits), cut(old, bits), "{stem}");
        }
        let found = u64::from_le_bytes(memory.share[8..].try_into().unwrap());
        left.push(cut(found, bits));
    }
    assert_eq!(left[0], left[1], "{stem}_{kind}");
    left[0]
}

#[test]
fn bits_are_replaced_and_comparisons_decide_in_the_local_share() {
    for kind in ["b32", "b64"] {
        // Where the first number has bits those of the second come.
        assert_eq!(
            shared("mskor", kind, 0x1234_5678, [0xff00, 0xab00]),
            0x1234_ab78
        );
        // What is compared with stands before what is written.
        assert_eq!(shared("cmpst", kind, 5, [5, 9]), 9);
        assert_eq!(shared("cmpst", kind, 6, [5, 9]), 6);
    }
    let upper = 1 << 40;
    assert_eq!(shared("mskor", "b64", upper, [upper, 7 * upper]), 7 * upper);
    assert_eq!(shared("cmpst", "b64", upper | 5, [5, 9]), upper | 5);
    // As floating point both zeros are equal, and what is no number is equal to nothing.
    let single = |number: f32| u64::from(number.to_bits());
    let (nan, nine) = (single(f32::NAN), single(9.0));
    assert_eq!(shared("cmpst", "f32", single(-0.0), [0, nine]), nine);
    assert_eq!(
        shared("cmpst", "f32", single(1.0), [single(1.0), nine]),
        nine
    );
    assert_eq!(
        shared("cmpst", "f32", single(2.0), [single(1.0), nine]),
        single(2.0)
    );
    assert_eq!(shared("cmpst", "f32", nan, [nan, nine]), nan);
    let double = f64::to_bits;
    assert_eq!(
        shared("cmpst", "f64", double(-0.0), [0, double(9.0)]),
        double(9.0)
    );
    assert_eq!(
        shared("cmpst", "f64", double(2.0), [double(1.0), 7]),
        double(2.0)
    );
    let nan = double(f64::NAN);
    assert_eq!(shared("cmpst", "f64", nan, [nan, 7]), nan);
}

#[test]
fn floating_point_is_added_and_compared_in_the_local_share() {
    let single = |number: f32| u64::from(number.to_bits());
    for (old, data) in [(1.5_f32, 2.25_f32), (0.1, 0.2), (-1e30, 1e10), (3.0, -3.5)] {
        let run = |stem| shared(stem, "f32", single(old), [single(data), 0]);
        assert_eq!(run("add"), single(old + data));
        assert_eq!(run("min"), single(old.min(data)));
        assert_eq!(run("max"), single(old.max(data)));
    }
    for (old, data) in [(1.5_f64, 2.25_f64), (0.1, 0.2), (-1e300, 1e10), (3.0, -3.5)] {
        let run = |stem| f64::from_bits(shared(stem, "f64", old.to_bits(), [data.to_bits(), 0]));
        assert_eq!(run("add"), old + data);
        assert_eq!(run("min"), old.min(data));
        assert_eq!(run("max"), old.max(data));
    }
    // One and two to two and two, as halves; then as the upper halves of singles.
    let found = shared("pk_add", "f16", 0x3c00_4000, [0x4000_4000, 0]);
    assert_eq!(found, 0x4200_4400);
    let found = shared("pk_add", "bf16", 0x3f80_4000, [0x4000_4000, 0]);
    assert_eq!(found, 0x4040_4080);
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
