// SPDX-License-Identifier: GPL-2.0-only
//! Floating point against a well-tried implementation in software: every width and
//! every rounding mode, with and without subnormal numbers.

mod common;

use common::lanes::{random, results, FIRST, IEEE, RESULT, SECOND, THIRD};
use common::{vop1, vop3};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

/// The modes in the order of their two bits.
const ROUNDS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardPositive,
    Round::TowardNegative,
    Round::TowardZero,
];

/// MODE with this rounding for all widths, and all subnormal numbers.
fn rounding(number: u32) -> u32 {
    IEEE | number | number << 2
}

/// A width: its bits, those of its fraction, and how instructions call it.
#[derive(Clone, Copy)]
struct Width {
    bits: u32,
    fraction: u32,
    name: &'static str,
}

const HALF: Width = Width {
    bits: 16,
    fraction: 10,
    name: "f16",
};
const SINGLE: Width = Width {
    bits: 32,
    fraction: 23,
    name: "f32",
};
const DOUBLE: Width = Width {
    bits: 64,
    fraction: 52,
    name: "f64",
};

impl Width {
    const fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    const fn infinity(self) -> u64 {
        self.sign() - (1 << self.fraction)
    }

    const fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// Without subnormal numbers.
    const fn flushed(self, bits: u64) -> u64 {
        if bits & (self.sign() - 1) < 1 << self.fraction {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// Numbers at which operations change their behaviour, with both signs.
    fn boundaries(self) -> Vec<u64> {
        let one = self.infinity() >> 1 & !((1 << self.fraction) - 1);
        let unit = 1_u64 << self.fraction;
        let some = [
            0,
            1,
            2,
            unit - 1,
            unit,
            unit + 1,
            one - unit,
            one - 1,
            one,
            one + 1,
            one + unit / 2,
            one + unit,
            one + 3 * unit + 5,
            one + u64::from(self.fraction) * unit + 1,
            self.infinity() - 1,
            self.infinity(),
            self.infinity() + unit / 2 + 1,
        ];
        some.into_iter()
            .flat_map(|bits| [bits, bits | self.sign()])
            .collect()
    }

    /// Boundaries with each other, with numbers near them, and random bits.
    fn triples(self) -> Vec<[u64; 3]> {
        let some = self.boundaries();
        let mut others = random(17).map(|bits| bits & self.ones());
        let mut triples = Vec::new();
        for first in &some {
            for second in &some {
                let third = some[triples.len() * 7 % some.len()];
                triples.push([*first, *second, third]);
            }
        }
        for at in 0..800 {
            let mut other = || others.next().unwrap();
            let [first, second, third] = [other(), other(), other()];
            // Every other one has exponents near each other, so that digits cancel.
            triples.push(match at % 2 {
                0 => [first, second, third],
                _ => [
                    first,
                    first ^ (second & 0xff) ^ self.sign(),
                    first ^ (third & 0xf),
                ],
            });
        }
        triples
    }

    #[track_caller]
    fn check(self, what: &str, sources: &[[u64; 3]], found: &[u64], expected: &[u64]) {
        for ((sources, found), expected) in sources.iter().zip(found).zip(expected) {
            let found = found & self.ones();
            assert!(
                found == *expected || self.is_nan(found) && self.is_nan(*expected),
                "{what}_{} of {sources:x?}: {found:#x}, not {expected:#x}",
                self.name
            );
        }
    }
}

type Rule<F> = fn(F, F, F, Round) -> F;

fn rules<F: Float>() -> [(&'static str, Rule<F>); 5] {
    [
        ("v_add", |a, b, _, round| a.add_r(b, round).value),
        ("v_sub", |a, b, _, round| a.sub_r(b, round).value),
        ("v_subrev", |a, b, _, round| b.sub_r(a, round).value),
        ("v_mul", |a, b, _, round| a.mul_r(b, round).value),
        ("v_fma", |a, b, c, round| a.mul_add_r(b, c, round).value),
    ]
}

fn arithmetic<F: Float>(width: Width) {
    let sources = width.triples();
    for (stem, rule) in rules::<F>() {
        let name = format!("{stem}_{}", width.name);
        if name == "v_sub_f64" || name == "v_subrev_f64" {
            continue;
        }
        let third = if stem == "v_fma" { THIRD } else { 0 };
        let code = vop3(&name, RESULT, FIRST, SECOND, third);
        for (number, round) in (0..).zip(ROUNDS) {
            let expected: Vec<u64> = sources
                .iter()
                .map(|numbers| {
                    let [a, b, c] = numbers.map(|bits| F::from_bits(bits.into()));
                    rule(a, b, c, round).to_bits() as u64
                })
                .collect();
            let found = results(&code, rounding(number), &sources);
            width.check(stem, &sources, &found, &expected);
        }
    }
}

#[test]
fn halves_are_calculated_with() {
    arithmetic::<Half>(HALF);
}

#[test]
fn singles_are_calculated_with() {
    arithmetic::<Single>(SINGLE);
}

#[test]
fn doubles_are_calculated_with() {
    arithmetic::<Double>(DOUBLE);
}

#[test]
fn without_subnormal_numbers_there_are_zeros_instead() {
    let sources = SINGLE.triples();
    for (stem, rule) in rules::<Single>() {
        let third = if stem == "v_fma" { THIRD } else { 0 };
        let code = vop3(&format!("{stem}_f32"), RESULT, FIRST, SECOND, third);
        // Bit 4 keeps those of sources, bit 5 those of results.
        for mode in [0, 0x10, 0x20] {
            let source = |bits| {
                if mode & 0x10 == 0 {
                    SINGLE.flushed(bits)
                } else {
                    bits
                }
            };
            let result = |bits| {
                if mode & 0x20 == 0 {
                    SINGLE.flushed(bits)
                } else {
                    bits
                }
            };
            let expected: Vec<u64> = sources
                .iter()
                .map(|numbers| {
                    let [a, b, c] = numbers.map(|bits| Single::from_bits(source(bits).into()));
                    result(rule(a, b, c, ROUNDS[0]).to_bits() as u64)
                })
                .collect();
            SINGLE.check(stem, &sources, &results(&code, mode, &sources), &expected);
        }
    }
}

#[test]
fn a_product_that_is_rounded_before_the_sum_is_another() {
    let sources = HALF.triples();
    for name in ["v_mad_f16", "v_mad_legacy_f16"] {
        let code = vop3(name, RESULT, FIRST, SECOND, THIRD);
        let expected: Vec<u64> = sources
            .iter()
            .map(|numbers| {
                let [a, b, c] = numbers.map(|bits| Half::from_bits(bits.into()));
                (a * b).value.add_r(c, ROUNDS[0]).value.to_bits() as u64
            })
            .collect();
        HALF.check(name, &sources, &results(&code, IEEE, &sources), &expected);
    }
}

fn whole<F: Float>(width: Width) {
    let sources = width.triples();
    let stems = ["v_rndne", "v_ceil", "v_floor", "v_trunc"];
    for (stem, round) in stems.into_iter().zip(ROUNDS) {
        let code = vop1(&format!("{stem}_{}", width.name), RESULT, FIRST);
        let expected: Vec<u64> = sources
            .iter()
            .map(|[bits, ..]| {
                let number = F::from_bits((*bits).into());
                number.round_to_integral(round).value.to_bits() as u64
            })
            .collect();
        width.check(stem, &sources, &results(&code, IEEE, &sources), &expected);
    }
}

#[test]
fn fractions_are_cut_off() {
    whole::<Half>(HALF);
    whole::<Single>(SINGLE);
    whole::<Double>(DOUBLE);
}

fn converted<A: FloatConvert<B>, B: Float>(name: &str, from: Width, to: Width) {
    let sources = from.triples();
    for (number, round) in (0..).zip(ROUNDS) {
        let expected: Vec<u64> = sources
            .iter()
            .map(|[bits, ..]| {
                let number: B = A::from_bits((*bits).into())
                    .convert_r(round, &mut false)
                    .value;
                number.to_bits() as u64
            })
            .collect();
        let found = results(&vop1(name, RESULT, FIRST), rounding(number), &sources);
        to.check(name, &sources, &found, &expected);
    }
}

#[test]
fn one_width_becomes_another() {
    converted::<Single, Half>("v_cvt_f16_f32", SINGLE, HALF);
    converted::<Half, Single>("v_cvt_f32_f16", HALF, SINGLE);
    converted::<Double, Single>("v_cvt_f32_f64", DOUBLE, SINGLE);
    converted::<Single, Double>("v_cvt_f64_f32", SINGLE, DOUBLE);
}

fn from_integer<F: Float>(name: &str, to: Width, of: fn(u64) -> i128) {
    let some = common::BOUNDARIES.into_iter().map(u64::from);
    let others = random(3)
        .map(|bits| bits as u32 >> (bits >> 59))
        .map(u64::from)
        .take(300);
    let sources: Vec<[u64; 3]> = some.chain(others).map(|bits| [bits, 0, 0]).collect();
    for (number, round) in (0..).zip(ROUNDS) {
        let expected: Vec<u64> = sources
            .iter()
            .map(|[bits, ..]| F::from_i128_r(of(*bits), round).value.to_bits() as u64)
            .collect();
        let found = results(&vop1(name, RESULT, FIRST), rounding(number), &sources);
        to.check(name, &sources, &found, &expected);
    }
}

#[test]
fn integers_become_floating_point() {
    from_integer::<Single>("v_cvt_f32_i32", SINGLE, |bits| (bits as i32).into());
    from_integer::<Single>("v_cvt_f32_u32", SINGLE, |bits| (bits as u32).into());
    from_integer::<Double>("v_cvt_f64_i32", DOUBLE, |bits| (bits as i32).into());
    from_integer::<Double>("v_cvt_f64_u32", DOUBLE, |bits| (bits as u32).into());
    from_integer::<Half>("v_cvt_f16_i16", HALF, |bits| (bits as i16).into());
    from_integer::<Half>("v_cvt_f16_u16", HALF, |bits| (bits as u16).into());
    from_integer::<Single>("v_cvt_f32_ubyte0", SINGLE, |bits| (bits as u8).into());
    from_integer::<Single>("v_cvt_f32_ubyte3", SINGLE, |bits| {
        (bits as u32 >> 24).into()
    });
}

/// What the host's conversion gives, which also limits, and makes zero of what is none.
fn to_integer(name: &str, from: Width, of: fn(f64) -> u32) {
    let sources = from.triples();
    let near = [
        2147483646.5,
        2147483648.0,
        -2147483648.5,
        4294967295.5,
        65535.5,
        -32768.5,
        -0.5,
    ];
    let near = near.map(|number: f64| match from.bits {
        32 => u64::from((number as f32).to_bits()),
        _ => number.to_bits(),
    });
    let near = near
        .into_iter()
        .filter(|_| from.bits > 16)
        .map(|bits| [bits, 0, 0]);
    let sources: Vec<[u64; 3]> = sources.into_iter().chain(near).collect();
    let double = |bits: u64| {
        let number = match from.bits {
            16 => {
                let half = Half::from_bits(bits.into());
                let single: Single = half.convert(&mut false).value;
                f32::from_bits(single.to_bits() as u32).into()
            }
            32 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        };
        number
    };
    let found = results(&vop1(name, RESULT, FIRST), IEEE, &sources);
    for ([bits, ..], found) in sources.iter().zip(found) {
        assert_eq!(found as u32, of(double(*bits)), "{name} of {bits:#x}");
    }
}

#[test]
fn floating_point_becomes_integers() {
    to_integer("v_cvt_i32_f32", SINGLE, |number| number as i32 as u32);
    to_integer("v_cvt_u32_f32", SINGLE, |number| number as u32);
    to_integer("v_cvt_i32_f64", DOUBLE, |number| number as i32 as u32);
    to_integer("v_cvt_u32_f64", DOUBLE, |number| number as u32);
    to_integer("v_cvt_flr_i32_f32", SINGLE, |number| {
        number.floor() as i32 as u32
    });
    to_integer("v_cvt_rpi_i32_f32", SINGLE, |number| {
        (number + 0.5).floor() as i32 as u32
    });
    to_integer("v_cvt_i16_f16", HALF, |number| {
        (number as i16 as u16).into()
    });
    to_integer("v_cvt_u16_f16", HALF, |number| (number as u16).into());
}

#[test]
fn the_smaller_and_the_larger_number() {
    fn check<F: Float>(width: Width) {
        let sources = width.triples();
        for (stem, larger) in [("v_min", false), ("v_max", true)] {
            let code = vop3(&format!("{stem}_{}", width.name), RESULT, FIRST, SECOND, 0);
            let expected: Vec<u64> = sources
                .iter()
                .map(|numbers| {
                    let [a, b, _] = numbers.map(|bits| F::from_bits(bits.into()));
                    let zeros = a.is_zero() && b.is_zero();
                    let value = match larger {
                        _ if zeros && a.is_negative() == larger => b,
                        _ if zeros => a,
                        true => a.max(b),
                        false => a.min(b),
                    };
                    value.to_bits() as u64
                })
                .collect();
            // Without IEEE's rules a number wins whatever the other one is.
            let found = results(&code, IEEE & !0x200, &sources);
            width.check(stem, &sources, &found, &expected);
        }
    }
    check::<Half>(HALF);
    check::<Single>(SINGLE);
    check::<Double>(DOUBLE);
}

#[test]
fn with_the_rules_of_ieee_what_asks_for_attention_gets_it() {
    for name in ["v_min_f32", "v_max_f32"] {
        let code = vop3(name, RESULT, FIRST, SECOND, 0);
        let sources = [[0x7f80_0001, 0x3f80_0000], [0x3f80_0000, 0xff80_0123]];
        assert_eq!(results(&code, IEEE, &sources)[0] as u32, 0x7fc0_0001);
        assert_eq!(results(&code, IEEE, &sources)[1] as u32, 0xffc0_0123);
        for found in results(&code, 0xf0, &sources) {
            assert_eq!(found as u32, 0x3f80_0000);
        }
    }
}

#[test]
fn three_numbers_have_a_smallest_a_largest_and_a_middle() {
    let sources: Vec<[u64; 3]> = SINGLE
        .triples()
        .into_iter()
        .filter(|numbers| !numbers.iter().any(|bits| SINGLE.is_nan(*bits)))
        .collect();
    for (at, name) in ["v_min3_f32", "v_med3_f32", "v_max3_f32"]
        .into_iter()
        .enumerate()
    {
        let expected: Vec<u64> = sources
            .iter()
            .map(|numbers| {
                let mut sorted = numbers.map(|bits| f32::from_bits(bits as u32));
                sorted.sort_by(f32::total_cmp);
                sorted[at].to_bits().into()
            })
            .collect();
        let code = vop3(name, RESULT, FIRST, SECOND, THIRD);
        SINGLE.check(name, &sources, &results(&code, IEEE, &sources), &expected);
    }
}

#[test]
fn mantissas_and_exponents_make_the_number() {
    fn check<F: Float>(width: Width, exponent: &str) {
        let sources = width.triples();
        let mantissas = vop1(&format!("v_frexp_mant_{}", width.name), RESULT, FIRST);
        let mantissas = results(&mantissas, IEEE, &sources);
        let exponents = results(&vop1(exponent, RESULT, FIRST), IEEE, &sources);
        for (([bits, ..], mantissa), exponent) in sources.iter().zip(mantissas).zip(exponents) {
            let number = F::from_bits((*bits).into());
            let mut expected = 0;
            let fraction = number.frexp_r(&mut expected, ROUNDS[0]);
            if number.is_finite() && !number.is_zero() {
                let exponent = if width.bits == 16 {
                    i32::from(exponent as i16)
                } else {
                    exponent as i32
                };
                assert_eq!(u128::from(mantissa & width.ones()), fraction.to_bits());
                assert_eq!(exponent, expected, "{bits:#x}");
            } else {
                assert_eq!(exponent as u32, 0);
            }
        }
    }
    check::<Half>(HALF, "v_frexp_exp_i16_f16");
    check::<Single>(SINGLE, "v_frexp_exp_i32_f32");
    check::<Double>(DOUBLE, "v_frexp_exp_i32_f64");
}

#[test]
fn powers_of_two_scale_numbers() {
    let by = [
        0_i32,
        1,
        -1,
        24,
        -24,
        149,
        -149,
        300,
        -300,
        i32::MAX,
        i32::MIN,
        2000,
        -2200,
    ];
    fn check<F: Float>(width: Width, by: &[i32]) {
        let numbers = width.triples();
        let sources: Vec<[u64; 2]> = numbers
            .iter()
            .zip(by.iter().cycle())
            .map(|([bits, ..], by)| [*bits, u64::from(*by as u32)])
            .collect();
        let code = vop3(&format!("v_ldexp_{}", width.name), RESULT, FIRST, SECOND, 0);
        let found = results(&code, IEEE, &sources);
        let expected: Vec<u64> = sources
            .iter()
            .map(|[bits, by]| {
                let by = if width.bits == 16 {
                    i32::from(*by as i16)
                } else {
                    *by as i32
                };
                F::from_bits((*bits).into())
                    .scalbn_r(by, ROUNDS[0])
                    .to_bits() as u64
            })
            .collect();
        width.check("v_ldexp", &numbers, &found, &expected);
    }
    check::<Half>(HALF, &by);
    check::<Single>(SINGLE, &by);
    check::<Double>(DOUBLE, &by);
}

#[test]
fn comparisons_ask_for_the_order() {
    type Asked = fn(Option<std::cmp::Ordering>) -> bool;
    let asked: [(&str, Asked); 16] = [
        ("f", |_| false),
        ("lt", |order| order.is_some_and(|of| of.is_lt())),
        ("eq", |order| order.is_some_and(|of| of.is_eq())),
        ("le", |order| order.is_some_and(|of| of.is_le())),
        ("gt", |order| order.is_some_and(|of| of.is_gt())),
        ("lg", |order| order.is_some_and(|of| of.is_ne())),
        ("ge", |order| order.is_some_and(|of| of.is_ge())),
        ("o", |order| order.is_some()),
        ("u", |order| order.is_none()),
        ("nge", |order| !order.is_some_and(|of| of.is_ge())),
        ("nlg", |order| !order.is_some_and(|of| of.is_ne())),
        ("ngt", |order| !order.is_some_and(|of| of.is_gt())),
        ("nle", |order| !order.is_some_and(|of| of.is_le())),
        ("neq", |order| !order.is_some_and(|of| of.is_eq())),
        ("nlt", |order| !order.is_some_and(|of| of.is_lt())),
        ("tru", |_| true),
    ];
    fn check<F: Float>(width: Width, asked: &[(&str, Asked)]) {
        let sources = width.triples();
        for (relation, holds) in asked {
            let compare = format!("v_cmp_{relation}_{}", width.name);
            let mut found = Vec::new();
            // The mask becomes one number for each lane.
            for some in sources.chunks(64) {
                found.extend(common::lanes::mask(
                    &vop3(&compare, 20, FIRST, SECOND, 0),
                    some,
                ));
            }
            for (numbers, found) in sources.iter().zip(found) {
                let [a, b, _] = numbers.map(|bits| F::from_bits(bits.into()));
                assert_eq!(found, holds(a.partial_cmp(&b)), "{compare} {numbers:x?}");
            }
        }
    }
    check::<Half>(HALF, &asked);
    check::<Single>(SINGLE, &asked);
    check::<Double>(DOUBLE, &asked);
}

#[test]
fn numbers_have_classes() {
    use std::num::FpCategory;
    let class = |number: f32| {
        let negative = number.is_sign_negative();
        let quiet = number.to_bits() & 0x40_0000 != 0;
        match number.classify() {
            FpCategory::Nan => u32::from(quiet),
            FpCategory::Infinite => {
                if negative {
                    2
                } else {
                    9
                }
            }
            FpCategory::Normal => {
                if negative {
                    3
                } else {
                    8
                }
            }
            FpCategory::Subnormal => {
                if negative {
                    4
                } else {
                    7
                }
            }
            FpCategory::Zero => {
                if negative {
                    5
                } else {
                    6
                }
            }
        }
    };
    let numbers = SINGLE
        .boundaries()
        .into_iter()
        .chain([0x7f80_0001, 0x7fc0_0000]);
    for bits in numbers {
        for mask in (0..10).map(|bit| 1 << bit).chain([0, 0x3ff]) {
            let code = vop3("v_cmp_class_f32", 20, FIRST, SECOND, 0);
            let found = common::lanes::mask(&code, &[[bits, mask, 0]]);
            let expected = (mask >> class(f32::from_bits(bits as u32))) & 1 != 0;
            assert_eq!(found, [expected], "{bits:#x} {mask:#x}");
        }
    }
}

/// Within one unit of the last place of what the host has; hardware promises no more.
#[test]
fn functions_are_near_those_of_the_host() {
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function); 7] = [
        ("v_rcp_f32", |x| 1.0 / x),
        ("v_rsq_f32", |x| 1.0 / x.sqrt()),
        ("v_sqrt_f32", f64::sqrt),
        ("v_exp_f32", |x| (x * std::f64::consts::LN_2).exp()),
        ("v_log_f32", |x| x.ln() / std::f64::consts::LN_2),
        ("v_sin_f32", |x| (x * std::f64::consts::TAU).sin()),
        ("v_cos_f32", |x| (x * std::f64::consts::TAU).cos()),
    ];
    let values = [
        1.0, 0.5, 0.125, 2.0, 3.0, 10.5, 100.25, 0.001, -0.3, -1.0, -7.75, 1e-20, 1e20,
    ];
    for (name, function) in functions {
        let angles = name == "v_sin_f32" || name == "v_cos_f32";
        for value in values
            .into_iter()
            .filter(|value: &f32| !angles || value.abs() < 200.0)
        {
            let source = [[u64::from(value.to_bits())]];
            let found = results(&vop1(name, RESULT, FIRST), IEEE, &source)[0];
            let found = f64::from(f32::from_bits(found as u32));
            let expected = function(value.into());
            let near = (found - expected).abs() <= expected.abs() * 2_f64.powi(-22) + 1e-13;
            let same = found == expected || found.is_nan() && expected.is_nan();
            let over = expected as f32 == found as f32;
            assert!(
                near || same || over,
                "{name} of {value}: {found:e}, not {expected:e}"
            );
        }
    }
}

#[test]
fn signs_are_changed_before_and_limits_kept_after() {
    let source = |value: f32| u64::from(value.to_bits());
    let run = |first: u32, second: u32, mode: u32, a: f32, b: f32| {
        let mut code = vop3("v_add_f32", RESULT, FIRST, SECOND, 0);
        code[0] |= first;
        code[1] |= second;
        f32::from_bits(results(&code, mode, &[[source(a), source(b)]])[0] as u32)
    };
    let (absolute, negative) = (1 << 8, 1 << 29);
    assert_eq!(run(absolute, 0, IEEE, -3.0, 1.0), 4.0);
    assert_eq!(run(0, negative, IEEE, -3.0, 1.0), 4.0);
    assert_eq!(run(absolute, negative, IEEE, -3.0, 1.0), -2.0);
    // The limits are zero and one; what is no number is zero only in one mode.
    let clamp = 1 << 15;
    assert_eq!(run(clamp, 0, IEEE, 3.0, 1.0), 1.0);
    assert_eq!(run(clamp, 0, IEEE, -3.0, 1.0).to_bits(), 0);
    assert_eq!(run(clamp, 0, IEEE, 0.25, 0.5), 0.75);
    assert!(run(clamp, 0, IEEE, f32::NAN, 1.0).is_nan());
    assert_eq!(run(clamp, 0, IEEE | 0x100, f32::NAN, 1.0).to_bits(), 0);
    // Results are multiplied only where there are no subnormal ones.
    for (multiplier, factor) in [(1, 2.0), (2, 4.0), (3, 0.5)] {
        assert_eq!(run(0, multiplier << 27, 0, 3.0, 1.5), 4.5 * factor);
        assert_eq!(run(0, multiplier << 27, IEEE, 3.0, 1.5), 4.5);
    }
}

#[test]
fn what_comes_out_of_nothing_is_no_number() {
    let invalid = Single::INFINITY - Single::INFINITY;
    assert_eq!(invalid.status, Status::INVALID_OP);
    let infinity = u64::from(f32::INFINITY.to_bits());
    let code = vop3("v_sub_f32", RESULT, FIRST, SECOND, 0);
    let found = results(&code, IEEE, &[[infinity, infinity]])[0];
    assert_eq!(u128::from(found), invalid.value.to_bits() & 0x7fff_ffff);
}
