// SPDX-License-Identifier: GPL-2.0-only
//! Floating point against a well-tried implementation in software: every width and
//! every rounding mode, with and without subnormal numbers.

mod common;

use common::lanes::{results, FIRST, IEEE, RESULT, SECOND, THIRD};
use common::width::{rounding, Width, DOUBLE, HALF, ROUNDS, SINGLE};
use common::{vop1, vop3};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, Round, Status};

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
