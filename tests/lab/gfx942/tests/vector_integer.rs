// SPDX-License-Identifier: GPL-2.0-only
//! Vector integer instructions: each lane against numbers so wide that nothing
//! overflows, and the lanes that EXEC does not have stay as they are.

use crate::common::{done, run, vop1, vop2, vop3, vopc, BOUNDARIES};
use gfx942::wave::{Outcome, Wave, LANES};

/// Vector registers of sources and result, as nine bits name them.
const FIRST: u32 = 0x104;
const SECOND: u32 = 0x105;
const THIRD: u32 = 0x106;
const RESULT: u8 = 9;
const UNTOUCHED: u32 = 0x5555_aaaa;
/// Every other lane, and the last.
const ACTIVE: u64 = 0x8aaa_aaaa_aaaa_aaaa;

/// Runs `code` with these numbers in all lanes, and hands back what each of the
/// active ones got, having seen that all got the same and no other lane anything.
fn result(code: &[u32], numbers: [u32; 3]) -> u32 {
    let mut wave = Wave::new(0);
    wave.set_exec(ACTIVE);
    for lane in 0..LANES {
        for (register, number) in (4..).zip(numbers) {
            wave.set_vector(register, lane, number);
        }
        wave.set_vector(RESULT, lane, UNTOUCHED);
    }
    done(&mut wave, code);
    let value = wave.vector(RESULT, 63);
    for lane in 0..LANES {
        let expected = if wave.is_active(lane) {
            value
        } else {
            UNTOUCHED
        };
        assert_eq!(wave.vector(RESULT, lane), expected, "lane {lane}");
    }
    value
}

fn signed(value: u32) -> i128 {
    i128::from(value as i32)
}

fn signed_24(value: u32) -> i128 {
    (i128::from(value & 0xff_ffff) ^ 0x80_0000) - 0x80_0000
}

fn unsigned_24(value: u32) -> i128 {
    i128::from(value % (1 << 24))
}

fn power(exponent: u32) -> i128 {
    1 << (exponent % 32)
}

type Two = fn(u32, u32) -> i128;

const TWO: [(&str, Two); 23] = [
    ("v_add_u32", |a, b| i128::from(a) + i128::from(b)),
    ("v_sub_u32", |a, b| i128::from(a) - i128::from(b)),
    ("v_subrev_u32", |a, b| i128::from(b) - i128::from(a)),
    ("v_and_b32", |a, b| i128::from(a & b)),
    ("v_or_b32", |a, b| {
        i128::from(a) + i128::from(b) - i128::from(a & b)
    }),
    ("v_xor_b32", |a, b| {
        i128::from(a) + i128::from(b) - 2 * i128::from(a & b)
    }),
    ("v_xnor_b32", |a, b| {
        0xffff_ffff - i128::from(a) - i128::from(b) + 2 * i128::from(a & b)
    }),
    ("v_min_i32", |a, b| signed(a).min(signed(b))),
    ("v_max_i32", |a, b| signed(a).max(signed(b))),
    ("v_min_u32", |a, b| i128::from(a.min(b))),
    ("v_max_u32", |a, b| i128::from(a.max(b))),
    ("v_lshlrev_b32", |a, b| i128::from(b) * power(a)),
    ("v_lshrrev_b32", |a, b| i128::from(b) / power(a)),
    ("v_ashrrev_i32", |a, b| signed(b).div_euclid(power(a))),
    ("v_mul_lo_u32", |a, b| i128::from(a) * i128::from(b)),
    ("v_mul_hi_u32", |a, b| (i128::from(a) * i128::from(b)) >> 32),
    ("v_mul_hi_i32", |a, b| (signed(a) * signed(b)) >> 32),
    ("v_mul_i32_i24", |a, b| signed_24(a) * signed_24(b)),
    ("v_mul_hi_i32_i24", |a, b| {
        (signed_24(a) * signed_24(b)) >> 32
    }),
    ("v_mul_u32_u24", |a, b| unsigned_24(a) * unsigned_24(b)),
    ("v_mul_hi_u32_u24", |a, b| {
        (unsigned_24(a) * unsigned_24(b)) >> 32
    }),
    ("v_bcnt_u32_b32", |a, b| {
        i128::from(b) + i128::from(a.count_ones())
    }),
    ("v_bfm_b32", |a, b| (power(a) - 1) * power(b)),
];

#[test]
fn two_numbers_give_what_wider_numbers_give() {
    for (name, expected) in TWO {
        let code = vop3(name, RESULT.into(), FIRST, SECOND, 0);
        for first in BOUNDARIES {
            for second in BOUNDARIES {
                let value = result(&code, [first, second, 0]);
                assert_eq!(
                    value,
                    expected(first, second) as u32,
                    "{name} {first:#x} {second:#x}"
                );
            }
        }
    }
}

