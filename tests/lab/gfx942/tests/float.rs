// SPDX-License-Identifier: GPL-2.0-only
//! Floating point against a well-tried implementation in software: every width and
//! every rounding mode, with and without subnormal numbers.

use crate::common::lanes::{results, FIRST, IEEE, RESULT, SECOND, THIRD};
use crate::common::width::{rounding, Width, DOUBLE, HALF, ROUNDS, SINGLE};
use crate::common::{done, vop1, vop2, vop3};
use gfx942::wave::{HardwareRegister, Wave};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

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

#[test]
fn sums_of_products_have_many_forms() {
    let half = |bits: u64| Half::from_bits((bits & 0xffff).into());
    let halves = HALF.triples();
    const CONSTANT: u32 = 0x3e00;
    let with_constant = |name: &str| {
        let mut code = vop2(name, RESULT, FIRST, SECOND - 0x100);
        code.push(CONSTANT);
        code
    };
    type Sum = fn([Half; 3]) -> Half;
    let separate: Sum = |[a, b, c]| ((a * b).value + c).value;
    let fused: Sum = |[a, b, c]| a.mul_add(b, c).value;
    for (name, code, rule) in [
        ("v_madak", with_constant("v_madak_f16"), separate),
        ("v_madmk", with_constant("v_madmk_f16"), separate),
        (
            "v_fma_legacy",
            vop3("v_fma_legacy_f16", RESULT, FIRST, SECOND, THIRD),
            fused,
        ),
    ] {
        let constant = half(CONSTANT.into());
        let expected: Vec<u64> = halves
            .iter()
            .map(|numbers| {
                let [a, b, c] = numbers.map(half);
                let sources = match name {
                    "v_madak" => [a, b, constant],
                    "v_madmk" => [a, constant, b],
                    _ => [a, b, c],
                };
                rule(sources).to_bits() as u64
            })
            .collect();
        HALF.check(name, &halves, &results(&code, IEEE, &halves), &expected);
    }
    let singles = SINGLE.triples();
    let constant = f32::from_bits(CONSTANT << 16);
    for (name, rule) in [
        (
            "v_fmaak_f32",
            (|a, b, k| a * b + k) as fn(f64, f64, f64) -> f64,
        ),
        ("v_fmamk_f32", |a, b, k| a * k + b),
    ] {
        let mut code = vop2(name, RESULT, FIRST, SECOND - 0x100);
        code.push(constant.to_bits());
        for ([a, b, _], found) in singles.iter().zip(results(&code, IEEE, &singles)) {
            let [a, b] = [a, b].map(|bits| f32::from_bits(*bits as u32));
            let expected = match name {
                "v_fmaak_f32" => a.mul_add(b, constant),
                _ => a.mul_add(constant, b),
            };
            let found = f32::from_bits(found as u32);
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "{name} {a:e} {b:e}: {found:e}, not {expected:e}");
            // Doubles have room enough to see that no other sum is meant.
            let wide = rule(a.into(), b.into(), constant.into());
            let near = (wide - f64::from(expected)).abs() <= wide.abs() * 1e-6;
            assert!(near || !wide.is_finite() || wide.abs() < 1e-30 || wide.abs() > 3e38);
        }
    }
}

