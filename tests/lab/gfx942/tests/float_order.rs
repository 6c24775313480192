// SPDX-License-Identifier: GPL-2.0-only
//! Which number is larger, and of what kind it is.

use crate::common::lanes::{results, FIRST, IEEE, RESULT, SECOND, THIRD};
use crate::common::vop3;
use crate::common::width::{Width, DOUBLE, HALF, SINGLE};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

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
    fn check<F: FloatConvert<Double>>(width: Width) {
        let number = |bits: u64| {
            let double: Double = F::from_bits(bits.into()).convert(&mut false).value;
            f64::from_bits(double.to_bits() as u64)
        };
        // Zeros of both signs beside what is larger and smaller.
        let some = [0, width.sign(), 1, width.sign() | 1];
        let zeros = (0..64).map(|at| [some[at / 16], some[at / 4 % 4], some[at % 4]]);
        let sources: Vec<[u64; 3]> = width
            .triples()
            .into_iter()
            .chain(zeros)
            .filter(|numbers| !numbers.iter().any(|bits| width.is_nan(*bits)))
            .collect();
        for (at, stem) in ["v_min3", "v_med3", "v_max3"].into_iter().enumerate() {
            let expected: Vec<u64> = sources
                .iter()
                .map(|numbers| {
                    let mut sorted = *numbers;
                    sorted.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
                    if at != 1 {
                        return sorted[at];
                    }
                    // The first of those that are as large as the largest goes, and then the
                    // largest is left.
                    let mut left = numbers.to_vec();
                    let largest = number(sorted[2]);
                    let first = left.iter().position(|of| number(*of) == largest);
                    left.remove(first.unwrap());
                    left.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
                    left[1]
                })
                .collect();
            let name = format!("{stem}_{}", width.name);
            let code = vop3(&name, RESULT, FIRST, SECOND, THIRD);
            width.check(stem, &sources, &results(&code, IEEE, &sources), &expected);
        }
    }
    check::<Half>(HALF);
    check::<Single>(SINGLE);
}
