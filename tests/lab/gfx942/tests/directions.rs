// SPDX-License-Identifier: GPL-2.0-only
//! What programs reduce angles by, and which face of a cube a direction meets, against
//! longer arithmetic and against AMD's tables of faces.

use crate::common::lanes::{random, results, FIRST, IEEE, RESULT, SECOND, THIRD};
use crate::common::{vop3, width::SINGLE};

/// Bits behind the point of long numbers, which are as many words after the first. More
/// than are asked for, since the last ones are not exact.
const WORDS: usize = 44;

/// A number that is not negative, in words of 32 bits, the highest first; the first is the
/// whole part.
type Long = [u32; WORDS + 1];

fn divided(number: &Long, by: u64) -> Long {
    let mut rest = 0;
    number.map(|word| {
        let above = (rest << 32) | u64::from(word);
        rest = above % by;
        (above / by) as u32
    })
}

fn added(first: &Long, second: &Long, subtract: bool) -> Long {
    let mut result = [0; WORDS + 1];
    let mut carry = i64::from(subtract);
    for at in (0..=WORDS).rev() {
        let other = if subtract { !second[at] } else { second[at] };
        let sum = i64::from(first[at]) + i64::from(other) + carry;
        result[at] = sum as u32;
        carry = sum >> 32;
    }
    result
}

/// The angle whose tangent is one over an integer, by its series.
fn inverse_tangent(of: u64) -> Long {
    let mut power = [0; WORDS + 1];
    power[0] = 1;
    power = divided(&power, of);
    let mut sum = [0; WORDS + 1];
    for at in 0..1000 {
        sum = added(&sum, &divided(&power, 2 * at + 1), at % 2 == 1);
        power = divided(&power, of * of);
    }
    sum
}

/// Machin: a fourth of pi is four times one angle without another.
fn pi() -> Long {
    let times = |number: &Long, count: u32| {
        (0..count).fold([0; WORDS + 1], |sum, _| added(&sum, number, false))
    };
    let large = times(&inverse_tangent(5), 16);
    added(&large, &times(&inverse_tangent(239), 4), true)
}

/// The bits behind the point of two over pi, one by one: by long division of two.
fn two_over_pi(count: usize) -> Vec<bool> {
    let pi = pi();
    let mut rest = [0; WORDS + 1];
    rest[0] = 2;
    let mut bits = Vec::new();
    for _ in 0..count {
        rest = added(&rest, &rest, false);
        // Words from the highest on are ordered as numbers are.
        let is_set = rest >= pi;
        if is_set {
            rest = added(&rest, &pi, true);
        }
        bits.push(is_set);
    }
    bits
}

#[test]
fn parts_of_two_over_pi_are_those_of_a_long_division() {
    let bits = two_over_pi(1201);
    assert_eq!(&pi()[..3], [3, 0x243f_6a88, 0x85a3_08d3]);
    let code = vop3("v_trig_preop_f64", RESULT, FIRST, SECOND, 0);
    let mut sources = Vec::new();
    for exponent in [
        0, 1, 1023, 1077, 1078, 1100, 1500, 1967, 1968, 1969, 2045, 2046, 2047_u64,
    ] {
        for part in 0..40 {
            // Neither sign nor fraction matters.
            let negative = part % 3 / 2;
            let fraction = if exponent == 2047 {
                0
            } else {
                part * 0x1234_5678_9abc
            };
            let number = (negative << 63) | (exponent << 52) | fraction;
            sources.push([number, part | 0xabcd_ef00 & !0x1f | part & 0x1f]);
        }
    }
    let found = results(&code, IEEE, &sources);
    let mut subnormal = 0;
    for ([number, part], found) in sources.iter().zip(found) {
        let exponent = (number >> 52) as usize & 0x7ff;
        let from = (*part as usize % 32) * 53 + exponent.saturating_sub(1077);
        let scale = if exponent >= 1968 { 128 } else { 0 };
        // What each bit is worth; below the smallest doubles it is cut off.
        let worth = |at: usize| scale - (at as i32 + 1);
        let expected: f64 = (from..from + 53)
            .filter(|at| bits.get(*at) == Some(&true) && worth(*at) >= -1074)
            .map(|at| 2.0_f64.powi(worth(at) / 2) * 2.0_f64.powi(worth(at) - worth(at) / 2))
            .fold(0.0, |sum, worth| sum + worth);
        subnormal += u32::from(expected != 0.0 && expected < f64::MIN_POSITIVE);
        assert_eq!(found, expected.to_bits(), "{number:x} {part:x}");
    }
    assert!(subnormal > 0);
    // What is no number stays none.
    let nan = results(&code, IEEE, &[[f64::NAN.to_bits(), 0]])[0];
    assert!(f64::from_bits(nan).is_nan());
}