/// Operations that add to what their destination has.
#[test]
fn sums_of_products_go_on_in_their_register() {
    let run = |code: &[u32], [first, second, old]: [u64; 3]| {
        let mut wave = Wave::new(0);
        wave.set_hardware(HardwareRegister::Mode, IEEE);
        wave.set_exec(2);
        let registers = [(4, first), (5, first >> 32), (6, second), (7, second >> 32)];
        for (register, value) in registers {
            wave.set_vector(register, 1, value as u32);
        }
        wave.set_vector(RESULT as u8, 1, old as u32);
        wave.set_vector(RESULT as u8 + 1, 1, (old >> 32) as u32);
        done(&mut wave, code);
        let upper = u64::from(wave.vector(RESULT as u8 + 1, 1)) << 32;
        u64::from(wave.vector(RESULT as u8, 1)) | upper
    };
    let short = |name: &str| vop2(name, RESULT, FIRST, SECOND - 0x100);
    let halves = HALF.triples();
    let half = |bits: u64| Half::from_bits((bits & 0xffff).into());
    let code = short("v_mac_f16");
    let found: Vec<u64> = halves.iter().map(|of| run(&code, *of) & 0xffff).collect();
    let expected: Vec<u64> = halves
        .iter()
        .map(|of| {
            let [a, b, c] = of.map(half);
            ((a * b).value + c).value.to_bits() as u64
        })
        .collect();
    HALF.check("v_mac", &halves, &found, &expected);
    let code = short("v_pk_fmac_f16");
    for at in 0..2 {
        let moved: Vec<[u64; 3]> = halves
            .iter()
            .map(|of| of.map(|of| of << (16 * at)))
            .collect();
        let found: Vec<u64> = moved
            .iter()
            .map(|of| run(&code, *of) >> (16 * at))
            .collect();
        let expected: Vec<u64> = halves
            .iter()
            .map(|of| {
                let [a, b, c] = of.map(half);
                a.mul_add(b, c).value.to_bits() as u64
            })
            .collect();
        let found: Vec<u64> = found.iter().map(|bits| bits & 0xffff).collect();
        HALF.check("v_pk_fmac", &halves, &found, &expected);
    }
    // Small integers, so that each order of the sum gives the same.
    let code = short("v_dot2c_f32_f16");
    for (a, b, c, d, old) in [(1, 2, 3, 4, 5), (-7, 3, 2, -6, 100), (0, 0, 5, 5, -25)] {
        let pair = |low: i32, high: i32| {
            let bits = |of: i32| Half::from_i128(of.into()).value.to_bits() as u64;
            bits(low) | (bits(high) << 16)
        };
        let old_single = u64::from((old as f32).to_bits());
        let found = run(&code, [pair(a, b), pair(c, d), old_single]) as u32;
        assert_eq!(f32::from_bits(found), (a * c + b * d + old) as f32);
    }
    for (name, bits) in [
        ("v_dot2c_i32_i16", 16),
        ("v_dot4c_i32_i8", 8),
        ("v_dot8c_i32_i4", 4),
    ] {
        let code = short(name);
        for [a, b, old] in [
            [0x1234_5678, 0x9abc_def0, 0x7fff_ff00],
            [0x8080_8080, 0x7f80_ff01, 5],
        ] {
            let part = |of: u64, at: u32| {
                let moved = (of as u32) << (32 - bits * (at + 1));
                i64::from(moved as i32 >> (32 - bits))
            };
            let sum: i64 = (0..32 / bits).map(|at| part(a, at) * part(b, at)).sum();
            let expected = (old as i64 + sum) as u32;
            assert_eq!(run(&code, [a, b, old]) as u32, expected, "{name}");
        }
    }
    let code = short("v_fmac_f64");
    let [a, b, c] = [1.1_f64, -2.7, 3.3e-9];
    let found = run(&code, [a, b, c].map(f64::to_bits));
    assert_eq!(f64::from_bits(found), a.mul_add(b, c));
}

#[test]
fn with_old_rules_zero_times_anything_is_zero() {
    let code = vop3("v_mul_legacy_f32", RESULT, FIRST, SECOND, 0);
    let sources = SINGLE.triples();
    for ([a, b, _], found) in sources.iter().zip(results(&code, IEEE, &sources)) {
        let [a, b] = [a, b].map(|bits| f32::from_bits(*bits as u32));
        let product = if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let found = f32::from_bits(found as u32);
        let same = found.to_bits() == product.to_bits() || found.is_nan() && product.is_nan();
        assert!(same, "{a:e} {b:e}: {found:e}");
    }
}

#[test]
fn halves_of_quotients_are_put_right() {
    // Quotient, denominator and numerator: what is special about the last two decides.
    let (one, two, nan, infinity) = (0x3c00, 0x4000, 0x7e00, 0x7c00);
    let minus = 0x8000;
    for name in ["v_div_fixup_f16", "v_div_fixup_legacy_f16"] {
        let code = vop3(name, RESULT, FIRST, SECOND, THIRD);
        for ([quotient, below, above], expected) in [
            ([one, two, two], one),
            ([one, two | minus, two], one | minus),
            ([one | minus, two, two], one),
            ([one, 0, two], infinity),
            ([one, minus, two], infinity | minus),
            ([one, two, 0], 0),
            ([one, two, infinity | minus], infinity | minus),
            ([one, infinity, two | minus], minus),
        ] {
            let found = results(&code, IEEE, &[[quotient, below, above]])[0];
            assert_eq!(
                found & 0xffff,
                expected,
                "{name} {quotient:x} {below:x} {above:x}"
            );
        }
        for [below, above] in [[0, 0], [infinity, infinity], [nan, one], [one, nan]] {
            let found = results(&code, IEEE, &[[one, below, above]])[0];
            assert!(HALF.is_nan(found & 0xffff), "{name} {below:x} {above:x}");
        }
    }
}

