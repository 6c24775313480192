// SPDX-License-Identifier: GPL-2.0-only
//! Vector integers of 16 and 64 bits, limited results, and operations on bytes, against
//! numbers so wide that nothing overflows.

use crate::common::lanes::{random, results, FIRST, IEEE, RESULT, SECOND, THIRD};
use crate::common::vop3;

fn numbers() -> Vec<[u64; 3]> {
    let some = [
        0,
        1,
        2,
        15,
        16,
        31,
        63,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
    ];
    let some: Vec<u64> = some
        .into_iter()
        .flat_map(|value: u64| [value, !value, (value << 32) | 0xffff_ffff])
        .collect();
    let mut others = random(41);
    let mut numbers = Vec::new();
    for first in &some {
        for second in &some {
            numbers.push([*first, *second, others.next().unwrap()]);
        }
    }
    numbers
}

const CLAMP: u32 = 1 << 15;

/// Whether results are cut to their bits, or kept between the least and the largest.
fn of_bits(value: i128, bits: u32, signed: bool, clamp: bool) -> u64 {
    let (least, most) = match signed {
        true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        false => (0, (1_i128 << bits) - 1),
    };
    let value = if clamp {
        value.clamp(least, most)
    } else {
        value
    };
    (value as u64) & (u64::MAX >> (64 - bits))
}

fn unsigned(value: u64, bits: u32) -> i128 {
    (value & (u64::MAX >> (64 - bits))).into()
}

fn signed(value: u64, bits: u32) -> i128 {
    let value = unsigned(value, bits);
    if value >> (bits - 1) == 0 {
        value
    } else {
        value - (1 << bits)
    }
}

type Rule = fn([i128; 3]) -> i128;

fn median([a, b, c]: [i128; 3]) -> i128 {
    let mut sorted = [a, b, c];
    sorted.sort_unstable();
    sorted[1]
}