#[test]
fn large_angles_are_reduced_as_programs_do_it() {
    // Sines of doubles as the host has them, from three parts of two over pi.
    let code = vop3("v_trig_preop_f64", RESULT, FIRST, SECOND, 0);
    for number in [
        1e10_f64,
        12345.678e20,
        1e200,
        2.0_f64.powi(1000),
        1.7e308,
        3.5e300,
    ] {
        let parts = [0, 1, 2].map(|part| {
            let bits = results(&code, IEEE, &[[number.to_bits(), part]])[0];
            f64::from_bits(bits)
        });
        // Parts for numbers from 2^945 on are larger, and so the number is made smaller.
        let scaled = if number >= 2.0_f64.powi(945) {
            number * 2.0_f64.powi(-128)
        } else {
            number
        };
        // The exact products, of which whole turns are dropped: four quarters are one.
        let mut quarters = (0.0, 0.0);
        for part in parts {
            let high = scaled * part;
            let low = scaled.mul_add(part, -high);
            for value in [high, low] {
                let rest = value - 4.0 * (value / 4.0).floor();
                let sum = quarters.0 + rest;
                quarters.1 += (quarters.0 - sum) + rest;
                quarters.0 = sum;
            }
        }
        let angle = (quarters.0 + quarters.1) % 4.0 * std::f64::consts::FRAC_PI_2;
        let difference = (angle.sin() - number.sin()).abs();
        assert!(
            difference < 1e-14,
            "{number:e}: {} {}",
            angle.sin(),
            number.sin()
        );
    }
}

#[test]
fn directions_meet_a_face_of_a_cube() {
    // Faces by axis and sign: the coordinates across and along them, as AMD lists them.
    type Face = (usize, f32, fn([f32; 3]) -> [f32; 2]);
    let faces: [Face; 6] = [
        (0, 1.0, |[_, y, z]| [-z, -y]),
        (0, -1.0, |[_, y, z]| [z, -y]),
        (1, 1.0, |[x, _, z]| [x, z]),
        (1, -1.0, |[x, _, z]| [x, -z]),
        (2, 1.0, |[x, y, _]| [x, -y]),
        (2, -1.0, |[x, y, _]| [-x, -y]),
    ];
    let mut directions: Vec<[f32; 3]> = Vec::new();
    let some = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, f32::INFINITY, 1e-40];
    for x in some {
        for y in some {
            directions.extend(some.map(|z| [x, y, z]));
        }
    }
    let mut others = random(31).map(|bits| f32::from_bits(bits as u32));
    for _ in 0..300 {
        let mut other = || others.by_ref().find(|of| !of.is_nan()).unwrap();
        directions.push([other(), other(), other()]);
    }
    let sources: Vec<[u64; 3]> = directions
        .iter()
        .map(|of| of.map(|of| u64::from(of.to_bits())))
        .collect();
    let run = |name| results(&vop3(name, RESULT, FIRST, SECOND, THIRD), IEEE, &sources);
    let [ids, axes, across, along] = [
        "v_cubeid_f32",
        "v_cubema_f32",
        "v_cubesc_f32",
        "v_cubetc_f32",
    ]
    .map(run);
    for (at, direction) in directions.iter().enumerate() {
        // The longest axis; of equal ones the last.
        let longest = (0..3).max_by(|a, b| {
            let [a, b] = [a, b].map(|of| direction[*of].abs());
            a.partial_cmp(&b).unwrap()
        });
        let longest = longest.unwrap();
        let is_below = direction[longest] < 0.0;
        let face = 2 * longest + usize::from(is_below);
        let (axis, sign, coordinates) = faces[face];
        assert_eq!((axis, sign < 0.0), (longest, is_below));
        let single = |found: u64| f32::from_bits(found as u32);
        let found = [ids[at], axes[at], across[at], along[at]].map(single);
        let [s, t] = coordinates(*direction);
        let expected = [face as f32, 2.0 * direction[axis], s, t];
        let bits = |of: [f32; 4]| of.map(f32::to_bits);
        assert_eq!(bits(found), bits(expected), "{direction:?}");
    }
    // What is no number is the longest of nothing.
    let nan = u64::from(f32::NAN.to_bits());
    let one = u64::from(1.0_f32.to_bits());
    let face = |of: [u64; 3]| {
        let code = vop3("v_cubeid_f32", RESULT, FIRST, SECOND, THIRD);
        f32::from_bits(results(&code, IEEE, &[of])[0] as u32)
    };
    assert_eq!(face([one, one, nan]), 2.0);
    assert_eq!(face([nan, one, one]), 0.0);
    assert!(SINGLE.is_nan(nan));
}
