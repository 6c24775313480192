// SPDX-License-Identifier: GPL-2.0-only
//! Scalar logic, shifts, fields and counts, against definitions that look at one
//! bit after the other.

use crate::common::{done, sop1, sop2, sopc, BOUNDARIES};
use gfx942::wave::Wave;

/// Numbers of 64 bits at which operations change their behaviour.
fn boundaries_64() -> Vec<u64> {
    let halves = [0, 1, 0x8000_0000, 0xffff_ffff, 0x1234_5678];
    let pairs = halves
        .iter()
        .flat_map(|lower| halves.map(|upper| (upper << 32) | lower));
    pairs.collect()
}

fn bit(value: u64, at: u32) -> bool {
    at < 64 && value & (1 << at) != 0
}

/// The number whose bits below `bits` are as the function says.
fn made(bits: u32, of: impl Fn(u32) -> bool) -> u64 {
    (0..bits).filter(|at| of(*at)).map(|at| 1 << at).sum()
}

/// Executes an operation on two numbers, given where they are and how wide each is.
fn two(name: &str, widths: [u32; 3], first: u64, second: u64) -> (u64, bool) {
    let mut wave = Wave::new(0);
    wave.set_scalar_pair(4, first);
    wave.set_scalar_pair(6, second);
    wave.set_scalar_pair(8, 0xaaaa_aaaa_aaaa_aaaa);
    done(&mut wave, &sop2(name, 8, 4, 6));
    let result = wave.scalar_pair(8);
    if widths[0] == 32 {
        assert_eq!(result >> 32, 0xaaaa_aaaa, "{name} wrote too much");
        (result & 0xffff_ffff, wave.scc)
    } else {
        (result, wave.scc)
    }
}

fn one(name: &str, value: u64) -> (u64, bool) {
    let mut wave = Wave::new(0);
    wave.set_scalar_pair(4, value);
    done(&mut wave, &sop1(name, 8, 4));
    (wave.scalar_pair(8), wave.scc)
}

