// SPDX-License-Identifier: GPL-2.0-only
//! From one width of floating point to another, to integers and back, and to whole
//! numbers, against a well-tried implementation in software and the host.

use crate::common::lanes::{random, results, FIRST, IEEE, RESULT, SECOND, THIRD};
use crate::common::width::{rounding, Width, DOUBLE, HALF, ROUNDS, SINGLE};
use crate::common::{done, vop1, vop3};
use gfx942::wave::{HardwareRegister, Wave};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

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
    let some = crate::common::BOUNDARIES.into_iter().map(u64::from);
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
    from_integer::<Single>("v_cvt_f32_ubyte1", SINGLE, |bits| {
        ((bits >> 8) as u8).into()
    });
    from_integer::<Single>("v_cvt_f32_ubyte2", SINGLE, |bits| {
        ((bits >> 16) as u8).into()
    });
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
    let double = |bits: u64| match from.bits {
        16 => {
            let half = Half::from_bits(bits.into());
            let single: Single = half.convert(&mut false).value;
            f32::from_bits(single.to_bits() as u32).into()
        }
        32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
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
fn four_bits_are_sixteenths() {
    let all: Vec<[u64; 1]> = (0..=255).map(|bits| [bits]).collect();
    let found = results(&vop1("v_cvt_off_f32_i4", RESULT, FIRST), IEEE, &all);
    for (bits, found) in (0_u32..).zip(found) {
        let sixteenths = if bits % 16 < 8 {
            bits % 16
        } else {
            bits % 16 + 240
        };
        let expected = f32::from(sixteenths as u8 as i8) / 16.0;
        assert_eq!(found as u32, expected.to_bits(), "{bits}");
    }
}

/// The fraction of the largest integer with or without a sign.
fn fraction(number: f64, signed: bool) -> u64 {
    let most = if signed { 32767.0 } else { 65535.0 };
    let least = if signed { -most } else { 0.0 };
    let scaled = (number * most).round_ties_even();
    let limited = if number.is_nan() {
        0.0
    } else {
        scaled.clamp(least, most)
    };
    limited as i64 as u64 & 0xffff
}

#[test]
fn numbers_up_to_one_are_fractions_of_integers() {
    let half = |bits: u64| {
        let single: Single = Half::from_bits((bits & 0xffff).into())
            .convert(&mut false)
            .value;
        f64::from(f32::from_bits(single.to_bits() as u32))
    };
    let single = |bits: u64| f64::from(f32::from_bits(bits as u32));
    let halves: Vec<[u64; 2]> = (0..=0xffff).map(|bits| [bits, bits ^ 0x5555]).collect();
    for (kind, signed) in [("i16", true), ("u16", false)] {
        let one = results(
            &vop1(&format!("v_cvt_norm_{kind}_f16"), RESULT, FIRST),
            IEEE,
            &halves,
        );
        let code = vop3(
            &format!("v_cvt_pknorm_{kind}_f16"),
            RESULT,
            FIRST,
            SECOND,
            0,
        );
        let two = results(&code, IEEE, &halves);
        for (([first, second], one), two) in halves.iter().zip(one).zip(two) {
            let [first, second] = [half(*first), half(*second)];
            assert_eq!(one & 0xffff, fraction(first, signed), "{kind} {first:e}");
            let pair = fraction(first, signed) | (fraction(second, signed) << 16);
            assert_eq!(two & 0xffff_ffff, pair, "{kind} {first:e} {second:e}");
        }
        let code = vop3(
            &format!("v_cvt_pknorm_{kind}_f32"),
            RESULT,
            FIRST,
            SECOND,
            0,
        );
        let sources: Vec<[u64; 2]> = SINGLE
            .triples()
            .into_iter()
            .map(|[a, b, _]| [a, b])
            .chain(
                (-40..40)
                    .map(|at| [at as f32 / 37.0, at as f32 / -29.0].map(|of| of.to_bits().into())),
            )
            .collect();
        for ([first, second], found) in sources.iter().zip(results(&code, IEEE, &sources)) {
            let [first, second] = [single(*first), single(*second)];
            let pair = fraction(first, signed) | (fraction(second, signed) << 16);
            assert_eq!(found & 0xffff_ffff, pair, "{kind} {first:e} {second:e}");
        }
    }
}

#[test]
fn two_singles_become_halves_towards_zero() {
    let sources = SINGLE.triples();
    let half = |bits: u64| -> u32 {
        let half: Half = Single::from_bits(bits.into())
            .convert_r(ROUNDS[3], &mut false)
            .value;
        half.to_bits() as u32
    };
    let code = vop3("v_cvt_pkrtz_f16_f32", RESULT, FIRST, SECOND, 0);
    // Whatever MODE says.
    for mode in [IEEE, IEEE | 5] {
        for ([a, b, _], found) in sources.iter().zip(results(&code, mode, &sources)) {
            for (bits, found) in [(*a, found as u32 & 0xffff), (*b, found as u32 >> 16)] {
                let expected = half(bits);
                let same =
                    found == expected || HALF.is_nan(found.into()) && HALF.is_nan(expected.into());
                assert!(same, "{bits:x}: {found:x}, not {expected:x}");
            }
        }
    }
}

#[test]
fn a_byte_of_a_register_is_rounded_as_the_mode_says() {
    let single = |number: f32| u64::from(number.to_bits());
    // To the nearest, upwards, downwards, towards zero; 2.5 is in the middle.
    for (mode, expected) in [(IEEE, 2), (IEEE | 1, 3), (IEEE | 2, 2), (IEEE | 3, 2)] {
        let code = vop3("v_cvt_pk_u8_f32", RESULT, FIRST, SECOND, THIRD);
        let sources: Vec<[u64; 3]> = [2.5, 3.75, 300.0, -1.0, f32::NAN]
            .map(|number| [single(number), 6, 0x1122_3344])
            .to_vec();
        let found = results(&code, mode, &sources);
        let bytes: Vec<u32> = found
            .iter()
            .map(|bits| (*bits as u32 >> 16) & 0xff)
            .collect();
        let last = if mode & 3 < 2 { 4 } else { 3 };
        assert_eq!(bytes, [expected, last, 255, 0, 0], "{mode:x}");
        assert!(found
            .iter()
            .all(|bits| *bits as u32 & 0xff00_ffff == 0x1100_3344));
        // The same in the register itself.
        let code = vop3("v_cvt_pkaccum_u8_f32", RESULT, FIRST, SECOND, 0);
        let mut wave = Wave::new(0);
        wave.set_hardware(HardwareRegister::Mode, mode);
        wave.set_vector(4, 0, 2.5_f32.to_bits());
        wave.set_vector(6, 0, 6);
        wave.set_vector(RESULT as u8, 0, 0x1122_3344);
        done(&mut wave, &code);
        assert_eq!(wave.vector(RESULT as u8, 0), 0x1100_3344 | (expected << 16));
    }
}

/// What eight bits mean with so many of them for the fraction.
fn of_eight(bits: u8, fraction: u32) -> f32 {
    let magnitude = u32::from(bits & 0x7f);
    let bias = 1 << (6 - fraction);
    let (exponent, rest) = (magnitude >> fraction, magnitude % (1 << fraction));
    let part = rest as f32 / (1 << fraction) as f32;
    let value = match exponent {
        0 => part * 2.0_f32.powi(1 - bias),
        _ => (1.0 + part) * 2.0_f32.powi(exponent as i32 - bias),
    };
    match bits {
        0x80 => f32::NAN,
        0x81.. => -value,
        _ => value,
    }
}

#[test]
fn eight_bits_become_singles_and_come_from_them() {
    for (kind, fraction, largest) in [("fp8", 3, 240.0), ("bf8", 2, 57344.0)] {
        let all: Vec<[u64; 1]> = (0..=255).map(|bits| [bits | 0x3300]).collect();
        let one = results(
            &vop1(&format!("v_cvt_f32_{kind}"), RESULT, FIRST),
            IEEE,
            &all,
        );
        let two = results(
            &vop1(&format!("v_cvt_pk_f32_{kind}"), RESULT, FIRST),
            IEEE,
            &all,
        );
        let above = u64::from(of_eight(0x33, fraction).to_bits()) << 32;
        for ((bits, one), two) in (0_u8..=255).zip(one).zip(two) {
            let expected = of_eight(bits, fraction);
            assert_eq!(one as u32, expected.to_bits(), "{kind} {bits:x}");
            assert_eq!(
                two,
                u64::from(expected.to_bits()) | above,
                "{kind} {bits:x}"
            );
        }
        assert_eq!(of_eight(0x7f, fraction), largest);
        // Each number itself, and what lies between it and the next: the even one of two
        // that are equally near.
        let name = format!("v_cvt_pk_{kind}_f32");
        let mut cases = vec![
            (f32::NAN, 0x80),
            (f32::INFINITY, 0x80),
            (-0.0, 0),
            (1e-9, 0),
        ];
        cases.push((-1e-9, 0));
        for bits in 0..0x7f_u8 {
            let (this, next) = (of_eight(bits, fraction), of_eight(bits + 1, fraction));
            let middle = (this + next) / 2.0;
            cases.push((this, bits));
            cases.push((-next, bits + 0x81));
            cases.push((middle, bits + (bits & 1)));
            cases.push((f32::from_bits(middle.to_bits() + 1), bits + 1));
            cases.push((f32::from_bits(middle.to_bits() - 1), bits));
        }
        // Half a step beyond the largest there is nothing any more.
        let step = largest - of_eight(0x7e, fraction);
        cases.push((largest + step / 2.0, 0x80));
        cases.push((largest + step / 2.01, 0x7f));
        for (at, half) in [(0, 0_u32), (16, 1 << 14)] {
            let mut code = vop3(&name, RESULT, FIRST, SECOND, 0);
            code[0] |= half;
            let sources: Vec<[u64; 2]> = cases
                .iter()
                .map(|(number, _)| [u64::from(number.to_bits()), u64::from((-2.0_f32).to_bits())])
                .collect();
            let two = (1..=255)
                .find(|bits| of_eight(*bits, fraction) == -2.0)
                .unwrap();
            for ((number, expected), found) in cases.iter().zip(results(&code, IEEE, &sources)) {
                let expected = ((u64::from(two) << 8) | u64::from(*expected)) << at;
                assert_eq!(found, expected, "{name} of {number:e}");
            }
        }
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