/// Name, bits of the sources and of the result, whether they have signs, how many
/// sources there are, whether results can be limited, and what comes out.
type Case = (&'static str, [u32; 2], bool, u32, bool, Rule);

const CASES: [Case; 40] = [
    ("v_add_u16", [16, 16], false, 2, true, |[a, b, _]| a + b),
    ("v_sub_u16", [16, 16], false, 2, true, |[a, b, _]| a - b),
    ("v_subrev_u16", [16, 16], false, 2, true, |[a, b, _]| b - a),
    ("v_add_i16", [16, 16], true, 2, true, |[a, b, _]| a + b),
    ("v_sub_i16", [16, 16], true, 2, true, |[a, b, _]| a - b),
    ("v_mul_lo_u16", [16, 16], false, 2, false, |[a, b, _]| a * b),
    ("v_lshlrev_b16", [16, 16], false, 2, false, |[a, b, _]| {
        b << (a % 16)
    }),
    ("v_lshrrev_b16", [16, 16], false, 2, false, |[a, b, _]| {
        b >> (a % 16)
    }),
    ("v_ashrrev_i16", [16, 16], true, 2, false, |[a, b, _]| {
        b >> (a & 15)
    }),
    ("v_max_u16", [16, 16], false, 2, false, |[a, b, _]| a.max(b)),
    ("v_min_u16", [16, 16], false, 2, false, |[a, b, _]| a.min(b)),
    ("v_max_i16", [16, 16], true, 2, false, |[a, b, _]| a.max(b)),
    ("v_min_i16", [16, 16], true, 2, false, |[a, b, _]| a.min(b)),
    ("v_mad_u16", [16, 16], false, 3, true, |[a, b, c]| a * b + c),
    ("v_mad_i16", [16, 16], true, 3, true, |[a, b, c]| a * b + c),
    ("v_mad_legacy_u16", [16, 16], false, 3, true, |[a, b, c]| {
        a * b + c
    }),
    ("v_mad_legacy_i16", [16, 16], true, 3, true, |[a, b, c]| {
        a * b + c
    }),
    ("v_min3_u16", [16, 16], false, 3, false, |[a, b, c]| {
        a.min(b).min(c)
    }),
    ("v_max3_u16", [16, 16], false, 3, false, |[a, b, c]| {
        a.max(b).max(c)
    }),
    ("v_min3_i16", [16, 16], true, 3, false, |[a, b, c]| {
        a.min(b).min(c)
    }),
    ("v_max3_i16", [16, 16], true, 3, false, |[a, b, c]| {
        a.max(b).max(c)
    }),
    ("v_med3_u16", [16, 16], false, 3, false, median),
    ("v_med3_i16", [16, 16], true, 3, false, median),
    ("v_add_u32", [32, 32], false, 2, true, |[a, b, _]| a + b),
    ("v_sub_u32", [32, 32], false, 2, true, |[a, b, _]| a - b),
    ("v_subrev_u32", [32, 32], false, 2, true, |[a, b, _]| b - a),
    ("v_add_i32", [32, 32], true, 2, true, |[a, b, _]| a + b),
    ("v_sub_i32", [32, 32], true, 2, true, |[a, b, _]| a - b),
    ("v_mul_i32_i24", [24, 32], true, 2, true, |[a, b, _]| a * b),
    ("v_mul_u32_u24", [24, 32], false, 2, true, |[a, b, _]| a * b),
    ("v_mov_b64", [64, 64], false, 1, false, |[a, ..]| a),
    ("v_sad_u32", [32, 32], false, 3, true, |[a, b, c]| {
        (a - b).abs() + c
    }),
    ("v_max3_i32", [32, 32], true, 3, false, |[a, b, c]| {
        a.max(b).max(c)
    }),
    ("v_max_u32", [32, 32], false, 2, false, |[a, b, _]| a.max(b)),
    ("v_min_i32", [32, 32], true, 2, false, |[a, b, _]| a.min(b)),
    ("v_xad_u32", [32, 32], false, 3, false, |[a, b, c]| {
        (a ^ b) + c
    }),
    ("v_add3_u32", [32, 32], false, 3, false, |[a, b, c]| {
        a + b + c
    }),
    ("v_cvt_pk_u16_u32", [32, 32], false, 2, false, |[a, b, _]| {
        a.min(0xffff) | (b.min(0xffff) << 16)
    }),
    ("v_cvt_pk_i16_i32", [32, 32], true, 2, false, |[a, b, _]| {
        let limited = |value: i128| value.clamp(-0x8000, 0x7fff) & 0xffff;
        limited(a) | (limited(b) << 16)
    }),
    ("v_pack_b32_f16", [16, 32], false, 2, false, |[a, b, _]| {
        a | (b << 16)
    }),
];

#[test]
fn numbers_of_all_widths_give_what_wider_ones_give() {
    let numbers = numbers();
    for (name, [from, to], has_sign, sources, limits, rule) in CASES {
        let limits: &[bool] = if limits { &[false, true] } else { &[false] };
        for clamp in limits {
            let fields = match sources {
                1 => [FIRST, 0, 0],
                2 => [FIRST, SECOND, 0],
                _ => [FIRST, SECOND, THIRD],
            };
            let mut code = vop3(name, RESULT, fields[0], fields[1], fields[2]);
            code[0] |= if *clamp { CLAMP } else { 0 };
            for (sources, found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
                let wide = |value| match has_sign {
                    true => signed(value, from),
                    false => unsigned(value, from),
                };
                let expected = of_bits(rule(sources.map(wide)), to, has_sign, *clamp);
                let found = found & (u64::MAX >> (64 - to.max(32)));
                assert_eq!(found, expected, "{name} {clamp} {sources:x?}");
            }
        }
    }
}

#[test]
fn long_numbers_are_shifted_and_added() {
    let numbers = numbers();
    type Long = fn([u64; 3]) -> u64;
    let cases: [(&str, u32, Long); 4] = [
        ("v_lshlrev_b64", 2, |[a, b, _]| {
            b.wrapping_shl(a as u32 % 64)
        }),
        ("v_lshrrev_b64", 2, |[a, b, _]| {
            b.wrapping_shr(a as u32 % 64)
        }),
        ("v_ashrrev_i64", 2, |[a, b, _]| {
            (i128::from(b as i64) >> (a % 64)) as u64
        }),
        ("v_lshl_add_u64", 3, |[a, b, c]| {
            // Only shifts by up to four bits are done.
            let factor = if b % 8 > 4 { 1 } else { 1 << (b % 8) };
            (u128::from(a) * factor + u128::from(c)) as u64
        }),
    ];
    for (name, sources, rule) in cases {
        let third = if sources == 3 { THIRD } else { 0 };
        let code = vop3(name, RESULT, FIRST, SECOND, third);
        for (sources, found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
            assert_eq!(found, rule(*sources), "{name} {sources:x?}");
        }
    }
}

#[test]
fn long_products_have_a_carry() {
    let numbers = numbers();
    for (name, has_sign) in [("v_mad_u64_u32", false), ("v_mad_i64_i32", true)] {
        let mut code = vop3(name, RESULT, FIRST, SECOND, THIRD);
        code[0] |= 20 << 8;
        let found = results(&code, IEEE, &numbers);
        for (some, found) in numbers.chunks(64).zip(found.chunks(64)) {
            let carries = crate::common::lanes::mask(&code, some);
            for ((sources, found), carry) in some.iter().zip(found).zip(carries) {
                let [a, b, c] = *sources;
                let wide = |value, bits| match has_sign {
                    true => signed(value, bits),
                    false => unsigned(value, bits),
                };
                let sum = wide(a, 32) * wide(b, 32) + wide(c, 64);
                assert_eq!(*found, sum as u64, "{name} {sources:x?}");
                assert_eq!(carry, wide(*found, 64) != sum, "{name} {sources:x?}");
            }
        }
    }
}

#[test]
fn bytes_are_chosen_and_compared() {
    let numbers: Vec<[u64; 3]> = random(4)
        .zip(random(5))
        .zip(random(6))
        .map(|((a, b), c)| [a, b, c & 0x0f0f_0f0f])
        .take(256)
        .collect();
    let bytes = |value: u64| (value as u32).to_le_bytes();
    let code = vop3("v_perm_b32", RESULT, FIRST, SECOND, THIRD);
    for ([a, b, c], found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
        // The second source has the lower four of eight bytes.
        let eight = [bytes(*b), bytes(*a)].concat();
        let sign = |at: usize| if eight[at] >= 0x80 { 0xff } else { 0 };
        let chosen = bytes(*c).map(|selector| match selector {
            8 => sign(1),
            9 => sign(3),
            10 => sign(5),
            11 => sign(7),
            12 => 0,
            13.. => 0xff,
            at => eight[usize::from(at)],
        });
        assert_eq!((found as u32).to_le_bytes(), chosen, "{a:x} {b:x} {c:x}");
    }
    let sums = |a: u64, b: u64, masked: bool| -> u32 {
        let pairs = bytes(a).into_iter().zip(bytes(b));
        let counted = pairs.filter(|pair| !masked || pair.1 != 0);
        counted.map(|(a, b)| u32::from(a.max(b) - a.min(b))).sum()
    };
    for (name, masked, shift) in [
        ("v_sad_u8", false, 0),
        ("v_msad_u8", true, 0),
        ("v_sad_hi_u8", false, 16),
    ] {
        let code = vop3(name, RESULT, FIRST, SECOND, THIRD);
        let numbers: Vec<[u64; 3]> = numbers
            .iter()
            .map(|[a, b, c]| [*a, b & !0xff00, *c])
            .collect();
        for ([a, b, c], found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
            let expected = (sums(*a, *b, masked) << shift).wrapping_add(*c as u32);
            assert_eq!(found as u32, expected, "{name} {a:x} {b:x} {c:x}");
        }
    }
}

#[test]
fn short_numbers_are_added_to_long_ones() {
    let numbers = numbers();
    let halves = |value: u64| [value & 0xffff, (value >> 16) & 0xffff];
    type Rule = fn([u64; 3]) -> i128;
    let cases: [(&str, bool, Rule); 3] = [
        ("v_mad_u32_u16", true, |[a, b, c]| {
            unsigned(a, 16) * unsigned(b, 16) + unsigned(c, 32)
        }),
        ("v_mad_i32_i16", true, |[a, b, c]| {
            signed(a, 16) * signed(b, 16) + signed(c, 32)
        }),
        ("v_sad_u16", true, |_| 0),
    ];
    for (name, limits, rule) in cases {
        for clamp in [false, limits] {
            let mut code = vop3(name, RESULT, FIRST, SECOND, THIRD);
            code[0] |= if clamp { CLAMP } else { 0 };
            for (sources, found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
                let [a, b, c] = *sources;
                let differences = halves(a).into_iter().zip(halves(b));
                let wide = match name {
                    "v_sad_u16" => {
                        let sum: u64 = differences.map(|(a, b)| a.max(b) - a.min(b)).sum();
                        i128::from(sum) + unsigned(c, 32)
                    }
                    _ => rule(*sources),
                };
                let expected = of_bits(wide, 32, name == "v_mad_i32_i16", clamp);
                let found = found & 0xffff_ffff;
                assert_eq!(found, expected, "{name} {clamp} {sources:x?}");
            }
        }
    }
}

#[test]
fn bytes_are_averaged_and_limited() {
    let numbers = numbers();
    let bytes = |value: u64| (value as u32).to_le_bytes();
    let code = vop3("v_lerp_u8", RESULT, FIRST, SECOND, THIRD);
    for ([a, b, c], found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
        let (a, b, up) = (bytes(*a), bytes(*b), bytes(*c));
        let average = |at: usize| {
            let half = f64::from(u16::from(a[at]) + u16::from(b[at])) / 2.0;
            let rounded = if up[at] % 2 == 1 {
                half.ceil()
            } else {
                half.floor()
            };
            rounded as u8
        };
        assert_eq!(
            bytes(found),
            [0, 1, 2, 3].map(average),
            "{a:x?} {b:x?} {up:x?}"
        );
    }
    let code = crate::common::vop1("v_sat_pk_u8_i16", RESULT, FIRST);
    for ([a, ..], found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
        let limited = |value: u64| signed(value, 16).clamp(0, 255) as u64;
        let expected = limited(*a) | (limited(*a >> 16) << 8);
        assert_eq!(found & 0xffff_ffff, expected, "{a:x}");
    }
}

#[test]
fn differences_of_bytes_are_added_up_four_times() {
    let numbers: Vec<[u64; 3]> = random(71)
        .zip(random(72))
        .zip(random(73))
        .enumerate()
        // Some bytes of the reference are zero, and some sums overflow.
        .map(|(at, ((a, b), c))| [a, b & !(0xff << (at % 5 * 8)), c | (u64::MAX << (at % 64))])
        .take(300)
        .collect();
    let expected = |[bytes, reference, addends]: [u64; 3], at: usize, masked: bool| {
        let eight = bytes.to_le_bytes();
        let four = (reference as u32).to_le_bytes();
        let window = eight[at..at + 4].iter().zip(four);
        let counted = window.filter(|(_, reference)| !masked || *reference != 0);
        let sum: u64 = counted.map(|(a, b)| u64::from(a.abs_diff(b))).sum();
        (sum + ((addends >> (16 * at)) & 0xffff)) & 0xffff
    };
    for (name, masked) in [("v_qsad_pk_u16_u8", false), ("v_mqsad_pk_u16_u8", true)] {
        let code = vop3(name, RESULT, FIRST, SECOND, THIRD);
        for (sources, found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
            let sums = [0, 1, 2, 3].map(|at| expected(*sources, at, masked));
            let found = [0, 16, 32, 48].map(|from| (found >> from) & 0xffff);
            assert_eq!(found, sums, "{name} {sources:x?}");
        }
    }
    // Of 32 bits there are four registers of sums, and of what they are added to.
    let code = vop3("v_mqsad_u32_u8", RESULT, FIRST, SECOND, 0x100 + 20);
    for [bytes, reference, addend] in numbers {
        let mut wave = gfx942::wave::Wave::new(0);
        wave.set_exec(4);
        for (register, value) in [(4, bytes), (5, bytes >> 32), (6, reference)] {
            wave.set_vector(register, 2, value as u32);
        }
        for at in 0..4 {
            wave.set_vector(20 + at, 2, (addend >> (8 * at)) as u32);
        }
        crate::common::done(&mut wave, &code);
        for at in 0..4_u8 {
            let sum = expected([bytes, reference, 0], at.into(), true) as u32;
            let sum = sum.wrapping_add((addend >> (8 * at)) as u32);
            assert_eq!(
                wave.vector(RESULT as u8 + at, 2),
                sum,
                "{bytes:x} {reference:x}"
            );
            assert_eq!(wave.vector(RESULT as u8 + at, 1), 0);
        }
    }
}

#[test]
fn halves_can_be_chosen_for_sources_and_results() {
    // Bits 11 to 13 choose upper halves of sources, bit 14 that of the result.
    let sources = [0x0003_0005, 0x0007_000b, 0x000d_0011];
    for select in 0..16_u32 {
        let mut wave = gfx942::wave::Wave::new(0);
        wave.set_exec(1);
        for (register, value) in [4, 6, 8].into_iter().zip(sources) {
            wave.set_vector(register, 0, value);
        }
        wave.set_vector(RESULT as u8, 0, 0x1234_5678);
        let mut code = vop3("v_mad_u16", RESULT, FIRST, SECOND, THIRD);
        code[0] |= select << 11;
        crate::common::done(&mut wave, &code);
        let half = |at: usize| (sources[at] >> (16 * ((select >> at) & 1))) & 0xffff;
        let value = half(0) * half(1) + half(2);
        let expected = match select & 8 {
            0 => 0x1234_0000 | value,
            _ => 0x5678 | (value << 16),
        };
        assert_eq!(wave.vector(RESULT as u8, 0), expected, "{select:#x}");
    }
}