#[test]
fn logic_is_bit_by_bit_and_tells_whether_a_bit_is_set() {
    type Rule = fn(bool, bool) -> bool;
    let rules: [(&str, Rule); 8] = [
        ("and", |a, b| a && b),
        ("or", |a, b| a || b),
        ("xor", |a, b| a != b),
        ("andn2", |a, b| a && !b),
        ("orn2", |a, b| a || !b),
        ("nand", |a, b| !(a && b)),
        ("nor", |a, b| !(a || b)),
        ("xnor", |a, b| a == b),
    ];
    for (name, rule) in rules {
        for bits in [32, 64] {
            for first in boundaries_64() {
                for second in boundaries_64() {
                    let expected = made(bits, |at| rule(bit(first, at), bit(second, at)));
                    let result = two(&format!("s_{name}_b{bits}"), [bits; 3], first, second);
                    assert_eq!(
                        result,
                        (expected, expected != 0),
                        "{name} {first:#x} {second:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn shifts_take_as_many_bits_of_their_count_as_they_need() {
    for bits in [32, 64] {
        for value in boundaries_64() {
            for count in [0, 1, 31, 32, 33, 63, 64, 0xffff_ffff] {
                let by = count % u64::from(bits);
                let at = |at: u32, by: i64| u32::try_from(i64::from(at) + by).unwrap_or(64);
                let inside = |at: u32| at < bits && bit(value, at);
                let left = made(bits, |to| inside(at(to, -(by as i64))));
                let right = made(bits, |to| inside(at(to, by as i64)));
                let signed = made(bits, |to| bit(value, at(to, by as i64).min(bits - 1)));
                for (name, expected) in [
                    (format!("s_lshl_b{bits}"), left),
                    (format!("s_lshr_b{bits}"), right),
                    (format!("s_ashr_i{bits}"), signed),
                ] {
                    let result = two(&name, [bits, bits, 32], value, count);
                    assert_eq!(
                        result,
                        (expected, expected != 0),
                        "{name} {value:#x} {count}"
                    );
                }
            }
        }
    }
}

#[test]
fn fields_begin_and_end_where_their_second_number_says() {
    for bits in [32, 64] {
        for value in boundaries_64() {
            for from in [0, 1, 16, 31] {
                for width in [0, 1, 8, 15, 16, 31, 32] {
                    let second = u64::from(from | (width << 16));
                    let inside = |at: u32| at < bits && bit(value, at);
                    let plain = made(bits, |at| at < width && inside(from + at));
                    // Beyond the field, and beyond the number, its last bit goes on.
                    let last = (from + width).saturating_sub(1).min(bits - 1);
                    let signed = made(bits, |at| {
                        width > 0 && bit(value, (from + at.min(width.max(1) - 1)).min(last))
                    });
                    let result = two(&format!("s_bfe_u{bits}"), [bits, bits, 32], value, second);
                    assert_eq!(result, (plain, plain != 0), "u {value:#x} {from} {width}");
                    let result = two(&format!("s_bfe_i{bits}"), [bits, bits, 32], value, second);
                    assert_eq!(result, (signed, signed != 0), "i {value:#x} {from} {width}");
                }
            }
        }
    }
}

#[test]
fn masks_and_packs_leave_the_condition_code() {
    for (width, from) in [(0, 0), (1, 0), (5, 3), (31, 31), (32, 1), (63, 40)] {
        for bits in [32, 64] {
            let ones = width % bits;
            let expected = made(bits, |at| (from % bits..from % bits + ones).contains(&at));
            let result = two(
                &format!("s_bfm_b{bits}"),
                [bits, 32, 32],
                width.into(),
                from.into(),
            );
            assert_eq!(result, (expected, false), "{width} {from} {bits}");
        }
    }
    let (first, second) = (0x1122_3344, 0x5566_7788);
    assert_eq!(
        two("s_pack_ll_b32_b16", [32; 3], first, second).0,
        0x7788_3344
    );
    assert_eq!(
        two("s_pack_lh_b32_b16", [32; 3], first, second).0,
        0x5566_3344
    );
    assert_eq!(
        two("s_pack_hh_b32_b16", [32; 3], first, second).0,
        0x5566_1122
    );
}

#[test]
fn counts_and_places_of_bits() {
    for bits in [32, 64] {
        for value in boundaries_64() {
            let set: Vec<u32> = (0..bits).filter(|at| bit(value, *at)).collect();
            let clear: Vec<u32> = (0..bits).filter(|at| !bit(value, *at)).collect();
            let sign = if bit(value, bits - 1) { &clear } else { &set };
            let place = |at: Option<u32>| at.unwrap_or(u32::MAX);
            let from_top = |at: Option<&u32>| place(at.map(|at| bits - 1 - at));
            let signed = if bits == 32 {
                "s_flbit_i32"
            } else {
                "s_flbit_i32_i64"
            };
            for (name, expected) in [
                (format!("s_ff1_i32_b{bits}"), place(set.first().copied())),
                (format!("s_ff0_i32_b{bits}"), place(clear.first().copied())),
                (format!("s_flbit_i32_b{bits}"), from_top(set.last())),
                (signed.to_string(), from_top(sign.last())),
            ] {
                let (result, scc) = one(&name, value);
                assert_eq!((result as u32, scc), (expected, false), "{name} {value:#x}");
            }
            for (name, count) in [("s_bcnt1", set.len()), ("s_bcnt0", clear.len())] {
                let (result, scc) = one(&format!("{name}_i32_b{bits}"), value);
                assert_eq!(
                    (result, scc),
                    (count as u64, count != 0),
                    "{name} {value:#x}"
                );
            }
            let reversed = made(bits, |at| bit(value, bits - 1 - at));
            assert_eq!(one(&format!("s_brev_b{bits}"), value), (reversed, false));
            let not = made(bits, |at| !bit(value, at));
            assert_eq!(one(&format!("s_not_b{bits}"), value), (not, not != 0));
            let quad = |of: u32| (0..4).any(|at| bit(value, of * 4 + at));
            let whole = made(bits, |at| quad(at / 4));
            assert_eq!(one(&format!("s_wqm_b{bits}"), value), (whole, whole != 0));
            let quads = made(bits / 4, quad);
            assert_eq!(
                one(&format!("s_quadmask_b{bits}"), value),
                (quads, quads != 0)
            );
        }
    }
}

#[test]
fn extensions_and_absolutes() {
    for value in BOUNDARIES {
        let wide = u64::from(value);
        let of = |result: i64| (u64::from(result as u32), false);
        assert_eq!(one("s_sext_i32_i8", wide), of((value as u8 as i8).into()));
        assert_eq!(
            one("s_sext_i32_i16", wide),
            of((value as u16 as i16).into())
        );
        let absolute = i64::from(value as i32).unsigned_abs();
        assert_eq!(one("s_abs_i32", wide), (absolute, value != 0), "{value:#x}");
        let doubled = made(64, |at| bit(wide, at / 2));
        assert_eq!(one("s_bitreplicate_b64_b32", wide), (doubled, false));
    }
}

#[test]
fn single_bits_are_set_cleared_and_tested() {
    for at in [0_u32, 1, 31, 32, 33, 63, 64] {
        for bits in [32, 64] {
            let place = at % bits;
            for (old, name) in [(0, "s_bitset1"), (u64::MAX, "s_bitset0")] {
                let mut wave = Wave::new(0);
                wave.set_scalar(4, at);
                wave.set_scalar_pair(8, old);
                done(&mut wave, &sop1(&format!("{name}_b{bits}"), 8, 4));
                assert_eq!(wave.scalar_pair(8), old ^ (1 << place), "{name} {at}");
            }
            for value in [0, u64::MAX, 1 << place] {
                let mut wave = Wave::new(0);
                wave.set_scalar_pair(4, value);
                wave.set_scalar(6, at);
                done(&mut wave, &sopc(&format!("s_bitcmp1_b{bits}"), 4, 6));
                assert_eq!(wave.scc, bit(value, place));
                done(&mut wave, &sopc(&format!("s_bitcmp0_b{bits}"), 4, 6));
                assert_eq!(wave.scc, !bit(value, place));
            }
        }
    }
}
