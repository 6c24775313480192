// SPDX-License-Identifier: GPL-2.0-only
//! Scalar integer arithmetic and comparisons at their boundaries, against sums and
//! products in numbers so wide that nothing overflows.

use crate::common::{done, sop2, sopc, sopk, BOUNDARIES};
use gfx942::wave::Wave;

/// What an operation makes of two numbers and the condition code, and the condition
/// code after it.
type Expected = fn(i128, i128, bool) -> (i128, bool);

/// How the numbers are meant.
#[derive(Clone, Copy)]
enum Meant {
    Signed,
    Unsigned,
}
use Meant::{Signed, Unsigned};

fn wide(value: u32, meant: Meant) -> i128 {
    match meant {
        Signed => i128::from(value as i32),
        Unsigned => i128::from(value),
    }
}

fn fits(value: i128, meant: Meant) -> bool {
    match meant {
        Signed => i32::try_from(value).is_ok(),
        Unsigned => u32::try_from(value).is_ok(),
    }
}

const OPERATIONS: [(&str, Meant, Expected); 19] = [
    ("s_add_u32", Unsigned, |a, b, _| {
        (a + b, !fits(a + b, Unsigned))
    }),
    ("s_addc_u32", Unsigned, |a, b, c| {
        let sum = a + b + i128::from(c);
        (sum, !fits(sum, Unsigned))
    }),
    ("s_sub_u32", Unsigned, |a, b, _| (a - b, a - b < 0)),
    ("s_subb_u32", Unsigned, |a, b, c| {
        let difference = a - b - i128::from(c);
        (difference, difference < 0)
    }),
    ("s_add_i32", Signed, |a, b, _| (a + b, !fits(a + b, Signed))),
    ("s_sub_i32", Signed, |a, b, _| (a - b, !fits(a - b, Signed))),
    ("s_min_i32", Signed, |a, b, _| (a.min(b), a < b)),
    ("s_min_u32", Unsigned, |a, b, _| (a.min(b), a < b)),
    ("s_max_i32", Signed, |a, b, _| (a.max(b), a > b)),
    ("s_max_u32", Unsigned, |a, b, _| (a.max(b), a > b)),
    ("s_mul_i32", Signed, |a, b, c| (a * b, c)),
    ("s_mul_hi_u32", Unsigned, |a, b, c| (a * b / (1 << 32), c)),
    ("s_mul_hi_i32", Signed, |a, b, c| {
        ((a * b).div_euclid(1 << 32), c)
    }),
    ("s_lshl1_add_u32", Unsigned, |a, b, _| {
        (a * 2 + b, a * 2 + b > 0xffff_ffff)
    }),
    ("s_lshl2_add_u32", Unsigned, |a, b, _| {
        (a * 4 + b, a * 4 + b > 0xffff_ffff)
    }),
    ("s_lshl3_add_u32", Unsigned, |a, b, _| {
        (a * 8 + b, a * 8 + b > 0xffff_ffff)
    }),
    ("s_lshl4_add_u32", Unsigned, |a, b, _| {
        (a * 16 + b, a * 16 + b > 0xffff_ffff)
    }),
    ("s_absdiff_i32", Signed, |a, b, _| {
        // The difference wraps before its sign is dropped.
        let difference = (a - b) as i32;
        (i128::from(difference).abs(), difference != 0)
    }),
    ("s_cselect_b32", Unsigned, |a, b, c| {
        (if c { a } else { b }, c)
    }),
];

#[test]
fn arithmetic_is_that_of_wider_numbers() {
    let mut wave = Wave::new(0);
    for (name, meant, expected) in OPERATIONS {
        let code = sop2(name, 9, 3, 5);
        for first in BOUNDARIES {
            for second in BOUNDARIES {
                for scc in [false, true] {
                    wave.set_scalar(3, first);
                    wave.set_scalar(5, second);
                    wave.scc = scc;
                    done(&mut wave, &code);
                    let (value, after) = expected(wide(first, meant), wide(second, meant), scc);
                    let what = format!("{name} {first:#x} {second:#x} {scc}");
                    assert_eq!(wave.scalar(9), value as u32, "{what}");
                    assert_eq!(wave.scc, after, "{what}");
                }
            }
        }
    }
}