#[test]
fn the_short_encoding_does_the_same() {
    let code = vop2("v_sub_u32", RESULT.into(), FIRST, 5);
    assert_eq!(result(&code, [3, 5, 0]), -2_i32 as u32);
    // A constant, for the source that may be one.
    let code = vop2("v_sub_u32", RESULT.into(), 193, 5);
    assert_eq!(result(&code, [3, 5, 0]), -6_i32 as u32);
}

#[test]
fn three_numbers_give_what_wider_numbers_give() {
    type Three = fn(u32, u32, u32) -> i128;
    let operations: [(&str, Three); 17] = [
        ("v_add3_u32", |a, b, c| {
            i128::from(a) + i128::from(b) + i128::from(c)
        }),
        ("v_lshl_add_u32", |a, b, c| {
            i128::from(a) * power(b) + i128::from(c)
        }),
        ("v_add_lshl_u32", |a, b, c| {
            (i128::from(a) + i128::from(b)) * power(c)
        }),
        ("v_and_or_b32", |a, b, c| i128::from(a & b | c)),
        ("v_or3_b32", |a, b, c| i128::from(a | b | c)),
        ("v_bfe_u32", |a, b, c| i128::from(a) / power(b) % power(c)),
        ("v_alignbit_b32", |a, b, c| {
            ((i128::from(a) << 32) + i128::from(b)) / power(c)
        }),
        ("v_alignbyte_b32", |a, b, c| {
            ((i128::from(a) << 32) + i128::from(b)) / power(8 * (c % 4))
        }),
        // The field's last bit counts against the others.
        ("v_bfe_i32", |a, b, c| {
            let field = signed(a).div_euclid(power(b)).rem_euclid(power(c));
            let width = c % 32;
            match width {
                0 => 0,
                _ if field >= power(width - 1) => field - power(width),
                _ => field,
            }
        }),
        ("v_bfi_b32", |a, b, c| {
            let kept = i128::from(c) - i128::from(a & c);
            i128::from(a & b) + kept
        }),
        ("v_med3_u32", |a, b, c| {
            let mut all = [a, b, c];
            all.sort_unstable();
            i128::from(all[1])
        }),
        ("v_min3_u32", |a, b, c| i128::from(a.min(b).min(c))),
        ("v_min3_i32", |a, b, c| {
            signed(a).min(signed(b)).min(signed(c))
        }),
        ("v_max3_u32", |a, b, c| i128::from(a.max(b).max(c))),
        ("v_med3_i32", |a, b, c| {
            let mut all = [signed(a), signed(b), signed(c)];
            all.sort_unstable();
            all[1]
        }),
        ("v_mad_i32_i24", |a, b, c| {
            signed_24(a) * signed_24(b) + signed(c)
        }),
        ("v_mad_u32_u24", |a, b, c| {
            unsigned_24(a) * unsigned_24(b) + i128::from(c)
        }),
    ];
    for (name, expected) in operations {
        let code = vop3(name, RESULT.into(), FIRST, SECOND, THIRD);
        for first in BOUNDARIES {
            for second in [0, 1, 31, 32, 0x8000_0000, 0xffff_ffff] {
                for third in [0, 1, 31, 32, 0x8000_0000, 0xffff_ffff] {
                    let value = result(&code, [first, second, third]);
                    let what = format!("{name} {first:#x} {second:#x} {third:#x}");
                    assert_eq!(value, expected(first, second, third) as u32, "{what}");
                }
            }
        }
    }
}

#[test]
fn one_number_gives_its_complement_its_mirror_or_a_place() {
    for value in BOUNDARIES {
        let of = |name| result(&vop1(name, RESULT.into(), FIRST), [value, 0, 0]);
        let text = format!("{value:032b}");
        let mirror: String = text.chars().rev().collect();
        let place = |at: Option<usize>| at.map_or(u32::MAX, |at| at as u32);
        assert_eq!(of("v_mov_b32"), value);
        assert_eq!(i128::from(of("v_not_b32")), 0xffff_ffff - i128::from(value));
        assert_eq!(format!("{:032b}", of("v_bfrev_b32")), mirror);
        assert_eq!(of("v_ffbh_u32"), place(text.find('1')));
        assert_eq!(of("v_ffbl_b32"), place(mirror.find('1')));
        let other = if text.starts_with('0') { '1' } else { '0' };
        assert_eq!(of("v_ffbh_i32"), place(text.find(other)));
    }
}

