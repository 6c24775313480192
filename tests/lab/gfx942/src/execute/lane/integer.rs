// SPDX-License-Identifier: GPL-2.0-only
//! What vector integer operations make of one lane's numbers.

use crate::code::Operation;

/// The lower 24 bits, extended by the last of them.
const fn signed_24(value: u32) -> i64 {
    ((value << 8) as i32 >> 8) as i64
}

const fn unsigned_24(value: u32) -> u64 {
    (value & 0xff_ffff) as u64
}

/// How many bits from the highest down are equal; all ones if all are.
fn leading_sign(value: u32) -> u32 {
    leading(if (value as i32) < 0 { !value } else { value })
}

fn leading(value: u32) -> u32 {
    match value {
        0 => u32::MAX,
        _ => value.leading_zeros(),
    }
}

/// One source.
pub fn one(operation: Operation, value: u32) -> Option<u32> {
    Some(match operation {
        Operation::v_mov_b32 => value,
        Operation::v_not_b32 => !value,
        Operation::v_bfrev_b32 => value.reverse_bits(),
        Operation::v_ffbh_u32 => leading(value),
        Operation::v_ffbh_i32 => leading_sign(value),
        Operation::v_ffbl_b32 if value == 0 => u32::MAX,
        Operation::v_ffbl_b32 => value.trailing_zeros(),
        _ => return None,
    })
}

/// Two sources.
pub fn two(operation: Operation, first: u32, second: u32) -> Option<u32> {
    let (left, right) = (first as i32, second as i32);
    Some(match operation {
        Operation::v_and_b32 => first & second,
        Operation::v_or_b32 => first | second,
        Operation::v_xor_b32 => first ^ second,
        Operation::v_xnor_b32 => !(first ^ second),
        Operation::v_min_i32 => left.min(right) as u32,
        Operation::v_max_i32 => left.max(right) as u32,
        Operation::v_min_u32 => first.min(second),
        Operation::v_max_u32 => first.max(second),
        Operation::v_lshlrev_b32 => second << (first & 31),
        Operation::v_lshrrev_b32 => second >> (first & 31),
        Operation::v_ashrrev_i32 => (right >> (first & 31)) as u32,
        Operation::v_mul_lo_u32 => first.wrapping_mul(second),
        Operation::v_mul_hi_u32 => ((u64::from(first) * u64::from(second)) >> 32) as u32,
        Operation::v_mul_hi_i32 => ((i64::from(left) * i64::from(right)) >> 32) as u32,
        Operation::v_mul_hi_i32_i24 => ((signed_24(first) * signed_24(second)) >> 32) as u32,
        Operation::v_mul_hi_u32_u24 => ((unsigned_24(first) * unsigned_24(second)) >> 32) as u32,
        Operation::v_bcnt_u32_b32 => first.count_ones().wrapping_add(second),
        Operation::v_bfm_b32 => ((1_u32 << (first & 31)) - 1) << (second & 31),
        _ => return None,
    })
}

/// Three sources.
pub fn three(operation: Operation, first: u32, second: u32, third: u32) -> Option<u32> {
    let (left, right, last) = (first as i32, second as i32, third as i32);
    let both = (u64::from(first) << 32) | u64::from(second);
    let (from, width) = (second & 31, third & 31);
    Some(match operation {
        Operation::v_add3_u32 => first.wrapping_add(second).wrapping_add(third),
        Operation::v_lshl_add_u32 => (first << (second & 31)).wrapping_add(third),
        Operation::v_add_lshl_u32 => first.wrapping_add(second) << (third & 31),
        Operation::v_xad_u32 => (first ^ second).wrapping_add(third),
        Operation::v_lshl_or_b32 => (first << (second & 31)) | third,
        Operation::v_and_or_b32 => first & second | third,
        Operation::v_or3_b32 => first | second | third,
        Operation::v_bfi_b32 => first & second | !first & third,
        Operation::v_bfe_u32 => (first >> from) & ((1_u32 << width) - 1),
        Operation::v_bfe_i32 if width == 0 => 0,
        Operation::v_bfe_i32 => ((left >> from) << (32 - width) >> (32 - width)) as u32,
        Operation::v_alignbit_b32 => (both >> (third & 31)) as u32,
        Operation::v_alignbyte_b32 => (both >> (8 * (third & 3))) as u32,
        Operation::v_min3_i32 => left.min(right).min(last) as u32,
        Operation::v_min3_u32 => first.min(second).min(third),
        Operation::v_max3_i32 => left.max(right).max(last) as u32,
        Operation::v_max3_u32 => first.max(second).max(third),
        Operation::v_med3_i32 => left.max(right).min(left.min(right).max(last)) as u32,
        Operation::v_med3_u32 => first.max(second).min(first.min(second).max(third)),
        _ => return None,
    })
}