#[test]
fn halves_that_are_too_large_can_be_limited() {
    const LIMITS: u32 = 1 << 23;
    let (largest, infinity) = (0x7bff, 0x7c00);
    let add = vop3("v_add_f16", RESULT, FIRST, SECOND, 0);
    let run = |mode, sources: [u64; 2]| results(&add, mode, &[sources])[0] & 0xffff;
    assert_eq!(run(IEEE, [largest, largest]), infinity);
    assert_eq!(run(IEEE | LIMITS, [largest, largest]), largest);
    let minus = largest | 0x8000;
    assert_eq!(run(IEEE | LIMITS, [minus, minus]), minus);
    // What was infinite before stays so.
    assert_eq!(run(IEEE | LIMITS, [infinity, largest]), infinity);
    // Singles are not limited.
    let single = vop3("v_add_f32", RESULT, FIRST, SECOND, 0);
    let huge = u64::from(f32::MAX.to_bits());
    let found = results(&single, IEEE | LIMITS, &[[huge, huge]])[0];
    assert_eq!(found as u32, f32::INFINITY.to_bits());
}

/// Within one unit of the last place of what the host has; hardware promises no more.
#[test]
fn functions_are_near_those_of_the_host() {
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function); 10] = [
        ("v_rcp_f32", |x| 1.0 / x),
        ("v_rsq_f32", |x| 1.0 / x.sqrt()),
        ("v_sqrt_f32", f64::sqrt),
        ("v_exp_f32", |x| (x * std::f64::consts::LN_2).exp()),
        ("v_log_f32", |x| x.ln() / std::f64::consts::LN_2),
        ("v_sin_f32", |x| (x * std::f64::consts::TAU).sin()),
        ("v_cos_f32", |x| (x * std::f64::consts::TAU).cos()),
        ("v_exp_legacy_f32", |x| (x * std::f64::consts::LN_2).exp()),
        ("v_log_legacy_f32", |x| x.ln() / std::f64::consts::LN_2),
        ("v_fract_f32", |x| x - x.floor()),
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

/// The same of halves, for all of them, and of doubles.
#[test]
fn functions_of_other_widths_are_near_those_of_the_host() {
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function); 8] = [
        ("v_rcp_f16", |x| 1.0 / x),
        ("v_rsq_f16", |x| 1.0 / x.sqrt()),
        ("v_sqrt_f16", f64::sqrt),
        ("v_exp_f16", |x| (x * std::f64::consts::LN_2).exp()),
        ("v_log_f16", |x| x.ln() / std::f64::consts::LN_2),
        ("v_sin_f16", |x| (x * std::f64::consts::TAU).sin()),
        ("v_cos_f16", |x| (x * std::f64::consts::TAU).cos()),
        ("v_fract_f16", |x| x - x.floor()),
    ];
    let all: Vec<[u64; 1]> = (0..=0xffff).map(|bits| [bits]).collect();
    let number = |bits: u64| {
        let double: Double = Half::from_bits((bits & 0xffff).into())
            .convert(&mut false)
            .value;
        f64::from_bits(double.to_bits() as u64)
    };
    for (name, function) in functions {
        let code = vop1(name, RESULT, FIRST);
        for ([bits], found) in all.iter().zip(results(&code, IEEE, &all)) {
            let (source, found) = (number(*bits), number(found));
            let is_angle = name == "v_sin_f16" || name == "v_cos_f16";
            if is_angle && source.abs() > 256.0 {
                continue;
            }
            let expected = function(source);
            // Half a unit of the last place, and what the smallest halves are apart.
            let unit = expected.abs() * 2_f64.powi(-10) + 2_f64.powi(-24);
            let overflows = expected.abs() > 65519.0 && found.abs() >= 65504.0;
            let same = found == expected || found.is_nan() && expected.is_nan();
            let near = (found - expected).abs() <= unit || overflows;
            assert!(
                same || near,
                "{name} of {source:e}: {found:e}, not {expected:e}"
            );
        }
    }
    let functions: [(&str, Function); 4] = [
        ("v_rcp_f64", |x| 1.0 / x),
        ("v_rsq_f64", |x| 1.0 / x.sqrt()),
        ("v_sqrt_f64", f64::sqrt),
        ("v_fract_f64", |x| {
            let rest = x - x.floor();
            if rest == 1.0 {
                1.0 - f64::EPSILON / 2.0
            } else {
                rest
            }
        }),
    ];
    let values = DOUBLE.triples();
    for (name, function) in functions {
        let code = vop1(name, RESULT, FIRST);
        for ([bits, ..], found) in values.iter().zip(results(&code, IEEE, &values)) {
            let (source, found) = (f64::from_bits(*bits), f64::from_bits(found));
            let expected = function(source);
            let near = (found - expected).abs() <= expected.abs() * 2_f64.powi(-50);
            let same = found == expected || found.is_nan() && expected.is_nan();
            assert!(
                same || near,
                "{name} of {source:e}: {found:e}, not {expected:e}"
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