#[test]
fn comparisons_give_a_bit_to_each_active_lane_and_none_to_others() {
    for (relation, expected) in [
        ("lt", [true, false, false]),
        ("eq", [false, true, false]),
        ("le", [true, true, false]),
        ("gt", [false, false, true]),
        ("ne", [true, false, true]),
        ("ge", [false, true, true]),
        ("f", [false, false, false]),
        ("t", [true, true, true]),
    ] {
        // As signed numbers -1, 0 and 1 are in order; as unsigned ones they are not.
        for (kind, numbers) in [("i32", [u32::MAX, 0, 1]), ("u32", [0, 1, u32::MAX])] {
            for prefix in ["v_cmp", "v_cmpx"] {
                let mut wave = Wave::new(0);
                wave.set_exec(ACTIVE);
                wave.set_vcc(u64::MAX);
                for lane in 0..LANES {
                    wave.set_vector(4, lane, numbers[lane % 3]);
                    wave.set_vector(5, lane, numbers[1]);
                }
                done(
                    &mut wave,
                    &vopc(&format!("{prefix}_{relation}_{kind}"), FIRST, 5),
                );
                let lanes = (0..LANES).filter(|lane| expected[lane % 3]);
                let holds = lanes.fold(0, |all, lane| all | (1_u64 << lane)) & ACTIVE;
                assert_eq!(wave.vcc(), holds, "{prefix}_{relation}_{kind}");
                let exec = if prefix == "v_cmpx" { holds } else { ACTIVE };
                assert_eq!(wave.exec(), exec);
            }
        }
    }
}

#[test]
fn carries_go_from_lane_to_lane_of_the_next_instruction() {
    for first in BOUNDARIES {
        for second in BOUNDARIES {
            let mut wave = Wave::new(0);
            wave.set_exec(ACTIVE);
            for lane in 0..LANES {
                wave.set_vector(4, lane, first);
                wave.set_vector(5, lane, second);
            }
            done(&mut wave, &vop2("v_add_co_u32", 7, FIRST, 5));
            done(&mut wave, &vop2("v_addc_co_u32", 8, FIRST, 5));
            let whole = (u64::from(first) << 32) | u64::from(first);
            let other = (u64::from(second) << 32) | u64::from(second);
            let (sum, carry) = whole.overflowing_add(other);
            assert_eq!(wave.vector(7, 63), sum as u32);
            assert_eq!(wave.vector(8, 63), (sum >> 32) as u32);
            assert_eq!(wave.vcc(), if carry { ACTIVE } else { 0 });

            done(&mut wave, &vop2("v_sub_co_u32", 7, FIRST, 5));
            done(&mut wave, &vop2("v_subb_co_u32", 8, FIRST, 5));
            let (difference, borrow) = whole.overflowing_sub(other);
            assert_eq!(wave.vector(7, 63), difference as u32);
            assert_eq!(wave.vector(8, 63), (difference >> 32) as u32);
            assert_eq!(wave.vcc(), if borrow { ACTIVE } else { 0 });

            // The same with the sources in the other order.
            done(&mut wave, &vop2("v_subrev_co_u32", 7, FIRST, 5));
            done(&mut wave, &vop2("v_subbrev_co_u32", 8, FIRST, 5));
            let (difference, borrow) = other.overflowing_sub(whole);
            assert_eq!(wave.vector(7, 63), difference as u32);
            assert_eq!(wave.vector(8, 63), (difference >> 32) as u32);
            assert_eq!(wave.vcc(), if borrow { ACTIVE } else { 0 });
        }
    }
}

#[test]
fn lanes_are_chosen_read_and_counted() {
    let mut wave = Wave::new(0);
    for lane in 0..LANES {
        wave.set_vector(4, lane, lane as u32);
        wave.set_vector(5, lane, 1000 + lane as u32);
    }
    wave.set_vcc(1 << 40);
    done(&mut wave, &vop2("v_cndmask_b32", RESULT.into(), FIRST, 5));
    assert_eq!(
        (wave.vector(RESULT, 39), wave.vector(RESULT, 40)),
        (39, 1040)
    );

    wave.set_exec((1 << 33) | (1 << 50));
    done(&mut wave, &vop1("v_readfirstlane_b32", 20, FIRST));
    assert_eq!(wave.scalar(20), 33);
    wave.set_exec(0);
    done(&mut wave, &vop1("v_readfirstlane_b32", 20, FIRST));
    assert_eq!(wave.scalar(20), 0);

    // These two do not ask EXEC, and take the lane's number as it wraps.
    wave.set_scalar(21, 64 + 17);
    done(&mut wave, &vop3("v_readlane_b32", 20, FIRST, 21, 0));
    assert_eq!(wave.scalar(20), 17);
    done(&mut wave, &vop3("v_writelane_b32", 4, 20, 128 + 63, 0));
    assert_eq!(wave.vector(4, 63), 17);

    wave.set_exec(u64::MAX);
    done(
        &mut wave,
        &vop3("v_mbcnt_lo_u32_b32", RESULT.into(), 193, 128, 0),
    );
    done(
        &mut wave,
        &vop3("v_mbcnt_hi_u32_b32", RESULT.into(), 193, 0x100 + 9, 0),
    );
    for lane in 0..LANES {
        assert_eq!(wave.vector(RESULT, lane), lane as u32);
    }
}

#[test]
fn what_has_no_meaning_here_is_told_even_without_lanes() {
    let mut wave = Wave::new(0);
    wave.set_exec(0);
    let code = vop1("v_screen_partition_4se_b32", 9, FIRST);
    assert!(matches!(run(&mut wave, &code), Outcome::Illegal { .. }));
}
