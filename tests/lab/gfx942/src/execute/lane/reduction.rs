// SPDX-License-Identifier: GPL-2.0-only
//! Two over pi, in parts of 53 bits, by which the angles of sines and cosines are reduced
//! however large they are.

use crate::float::{round, Format, Number, Rounding};

/// The bits of two over pi behind the point, the highest first. There are 1,201 of them;
/// behind those are zeros.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
];

/// How many bits a part has: as many as a double.
const PART: u32 = 53;
/// Up to this exponent the first part begins at the point. Of larger numbers the bits
/// before it make whole turns only.
const WITHIN: u32 = 1077;
/// From this exponent on parts would be too small for doubles, and are larger by as much.
const LARGE: u32 = 1968;
const LARGER_BY: i32 = 128;

/// So many bits from this one on.
fn bits(from: u32) -> u64 {
    let word = |at: u32| TWO_OVER_PI.get(at as usize).copied().unwrap_or(0);
    let (at, within) = (from / 64, from % 64);
    let both = (u128::from(word(at)) << 64) | u128::from(word(at + 1));
    (both << within >> (128 - PART)) as u64
}

/// The part that the lowest five bits of `part` number, for a double with these bits.
pub fn part(format: Format, of: u64, part: u64) -> u64 {
    if format.is_nan(of) {
        return format.quiet(of);
    }
    let exponent = format.biased(of).unsigned_abs();
    let from = (part as u32 & 31) * PART + exponent.saturating_sub(WITHIN);
    let more = if exponent >= LARGE { LARGER_BY } else { 0 };
    let number = Number::integer(bits(from).into()).scaled(more - (PART + from) as i32);
    round(number, format, Rounding::Zero)
}
