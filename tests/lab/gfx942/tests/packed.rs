// SPDX-License-Identifier: GPL-2.0-only
//! Instructions on pairs: each half by itself, sums of products, and mixtures.

use crate::common::lanes::{random, results, FIRST, IEEE, RESULT, SECOND, THIRD};
use crate::common::named;
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// Which halves are meant for the lower and the upper result, and their signs.
#[derive(Clone, Copy, Default)]
struct Halves {
    low: u32,
    high: u32,
    negative_low: u32,
    negative_high: u32,
    clamp: bool,
}

const PLAIN: Halves = Halves {
    low: 0,
    high: 0b111,
    negative_low: 0,
    negative_high: 0,
    clamp: false,
};

fn vop3p(name: &str, sources: u32, of: Halves) -> Vec<u32> {
    let only = (1 << sources) - 1;
    let high = of.high | !only & 0b111;
    let third = if sources == 3 { THIRD } else { 0 };
    named(name, |number| {
        vec![
            (0x1a7 << 23)
                | ((number & 0x7f) << 16)
                | (u32::from(of.clamp) << 15)
                | ((high >> 2) << 14)
                | ((of.low & only) << 11)
                | ((of.negative_high & only) << 8)
                | RESULT,
            ((of.negative_low & only) << 29)
                | ((high & 3) << 27)
                | (third << 18)
                | (SECOND << 9)
                | FIRST,
        ]
    })
}

fn pairs() -> Vec<[u64; 3]> {
    let some = [
        0, 1, 0x7fff, 0x8000, 0xffff, 0x3c00, 0xbc01, 0x7bff, 0x0001, 0x83ff, 0x4248,
    ];
    let mut others = random(8);
    let mut pairs = Vec::new();
    for first in some {
        for second in some {
            let other = others.next().unwrap();
            pairs.push([
                first | (second << 16),
                second | ((other & 0xffff) << 16),
                other >> 32,
            ]);
        }
    }
    pairs
}

fn halves(numbers: [u64; 3], upper: u32) -> [u16; 3] {
    let mut at = 0;
    numbers.map(|number| {
        let half = (number >> (16 * ((upper >> at) & 1))) as u16;
        at += 1;
        half
    })
}

const CHOICES: [Halves; 3] = [
    PLAIN,
    Halves {
        low: 0b111,
        high: 0,
        ..PLAIN
    },
    Halves {
        low: 0b010,
        high: 0b101,
        ..PLAIN
    },
];

#[test]
fn integers_are_paired() {
    type Rule = fn([i64; 3]) -> i64;
    let cases: [(&str, u32, bool, bool, Rule); 14] = [
        ("v_pk_add_u16", 2, false, true, |[a, b, _]| a + b),
        ("v_pk_sub_u16", 2, false, true, |[a, b, _]| a - b),
        ("v_pk_add_i16", 2, true, true, |[a, b, _]| a + b),
        ("v_pk_sub_i16", 2, true, true, |[a, b, _]| a - b),
        ("v_pk_mul_lo_u16", 2, false, false, |[a, b, _]| a * b),
        ("v_pk_lshlrev_b16", 2, false, false, |[a, b, _]| {
            b << (a % 16)
        }),
        ("v_pk_lshrrev_b16", 2, false, false, |[a, b, _]| {
            b >> (a % 16)
        }),
        ("v_pk_ashrrev_i16", 2, true, false, |[a, b, _]| {
            b >> (a & 15)
        }),
        ("v_pk_max_u16", 2, false, false, |[a, b, _]| a.max(b)),
        ("v_pk_min_u16", 2, false, false, |[a, b, _]| a.min(b)),
        ("v_pk_max_i16", 2, true, false, |[a, b, _]| a.max(b)),
        ("v_pk_min_i16", 2, true, false, |[a, b, _]| a.min(b)),
        ("v_pk_mad_u16", 3, false, true, |[a, b, c]| a * b + c),
        ("v_pk_mad_i16", 3, true, true, |[a, b, c]| a * b + c),
    ];
    let pairs = pairs();
    for (name, sources, signed, limits, rule) in cases {
        for choice in CHOICES {
            for clamp in [false, true] {
                if clamp && !limits {
                    continue;
                }
                let code = vop3p(name, sources, Halves { clamp, ..choice });
                for (numbers, found) in pairs.iter().zip(results(&code, IEEE, &pairs)) {
                    let result = |upper| {
                        let value = rule(halves(*numbers, upper).map(|half| match signed {
                            true => i64::from(half as i16),
                            false => i64::from(half),
                        }));
                        match (clamp, signed) {
                            (false, _) => value as u16,
                            (true, true) => value.clamp(-0x8000, 0x7fff) as u16,
                            (true, false) => value.clamp(0, 0xffff) as u16,
                        }
                    };
                    let expected =
                        u32::from(result(choice.low)) | (u32::from(result(choice.high)) << 16);
                    assert_eq!(found as u32, expected, "{name} {clamp} {numbers:x?}");
                }
            }
        }
    }
}

