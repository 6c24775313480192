// SPDX-License-Identifier: GPL-2.0-only
//! Buffers: every load, store and atomic does to the bytes of a buffer what its fellow
//! does to those of an address; and scalar accesses through descriptors.

use crate::atomics::{cut, BOUNDARIES, RULES};
use crate::common::memory::{buffer, set_whole, whole, Shared, ADDRESS, DATA};
use crate::common::smem;
use crate::memory::{byte, described, memory, EVERY, LOADS, OLD, PLACE};
use gfx942::wave::{Wave, LANES};

/// Behind the scalar offset, which `described` sets.
const SCALAR: u64 = 4;
/// Bit 14: an atomic hands back what there was.
const RETURNS: u32 = 1 << 14;

/// A wave whose lanes have offsets far enough from each other, and their old registers.
fn wave() -> Wave {
    let mut wave = Wave::new(0);
    described(&mut wave, 0, LANES as u32 * EVERY as u32 + 64, 0);
    for lane in 0..LANES {
        wave.set_vector(ADDRESS as u8, lane, lane as u32 * EVERY as u32);
        for register in DATA..DATA + 4 {
            wave.set_vector(register as u8, lane, OLD);
        }
    }
    wave
}

#[test]
fn loads_bring_what_is_at_each_lanes_offset() {
    let mut memory = memory();
    for (name, made) in LOADS {
        let mut wave = wave();
        wave.set_exec(!4);
        let name = name.replace("flat", "buffer");
        memory.done(&mut wave, &buffer(&name, 3, true, false));
        for lane in 0..LANES {
            let at = lane as u64 * EVERY + 3 + SCALAR;
            let mut expected = if lane == 2 { Vec::new() } else { made(at) };
            expected.resize(4, OLD);
            let found = [0, 1, 2, 3].map(|of| wave.vector(DATA as u8 + of, lane));
            assert_eq!(found.to_vec(), expected, "{name} {lane}");
        }
    }
}

#[test]
fn stores_put_data_at_each_lanes_offset_and_nothing_beside_it() {
    for (name, bytes, upper) in [
        ("buffer_store_byte", 1, false),
        ("buffer_store_byte_d16_hi", 1, true),
        ("buffer_store_short", 2, false),
        ("buffer_store_short_d16_hi", 2, true),
        ("buffer_store_dword", 4, false),
        ("buffer_store_dwordx2", 8, false),
        ("buffer_store_dwordx3", 12, false),
        ("buffer_store_dwordx4", 16, false),
    ] {
        let mut memory = memory();
        let mut wave = wave();
        let data =
            |lane: usize, at: u8| 0x0102_0304_u32.wrapping_mul(u32::from(at) + 3) ^ lane as u32;
        for lane in 0..LANES {
            for at in 0..4 {
                wave.set_vector(DATA as u8 + at, lane, data(lane, at));
            }
        }
        memory.done(&mut wave, &buffer(name, 8, true, false));
        for lane in 0..LANES {
            let words = (0..4).map(|at| data(lane, at) >> if upper { 16 } else { 0 });
            let written: Vec<u8> = words.flat_map(u32::to_le_bytes).take(bytes).collect();
            for at in 0..EVERY {
                let place = lane as u64 * EVERY + at;
                let within = at.checked_sub(8 + SCALAR).map(|at| at as usize);
                let own = within.and_then(|at| written.get(at)).copied();
                let found = memory.number(PLACE + place, 1);
                assert_eq!(
                    found,
                    own.unwrap_or(byte(place)).into(),
                    "{name} {lane} {at}"
                );
            }
        }
    }
}

fn atomic(name: &str, returns: bool) -> Vec<u32> {
    let mut code = buffer(&format!("buffer_atomic_{name}"), 0, true, false);
    code[0] |= if returns { RETURNS } else { 0 };
    code
}

/// What an atomic leaves in memory, and in the register of its data.
fn changed(code: &[u32], old: u64, data: [u64; 2], bits: u32) -> (u64, u64) {
    let mut memory = Shared::new(0);
    memory.fill(PLACE, [0xcc; 32]);
    memory.fill(PLACE + 8, old.to_le_bytes());
    let mut wave = Wave::new(0);
    wave.set_exec(8);
    described(&mut wave, 0, 32, 0);
    wave.set_vector(ADDRESS as u8, 3, 4);
    set_whole(&mut wave, DATA, 3, data[0]);
    if bits == 64 || data[1] != 0 {
        set_whole(&mut wave, DATA + bits / 32, 3, data[1]);
    }
    memory.done(&mut wave, code);
    (
        cut(memory.number(PLACE + 8, 8), bits),
        cut(whole(&wave, DATA, 3), bits),
    )
}

