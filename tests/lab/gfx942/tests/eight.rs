// SPDX-License-Identifier: GPL-2.0-only
//! Singles that become numbers of eight bits: beyond the largest, and as random bits decide.

use crate::common::lanes::{random, results, FIRST, IEEE, RESULT, SECOND};
use crate::common::{done, vop3};
use gfx942::wave::Wave;

/// With this in MODE what is too large is the largest number.
const LIMITS: u32 = 1 << 23;

#[test]
fn eight_bits_can_be_limited_to_their_largest_number() {
    for (name, largest) in [
        ("v_cvt_pk_fp8_f32", 240.0_f32),
        ("v_cvt_pk_bf8_f32", 57344.0),
    ] {
        let code = vop3(name, RESULT, FIRST, SECOND, 0);
        for number in [largest * 1.5, f32::MAX, f32::INFINITY] {
            let source = [[u64::from(number.to_bits()), u64::from((-number).to_bits())]];
            assert_eq!(
                results(&code, IEEE, &source)[0],
                0x8080,
                "{name} {number:e}"
            );
            let limited = results(&code, IEEE | LIMITS, &source)[0];
            assert_eq!(limited, 0xff7f, "{name} {number:e}");
        }
        let none = [[u64::from(f32::NAN.to_bits()), 0]];
        assert_eq!(results(&code, IEEE | LIMITS, &none)[0], 0x80, "{name}");
    }
}

/// Between which bytes a number lies that is neither too large nor subnormal, and how much of
/// the distance is above the smaller one, is in the bits of the single: the fields lie side by
/// side, and the exponent has another bias.
#[test]
fn random_bits_decide_between_two_numbers_of_eight_bits() {
    for (name, fraction, bias) in [("v_cvt_sr_fp8_f32", 3, 8), ("v_cvt_sr_bf8_f32", 2, 16)] {
        let code = vop3(name, RESULT, FIRST, SECOND, 0);
        let mut some = random(11);
        let sources: Vec<[u64; 2]> = (0..2000)
            .map(|_| {
                let (bits, random) = (some.next().unwrap() as u32, some.next().unwrap() as u32);
                // From an eighth to eight.
                let single = (bits & 0x807f_ffff) | ((124 + bits % 6) << 23);
                [single.into(), random.into()]
            })
            .collect();
        let found = results(&code, IEEE, &sources);
        let cut_off = 23 - fraction;
        let mut away = 0;
        for ([single, random], found) in sources.iter().zip(found) {
            let (single, random) = (*single as u32, *random as u32);
            let magnitude = (single & 0x7fff_ffff) - ((127 - bias) << 23);
            let byte = |more: u32| ((magnitude + more) >> cut_off) | ((single >> 24) & 0x80);
            let expected = byte(random >> (32 - cut_off));
            assert_eq!(found as u32, expected, "{name} {single:x} {random:x}");
            away += u32::from(expected != byte(0));
        }
        assert!((800..1200).contains(&away), "{name}: {away}");
    }
}

#[test]
fn random_bits_decide_about_small_and_large_numbers() {
    let [fp8, bf8] =
        ["v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"].map(|name| vop3(name, RESULT, FIRST, SECOND, 0));
    let byte = |code: &[u32], mode: u32, number: f32, random: u32| {
        let sources = [[u64::from(number.to_bits()), u64::from(random)]];
        results(code, mode, &sources)[0] as u32
    };
    for (code, smallest, largest) in [
        (&fp8, 1.0 / 1024.0, 240.0),
        (&bf8, 1.0 / 131_072.0, 57344.0),
    ] {
        // Three quarters of the smallest number: a quarter of the random bits is not enough.
        assert_eq!(byte(code, IEEE, smallest * 0.75, 0x3fff_ffff), 0);
        assert_eq!(byte(code, IEEE, smallest * 0.75, 0x4000_0000), 1);
        assert_eq!(byte(code, IEEE, -smallest * 2.5, 0x8000_0000), 0x83);
        assert_eq!(byte(code, IEEE, f32::MIN_POSITIVE, u32::MAX), 0);
        // What a byte has exactly no bits change.
        for exact in [0.0, smallest, 1.0, largest] {
            let plain = byte(code, IEEE, exact, 0);
            assert_eq!(byte(code, IEEE, exact, u32::MAX), plain, "{exact}");
        }
        assert_eq!(byte(code, IEEE, largest * 1.01, 0), 0x7f);
        assert_eq!(byte(code, IEEE, largest * 1.01, u32::MAX), 0x80);
        assert_eq!(byte(code, IEEE | LIMITS, largest * 1.01, u32::MAX), 0x7f);
        assert_eq!(byte(code, IEEE, f32::NAN, 5), 0x80);
    }
}

#[test]
fn a_number_of_eight_bits_goes_to_the_byte_that_is_meant() {
    let code = vop3("v_cvt_sr_fp8_f32", RESULT, FIRST, SECOND, 0);
    for (select, expected) in (0..).zip([0x1122_3340, 0x1122_4044, 0x1140_3344, 0x4022_3344]) {
        let mut wave = Wave::new(0);
        wave.set_exec(1);
        wave.set_vector(4, 0, 1.0_f32.to_bits());
        wave.set_vector(RESULT as u8, 0, 0x1122_3344);
        done(&mut wave, &[code[0] | (select << 13), code[1]]);
        assert_eq!(wave.vector(RESULT as u8, 0), expected, "{select}");
    }
}