fn same_half(found: u16, expected: u16) -> bool {
    let is_nan = |half: u16| half & 0x7fff > 0x7c00;
    found == expected || is_nan(found) && is_nan(expected)
}

#[test]
fn halves_are_paired() {
    type Rule = fn([Half; 3]) -> Half;
    // A number wins over what is none, but not over what asks for attention.
    fn chosen(a: Half, b: Half, larger: bool) -> Half {
        let is_first = match (a.is_nan(), b.is_nan()) {
            _ if a.is_signaling() || b.is_signaling() => return Half::NAN,
            (true, _) => false,
            (_, true) => true,
            _ if a.is_zero() && b.is_zero() => b.is_negative() == larger,
            _ => (a > b) == larger,
        };
        if is_first {
            a
        } else {
            b
        }
    }
    let cases: [(&str, u32, Rule); 5] = [
        ("v_pk_max_f16", 2, |[a, b, _]| chosen(a, b, true)),
        ("v_pk_min_f16", 2, |[a, b, _]| chosen(a, b, false)),
        ("v_pk_add_f16", 2, |[a, b, _]| (a + b).value),
        ("v_pk_mul_f16", 2, |[a, b, _]| (a * b).value),
        ("v_pk_fma_f16", 3, |[a, b, c]| a.mul_add(b, c).value),
    ];
    let pairs = pairs();
    for (name, sources, rule) in cases {
        for choice in CHOICES {
            for (negative_low, negative_high) in [(0, 0), (0b001, 0b110), (0b111, 0b010)] {
                let of = Halves {
                    negative_low,
                    negative_high,
                    ..choice
                };
                let code = vop3p(name, sources, of);
                for (numbers, found) in pairs.iter().zip(results(&code, IEEE, &pairs)) {
                    let result = |upper, negative: u32| {
                        let mut at = 0;
                        let values = halves(*numbers, upper).map(|half| {
                            let sign = ((negative >> at) & 1) as u16;
                            at += 1;
                            Half::from_bits((half ^ (sign << 15)).into())
                        });
                        rule(values).to_bits() as u16
                    };
                    let lower = result(choice.low, negative_low);
                    let upper = result(choice.high, negative_high);
                    let same =
                        same_half(found as u16, lower) && same_half((found >> 16) as u16, upper);
                    assert!(same, "{name} {numbers:x?}: {found:x}, {upper:x} {lower:x}");
                }
            }
        }
    }
}

#[test]
fn singles_are_paired() {
    let pairs: Vec<[u64; 3]> = random(12)
        .zip(random(13))
        .zip(random(14))
        .take(200)
        .map(|((a, b), c)| [a, a ^ (b & 0x0070_0000_0070_0000), c])
        .collect();
    type Rule = fn(f32, f32, f32) -> f32;
    let cases: [(&str, u32, Rule); 3] = [
        ("v_pk_add_f32", 2, |a, b, _| a + b),
        ("v_pk_mul_f32", 2, |a, b, _| a * b),
        ("v_pk_fma_f32", 3, f32::mul_add),
    ];
    for (name, sources, rule) in cases {
        for choice in CHOICES {
            let code = vop3p(name, sources, choice);
            for (numbers, found) in pairs.iter().zip(results(&code, IEEE, &pairs)) {
                let result = |upper: u32| {
                    let half = |at: usize| {
                        f32::from_bits((numbers[at] >> (32 * ((upper >> at) & 1))) as u32)
                    };
                    rule(half(0), half(1), half(2))
                };
                for (found, expected) in [
                    (f32::from_bits(found as u32), result(choice.low)),
                    (f32::from_bits((found >> 32) as u32), result(choice.high)),
                ] {
                    let same = found.to_bits() == expected.to_bits()
                        || found.is_nan() && expected.is_nan();
                    assert!(same, "{name} {numbers:x?}: {found:e}, not {expected:e}");
                }
            }
        }
    }
}

