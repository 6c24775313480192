// SPDX-License-Identifier: GPL-2.0-only
//! Which number is larger, and of what kind it is.

mod common;

use common::lanes::{results, FIRST, IEEE, RESULT, SECOND, THIRD};
use common::vop3;
use common::width::{Width, DOUBLE, HALF, SINGLE};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::Float;

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