#[test]
fn atomics_change_what_is_at_an_offset() {
    for (name, _, rule) in RULES.into_iter().filter(|rule| !rule.0.is_empty()) {
        for (suffix, bits) in [("", 32), ("_x2", 64)] {
            let name = format!("{name}{suffix}");
            for returns in [false, true] {
                let code = atomic(&name, returns);
                for old in BOUNDARIES.map(|value| cut(value, bits)) {
                    for data in BOUNDARIES.map(|value| cut(value, bits)) {
                        let (found, back) = changed(&code, old, [data, 0], bits);
                        let expected = cut(rule(old, data, bits), bits);
                        assert_eq!(found, expected, "{name} {old:x} {data:x}");
                        assert_eq!(back, if returns { old } else { data }, "{name}");
                    }
                }
            }
        }
    }
    for (name, bits) in [("cmpswap", 32), ("cmpswap_x2", 64)] {
        // What is written stands before what is compared with.
        let code = atomic(name, true);
        assert_eq!(changed(&code, 5, [9, 5], bits), (9, 5));
        assert_eq!(changed(&code, 6, [9, 5], bits), (6, 6));
    }
}

#[test]
fn atomics_of_floating_point_add_and_compare() {
    let single = |number: f32| u64::from(number.to_bits());
    let changed = |name, old, data, bits| changed(&atomic(name, false), old, [data, 0], bits).0;
    for (old, data) in [(1.5_f32, 2.25_f32), (0.1, 0.2), (-1e30, 1e10)] {
        let found = changed("add_f32", single(old), single(data), 32);
        assert_eq!(found, single(old + data));
    }
    for (old, data) in [(1.5_f64, 2.25_f64), (0.1, 0.2), (-1e300, 1e10)] {
        let run = |name| f64::from_bits(changed(name, old.to_bits(), data.to_bits(), 64));
        assert_eq!(run("add_f64"), old + data);
        assert_eq!(run("min_f64"), old.min(data));
        assert_eq!(run("max_f64"), old.max(data));
    }
    // One and two to two and two, as halves.
    let found = changed("pk_add_f16", 0x3c00_4000, 0x4000_4000, 32);
    assert_eq!(found, 0x4200_4400);
}

#[test]
fn scalar_accesses_go_through_descriptors() {
    for (count, suffix) in [(1, ""), (2, "x2"), (4, "x4"), (8, "x8"), (16, "x16")] {
        let mut memory = memory();
        let mut wave = wave();
        described(&mut wave, 0, 64, 0);
        let name = format!("s_buffer_load_dword{suffix}");
        memory.done(&mut wave, &smem(&name, 40, 16, 16));
        for at in 0..16_u64 {
            let own = at < count;
            let bytes = [0, 1, 2, 3].map(|of| byte(16 + 4 * at + of));
            let inside = 16 + 4 * at + 4 <= 64;
            let expected = if inside { u32::from_le_bytes(bytes) } else { 0 };
            let expected = if own { expected } else { 0 };
            assert_eq!(wave.scalar(40 + at as u8), expected, "{name} {at}");
        }
        if count > 4 {
            continue;
        }
        for at in 0..4 {
            wave.set_scalar(40 + at, 0x1111_1111 * (u32::from(at) + 1));
        }
        // Of four dwords the last is beyond the end, and lost.
        let name = format!("s_buffer_store_dword{suffix}");
        memory.done(&mut wave, &smem(&name, 40, 16, 52));
        for at in 0..4 {
            let place = PLACE + 52 + 4 * at;
            let bytes = [0, 1, 2, 3].map(|of| byte(52 + 4 * at + of));
            let expected = match at < count.min(3) {
                true => 0x1111_1111 * (at as u32 + 1),
                false => u32::from_le_bytes(bytes),
            };
            assert_eq!(memory.number(place, 4), expected.into(), "{name} {at}");
        }
    }
}
