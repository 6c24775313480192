// SPDX-License-Identifier: GPL-2.0-only
//! The forms of short instructions that take parts of registers, or other lanes'
//! registers, and vector registers by an index.

use crate::common::{done, named, sop1, sopc, sopp, vop1};
use gfx942::code::decode;
use gfx942::wave::{Wave, LANES};

const FIRST: u32 = 4;
const SECOND: u32 = 5;
const RESULT: u32 = 9;
const OLD: u32 = 0x1234_5678;

/// Selectors: bytes, words, all.
const SELECTORS: [u32; 7] = [0, 1, 2, 3, 4, 5, 6];

fn part(value: u32, selector: u32) -> (u32, u32, u32) {
    let (at, bits) = match selector {
        0..=3 => (8 * selector, 8),
        4 | 5 => (16 * (selector - 4), 16),
        _ => (0, 32),
    };
    let mask = if bits == 32 {
        u32::MAX
    } else {
        (1 << bits) - 1
    };
    ((value >> at) & mask, at, bits)
}

fn extended(value: u32, bits: u32) -> u32 {
    ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
}

#[test]
fn a_byte_of_eight_bits_becomes_a_whole_single() {
    let code = |name: &str, part: u32, to: u32| {
        named(name, |number| {
            vec![
                (0x3f << 25) | (RESULT << 17) | ((number & 0xff) << 9) | 0xf9,
                (part << 16) | (to << 8) | FIRST,
            ]
        })
    };
    let mut wave = Wave::new(0);
    // One, two, minus one half and what is no number.
    wave.set_vector(FIRST as u8, 0, 0x80b8_4840);
    let expected = [1.0, 2.0, -0.5].map(f32::to_bits);
    for (at, expected) in (0..).zip(expected) {
        // What becomes of the rest of the register is said to no end.
        for unused in 0..4 {
            wave.set_vector(RESULT as u8, 0, OLD);
            done(&mut wave, &code("v_cvt_f32_fp8", at, 6 | (unused << 3)));
            assert_eq!(wave.vector(RESULT as u8, 0), expected, "{at}");
        }
    }
    done(&mut wave, &code("v_cvt_f32_fp8", 3, 6));
    assert!(f32::from_bits(wave.vector(RESULT as u8, 0)).is_nan());
    let bytes: Vec<u8> = code("v_cvt_f32_fp8", 2, 6)
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let text = decode(&bytes).unwrap().to_string();
    assert_eq!(text, "v_cvt_f32_fp8_sdwa v9, v4 src0_sel:BYTE_2");
    // The second word.
    done(&mut wave, &code("v_cvt_pk_f32_fp8", 5, 6));
    assert_eq!(wave.vector(RESULT as u8, 0), (-0.5_f32).to_bits());
    assert!(f32::from_bits(wave.vector(RESULT as u8 + 1, 0)).is_nan());
}

#[test]
fn parts_of_registers_are_taken_and_written() {
    let (a, b) = (0x89ab_cdef_u32, 0x7654_f2e1_u32);
    for first in SELECTORS {
        for second in SELECTORS {
            for to in SELECTORS {
                for unused in 0..3 {
                    for signs in 0..4 {
                        let code = named("v_add_u32", |number| {
                            let selectors =
                                (second << 24) | (first << 16) | (unused << 11) | (to << 8);
                            let extend = ((signs & 1) << 19) | ((signs >> 1) << 27);
                            vec![
                                ((number & 0x3f) << 25) | (RESULT << 17) | (SECOND << 9) | 0xf9,
                                selectors | extend | FIRST,
                            ]
                        });
                        let mut wave = Wave::new(0);
                        wave.set_exec(2);
                        wave.set_vector(FIRST as u8, 1, a);
                        wave.set_vector(SECOND as u8, 1, b);
                        wave.set_vector(RESULT as u8, 1, OLD);
                        done(&mut wave, &code);
                        let source = |value, selector, extend| {
                            let (value, _, bits) = part(value, selector);
                            if extend {
                                extended(value, bits)
                            } else {
                                value
                            }
                        };
                        let left = source(a, first, signs & 1 != 0);
                        let sum = left.wrapping_add(source(b, second, signs & 2 != 0));
                        let (_, at, bits) = part(0, to);
                        let written = part(
                            sum,
                            if bits == 8 {
                                0
                            } else if bits == 16 {
                                4
                            } else {
                                6
                            },
                        )
                        .0;
                        let mask = u32::MAX >> (32 - bits) << at;
                        let expected = match unused {
                            _ if bits == 32 => sum,
                            0 => written << at,
                            1 => extended(written, bits) << at,
                            _ => OLD & !mask | (written << at),
                        };
                        let found = wave.vector(RESULT as u8, 1);
                        assert_eq!(found, expected, "{first} {second} {to} {unused} {signs}");
                    }
                }
            }
        }
    }
}