/// How two numbers compare, by the part of the name that says it.
fn holds(relation: &str, first: i128, second: i128) -> bool {
    match relation {
        "eq" => first == second,
        "lg" => first != second,
        "gt" => first > second,
        "ge" => first >= second,
        "lt" => first < second,
        "le" => first <= second,
        _ => panic!("{relation}"),
    }
}

const RELATIONS: [&str; 6] = ["eq", "lg", "gt", "ge", "lt", "le"];

#[test]
fn comparisons_set_the_condition_code_alone() {
    let mut wave = Wave::new(0);
    for relation in RELATIONS {
        for (letter, meant) in [("i", Signed), ("u", Unsigned)] {
            let code = sopc(&format!("s_cmp_{relation}_{letter}32"), 3, 5);
            for first in BOUNDARIES {
                for second in BOUNDARIES {
                    wave.set_scalar(3, first);
                    wave.set_scalar(5, second);
                    let before = wave.clone();
                    done(&mut wave, &code);
                    let expected = holds(relation, wide(first, meant), wide(second, meant));
                    assert_eq!(
                        wave.scc, expected,
                        "{relation} {letter} {first:#x} {second:#x}"
                    );
                    wave.scc = before.scc;
                    wave.pc = before.pc;
                    assert_eq!(wave, before);
                }
            }
        }
    }
}

#[test]
fn a_short_comparison_extends_its_number_as_it_is_meant() {
    let mut wave = Wave::new(0);
    for relation in RELATIONS {
        for (letter, meant) in [("i", Signed), ("u", Unsigned)] {
            for number in [0, 1, -1, i16::MIN, i16::MAX] {
                let code = sopk(&format!("s_cmpk_{relation}_{letter}32"), 3, number);
                let against = match meant {
                    Signed => i128::from(number),
                    Unsigned => i128::from(number as u16),
                };
                for first in BOUNDARIES {
                    wave.set_scalar(3, first);
                    done(&mut wave, &code);
                    let expected = holds(relation, wide(first, meant), against);
                    assert_eq!(
                        wave.scc, expected,
                        "{relation} {letter} {first:#x} {number}"
                    );
                }
            }
        }
    }
}

#[test]
fn short_sums_and_products_extend_their_number_by_its_sign() {
    let mut wave = Wave::new(0);
    for number in [0, 1, -1, i16::MIN, i16::MAX] {
        for first in BOUNDARIES {
            let sum = i128::from(first as i32) + i128::from(number);
            wave.set_scalar(3, first);
            done(&mut wave, &sopk("s_addk_i32", 3, number));
            assert_eq!(wave.scalar(3), sum as u32);
            assert_eq!(wave.scc, !fits(sum, Signed), "{first:#x} {number}");

            wave.set_scalar(3, first);
            wave.scc = true;
            done(&mut wave, &sopk("s_mulk_i32", 3, number));
            let product = i128::from(first as i32) * i128::from(number);
            assert_eq!(wave.scalar(3), product as u32);
            assert!(wave.scc);

            done(&mut wave, &sopk("s_movk_i32", 3, number));
            assert_eq!(wave.scalar(3), i32::from(number) as u32);
            wave.scc = false;
            wave.set_scalar(3, 7);
            done(&mut wave, &sopk("s_cmovk_i32", 3, number));
            assert_eq!(wave.scalar(3), 7);
            wave.scc = true;
            done(&mut wave, &sopk("s_cmovk_i32", 3, number));
            assert_eq!(wave.scalar(3), i32::from(number) as u32);
        }
    }
}