#[test]
fn products_are_added_up() {
    let numbers: Vec<[u64; 3]> = random(51)
        .zip(random(52))
        .zip(random(53))
        .take(200)
        .map(|((a, b), c)| [a, b, c])
        .chain([
            [u64::MAX; 3],
            [0x8000_8000, 0x8000_8000, 0x7fff_ffff],
            [0x8080_8080; 3],
        ])
        .collect();
    for (name, count, signed) in [
        ("v_dot2_i32_i16", 2, true),
        ("v_dot2_u32_u16", 2, false),
        ("v_dot4_i32_i8", 4, true),
        ("v_dot4_u32_u8", 4, false),
        ("v_dot8_i32_i4", 8, true),
        ("v_dot8_u32_u4", 8, false),
    ] {
        for clamp in [false, true] {
            let code = vop3p(name, 3, Halves { clamp, ..PLAIN });
            for (numbers, found) in numbers.iter().zip(results(&code, IEEE, &numbers)) {
                let bits = 32 / count;
                let part = |of: usize, at: i64| {
                    let value = (numbers[of] as i64 >> (bits * at)) & ((1 << bits) - 1);
                    let negative = signed && value >> (bits - 1) != 0;
                    if negative {
                        value - (1 << bits)
                    } else {
                        value
                    }
                };
                let third = match signed {
                    true => i64::from(numbers[2] as i32),
                    false => i64::from(numbers[2] as u32),
                };
                let sum = (0..count).map(|at| part(0, at) * part(1, at)).sum::<i64>() + third;
                let expected = match (clamp, signed) {
                    (false, _) => sum as u32,
                    (true, true) => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                    (true, false) => sum.clamp(0, u32::MAX.into()) as u32,
                };
                assert_eq!(found as u32, expected, "{name} {clamp} {numbers:x?}");
            }
        }
    }
}

#[test]
fn sources_can_be_halves_or_singles() {
    let single = |value: f32| u64::from(value.to_bits());
    let half = |value: f32| {
        let half: Half = Single::from_bits(value.to_bits().into())
            .convert(&mut false)
            .value;
        half.to_bits() as u64
    };
    // A half above, a half below, and a single; then with signs and magnitudes.
    let numbers = [[
        (half(3.0) << 16) | 0x7e00,
        0x7e00_0000 | half(-2.5),
        single(0.125),
    ]];
    let of = |negative_low, negative_high| Halves {
        low: 0b001,
        high: 0b011,
        negative_low,
        negative_high,
        clamp: false,
    };
    let run = |name: &str, negative, absolute| {
        results(&vop3p(name, 3, of(negative, absolute)), IEEE, &numbers)[0] as u32
    };
    assert_eq!(run("v_fma_mix_f32", 0, 0), (-7.375_f32).to_bits());
    assert_eq!(run("v_fma_mix_f32", 0b100, 0), (-7.625_f32).to_bits());
    assert_eq!(run("v_fma_mix_f32", 0b001, 0b010), (-7.375_f32).to_bits());
    assert_eq!(u64::from(run("v_fma_mixlo_f16", 0, 0)), half(-7.375));
    assert_eq!(u64::from(run("v_fma_mixhi_f16", 0, 0)), half(-7.375) << 16);
    let numbers = [[
        (half(3.0) << 16) | half(0.5),
        (half(2.0) << 16) | half(5.0),
        single(1.0),
    ]];
    let found = results(&vop3p("v_dot2_f32_f16", 3, PLAIN), IEEE, &numbers)[0] as u32;
    assert_eq!(found, 9.5_f32.to_bits());
}

#[test]
fn a_mixture_is_a_single_before_it_is_a_half() {
    // One, half of a half's last place, and too little for a single: as a single it lies
    // in the middle of two halves, and goes to the even one.
    let numbers = [[1.0, 1.0 + 2.0_f32.powi(-11), 2.0_f32.powi(-30)]
        .map(|number: f32| u64::from(number.to_bits()))];
    let singles = Halves {
        low: 0,
        high: 0,
        ..PLAIN
    };
    let run = |name: &str, mode| results(&vop3p(name, 3, singles), mode, &numbers)[0] as u32;
    assert_eq!(run("v_fma_mixlo_f16", IEEE), 0x3c00);
    assert_eq!(run("v_fma_mixhi_f16", IEEE), 0x3c00 << 16);
    // Singles are rounded upwards, then halves to the nearest.
    assert_eq!(run("v_fma_mixlo_f16", IEEE | 1), 0x3c01);
    // What is too small for a single without subnormal numbers is zero, though halves
    // have them.
    let tiny = [[1.0, 2.0_f32.powi(-126), -(2.0_f32.powi(-127))]
        .map(|number: f32| u64::from(number.to_bits()))];
    let up = (IEEE & !0x30) | (1 << 2);
    let run = |mode| results(&vop3p("v_fma_mixlo_f16", 3, singles), mode, &tiny)[0] as u32;
    assert_eq!(run(up), 1);
    assert_eq!(run(up | 0x10), 0);
}

#[test]
fn parts_of_two_sources_make_a_pair() {
    let numbers = [[0x1111_1111_2222_2222, 0x3333_3333_4444_4444]];
    for (low, expected) in [
        (0b00, 0x4444_4444_2222_2222_u64),
        (0b01, 0x4444_4444_1111_1111),
        (0b10, 0x3333_3333_2222_2222),
        (0b11, 0x3333_3333_1111_1111),
    ] {
        let code = vop3p("v_pk_mov_b32", 2, Halves { low, ..PLAIN });
        assert_eq!(results(&code, IEEE, &numbers)[0], expected);
    }
}