/// A move with this control, and with these rows and banks.
fn moved(control: u32, rows: u32, banks: u32, zero: bool, exec: u64) -> Vec<u32> {
    let code = named("v_mov_b32", |number| {
        vec![
            (0x3f << 25) | (RESULT << 17) | ((number & 0xff) << 9) | 0xfa,
            (rows << 28) | (banks << 24) | (u32::from(zero) << 19) | (control << 8) | FIRST,
        ]
    });
    let mut wave = Wave::new(0);
    for lane in 0..LANES {
        wave.set_vector(FIRST as u8, lane, 100 + lane as u32);
        wave.set_vector(RESULT as u8, lane, OLD);
    }
    wave.set_exec(exec);
    done(&mut wave, &code);
    (0..LANES)
        .map(|lane| wave.vector(RESULT as u8, lane))
        .collect()
}

#[test]
fn lanes_take_the_numbers_of_others() {
    type From = fn(i32) -> Option<i32>;
    let in_row = |lane: i32, at: i32| (at / 16 == lane / 16 && at >= 0).then_some(at);
    let _ = in_row;
    let cases: [(u32, From); 16] = [
        (0b00_01_10_11, |lane| Some(lane / 4 * 4 + 3 - lane % 4)),
        (0b01_01_01_01, |lane| Some(lane / 4 * 4 + 1)),
        (0x101, |lane| (lane % 16 < 15).then_some(lane + 1)),
        (0x10f, |lane| (lane % 16 < 1).then_some(lane + 15)),
        (0x111, |lane| (lane % 16 >= 1).then_some(lane - 1)),
        (0x118, |lane| (lane % 16 >= 8).then_some(lane - 8)),
        (0x123, |lane| Some(lane / 16 * 16 + (lane + 13) % 16)),
        (0x130, |lane| (lane < 63).then_some(lane + 1)),
        (0x134, |lane| Some((lane + 1) % 64)),
        (0x138, |lane| (lane > 0).then_some(lane - 1)),
        (0x13c, |lane| Some((lane + 63) % 64)),
        (0x140, |lane| Some(lane / 16 * 16 + 15 - lane % 16)),
        (0x141, |lane| Some(lane / 8 * 8 + 7 - lane % 8)),
        (0x142, |lane| (lane >= 16).then_some(lane / 16 * 16 - 1)),
        (0x143, |lane| (lane >= 32).then_some(31)),
        (0x155, |lane| Some(lane / 16 * 16 + 5)),
    ];
    for (control, from) in cases {
        for zero in [false, true] {
            let outside = if zero { 0 } else { OLD };
            let found = moved(control, 0xf, 0xf, zero, u64::MAX);
            for (lane, found) in (0..64).zip(found) {
                let expected = from(lane).map_or(outside, |at| 100 + at as u32);
                assert_eq!(found, expected, "{control:#x} lane {lane}");
            }
            // A lane that is not active gives nothing, and gets nothing.
            let found = moved(control, 0xf, 0xf, zero, !(1 << 17));
            for (lane, found) in (0..64).zip(found) {
                let expected = match from(lane) {
                    _ if lane == 17 => OLD,
                    Some(17) | None => outside,
                    Some(at) => 100 + at as u32,
                };
                assert_eq!(found, expected, "{control:#x} lane {lane}");
            }
        }
        let found = moved(control, 0b0101, 0b0011, true, u64::MAX);
        for (lane, found) in (0..64).zip(found) {
            let written = matches!(lane / 16, 0 | 2) && lane % 16 < 8;
            let expected = from(lane).map_or(0, |at| 100 + at as u32);
            assert_eq!(
                found,
                if written { expected } else { OLD },
                "{control:#x} {lane}"
            );
        }
    }
}

#[test]
fn sources_and_results_can_be_found_by_an_index() {
    let mut wave = Wave::new(0);
    for register in 0..20 {
        wave.set_vector(register, 0, 1000 + u32::from(register));
    }
    wave.set_exec(1);
    wave.set_scalar(10, 7);
    // The first source is moved, then the result is.
    done(&mut wave, &sopc("s_set_gpr_idx_on", 10, 1));
    done(&mut wave, &vop1("v_mov_b32", 2, 0x103));
    assert_eq!(wave.vector(2, 0), 1010);
    // The index alone, by eight bits.
    wave.set_scalar(11, 0x0505);
    let before = wave.m0();
    done(&mut wave, &sop1("s_set_gpr_idx_idx", 0, 11));
    assert_eq!(wave.m0(), before & !0xff | 5);
    wave.set_m0(before);
    done(&mut wave, &sopp("s_set_gpr_idx_mode", 8));
    done(&mut wave, &vop1("v_mov_b32", 2, 0x103));
    assert_eq!(wave.vector(9, 0), 1003);
    done(&mut wave, &sopp("s_set_gpr_idx_off", 0));
    done(&mut wave, &vop1("v_mov_b32", 2, 0x103));
    assert_eq!(wave.vector(2, 0), 1003);
}
