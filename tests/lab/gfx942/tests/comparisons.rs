// SPDX-License-Identifier: GPL-2.0-only
//! Every comparison of every width, in the form that changes EXEC and in the one that does
//! not, against the order of wider numbers or of a well-tried implementation.

use std::cmp::Ordering;

use crate::common::lanes::{random, FIRST, IEEE, SECOND};
use crate::common::width::{Width, DOUBLE, HALF, SINGLE};
use crate::common::{done, vop3};
use gfx942::wave::{HardwareRegister, Wave};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::Float;

/// The mask that is asked for, and EXEC, after a comparison of so many lanes.
fn masks(code: &[u32], sources: &[[u64; 2]]) -> (u64, u64) {
    let mut wave = Wave::new(0);
    wave.set_hardware(HardwareRegister::Mode, IEEE);
    let active = u64::MAX >> (64 - sources.len());
    wave.set_exec(active);
    wave.set_scalar_pair(20, u64::MAX);
    for (lane, numbers) in sources.iter().enumerate() {
        for (register, number) in (4..).step_by(2).zip(numbers) {
            wave.set_vector(register, lane, *number as u32);
            wave.set_vector(register + 1, lane, (number >> 32) as u32);
        }
    }
    done(&mut wave, code);
    (wave.scalar_pair(20), wave.exec())
}

/// Compares by both forms of an instruction.
fn check(relation: &str, sources: &[[u64; 2]], holds: impl Fn([u64; 2]) -> bool) {
    let form = |prefix| vop3(&format!("{prefix}_{relation}"), 20, FIRST, SECOND, 0);
    let (plainly, changing) = (form("v_cmp"), form("v_cmpx"));
    for some in sources.chunks(64) {
        let expected = some.iter().enumerate().fold(0, |mask, (lane, numbers)| {
            mask | (u64::from(holds(*numbers)) << lane)
        });
        let active = u64::MAX >> (64 - some.len());
        let found = masks(&plainly, some);
        assert_eq!(found, (expected, active), "v_cmp_{relation} {some:x?}");
        let found = masks(&changing, some);
        assert_eq!(found, (expected, expected), "v_cmpx_{relation} {some:x?}");
    }
}

type Asked = fn(Option<Ordering>) -> bool;

fn less(order: Option<Ordering>) -> bool {
    order == Some(Ordering::Less)
}

fn equal(order: Option<Ordering>) -> bool {
    order == Some(Ordering::Equal)
}

fn greater(order: Option<Ordering>) -> bool {
    order == Some(Ordering::Greater)
}

#[test]
fn integers_of_all_widths_have_an_order() {
    let asked: [(&str, Asked); 8] = [
        ("f", |_| false),
        ("lt", less),
        ("eq", equal),
        ("le", |order| !greater(order)),
        ("gt", greater),
        ("ne", |order| !equal(order)),
        ("ge", |order| !less(order)),
        ("t", |_| true),
    ];
    for bits in [16, 32, 64] {
        let ones = u64::MAX >> (64 - bits);
        let sign = 1 << (bits - 1);
        let some = [0, 1, 2, sign - 1, sign, sign + 1, ones - 1, ones];
        let mut others = random(60);
        let pairs: Vec<[u64; 2]> = some
            .iter()
            .flat_map(|first| some.map(|second| [*first, second]))
            .chain((0..200).map(|_| [others.next().unwrap(), others.next().unwrap()]))
            .collect();
        // Of registers that are wider the upper bits mean nothing.
        let pairs: Vec<[u64; 2]> = match bits {
            16 => pairs
                .iter()
                .map(|of| of.map(|of| of ^ 0x5a5a_0000))
                .collect(),
            _ => pairs,
        };
        for (relation, holds) in asked {
            check(&format!("{relation}_u{bits}"), &pairs, |numbers| {
                let [first, second] = numbers.map(|of| u128::from(of & ones));
                holds(Some(first.cmp(&second)))
            });
            check(&format!("{relation}_i{bits}"), &pairs, |numbers| {
                let signed =
                    |of: u64| i128::from(of & ones) - if of & sign != 0 { 1 << bits } else { 0 };
                let [first, second] = numbers.map(signed);
                holds(Some(first.cmp(&second)))
            });
        }
    }
}

#[test]
fn floating_point_of_all_widths_has_an_order_or_none() {
    let asked: [(&str, Asked); 16] = [
        ("f", |_| false),
        ("lt", less),
        ("eq", equal),
        ("le", |order| less(order) || equal(order)),
        ("gt", greater),
        ("lg", |order| less(order) || greater(order)),
        ("ge", |order| greater(order) || equal(order)),
        ("o", |order| order.is_some()),
        ("u", |order| order.is_none()),
        ("nge", |order| less(order) || order.is_none()),
        ("nlg", |order| equal(order) || order.is_none()),
        ("ngt", |order| !greater(order)),
        ("nle", |order| greater(order) || order.is_none()),
        ("neq", |order| !equal(order)),
        ("nlt", |order| !less(order)),
        ("tru", |_| true),
    ];
    fn of<F: Float>(width: Width, asked: &[(&str, Asked)]) {
        let triples = width.triples();
        let pairs: Vec<[u64; 2]> = triples.iter().map(|[a, b, _]| [*a, *b]).collect();
        for (relation, holds) in asked {
            check(&format!("{relation}_{}", width.name), &pairs, |numbers| {
                let [first, second] = numbers.map(|bits| F::from_bits(bits.into()));
                holds(first.partial_cmp(&second))
            });
        }
    }
    of::<Half>(HALF, &asked);
    of::<Single>(SINGLE, &asked);
    of::<Double>(DOUBLE, &asked);
}

#[test]
fn numbers_of_all_widths_have_classes() {
    fn of<F: Float>(width: Width) {
        let quiet = 1 << (width.fraction - 1);
        let numbers = width.boundaries().into_iter();
        let numbers = numbers.chain([width.infinity() + 1, width.infinity() + quiet]);
        let pairs: Vec<[u64; 2]> = numbers
            .flat_map(|bits| {
                let masks = (0..10).map(|bit| 1 << bit).chain([0, 0x3ff, !0x3ff]);
                masks.map(move |mask| [bits, mask & 0xffff_ffff])
            })
            .collect();
        check(&format!("class_{}", width.name), &pairs, |[bits, mask]| {
            let number = F::from_bits(bits.into());
            // From minus infinity on, the classes lie as in a mirror.
            let magnitude = match number {
                _ if number.is_nan() => {
                    return (mask >> u64::from(!number.is_signaling())) & 1 != 0
                }
                _ if number.is_infinite() => 0,
                _ if number.is_zero() => 3,
                _ if number.is_denormal() => 2,
                _ => 1,
            };
            let class = if number.is_negative() {
                2 + magnitude
            } else {
                9 - magnitude
            };
            (mask >> class) & 1 != 0
        });
    }
    of::<Half>(HALF);
    of::<Single>(SINGLE);
    of::<Double>(DOUBLE);
}
