// SPDX-License-Identifier: GPL-2.0-only
//! Sums, differences, products, minima and comparisons of scalar integers.

use crate::code::Operation;

/// A result, and what becomes of the condition code; `None` leaves it.
pub type Scalar<T> = (T, Option<bool>);

fn sum(first: u32, second: u32, carry: bool) -> Scalar<u32> {
    let sum = u64::from(first) + u64::from(second) + u64::from(carry);
    (sum as u32, Some(sum >> 32 != 0))
}

fn difference(first: u32, second: u32, borrow: bool) -> Scalar<u32> {
    let taken = u64::from(second) + u64::from(borrow);
    let difference = u64::from(first).wrapping_sub(taken);
    (difference as u32, Some(taken > u64::from(first)))
}

fn signed((value, overflow): (i32, bool)) -> Scalar<u32> {
    (value as u32, Some(overflow))
}

fn select(takes_first: bool, first: u32, second: u32) -> Scalar<u32> {
    (if takes_first { first } else { second }, Some(takes_first))
}

fn shifted_sum(first: u32, second: u32, by: u32) -> Scalar<u32> {
    let sum = (u64::from(first) << by) + u64::from(second);
    (sum as u32, Some(sum >> 32 != 0))
}

/// What an operation on two numbers of 32 bits makes of them and the condition code.
pub fn two(operation: Operation, first: u32, second: u32, scc: bool) -> Option<Scalar<u32>> {
    let (left, right) = (first as i32, second as i32);
    Some(match operation {
        Operation::s_add_u32 => sum(first, second, false),
        Operation::s_addc_u32 => sum(first, second, scc),
        Operation::s_sub_u32 => difference(first, second, false),
        Operation::s_subb_u32 => difference(first, second, scc),
        Operation::s_add_i32 => signed(left.overflowing_add(right)),
        Operation::s_sub_i32 => signed(left.overflowing_sub(right)),
        Operation::s_min_i32 => select(left < right, first, second),
        Operation::s_min_u32 => select(first < second, first, second),
        Operation::s_max_i32 => select(left > right, first, second),
        Operation::s_max_u32 => select(first > second, first, second),
        Operation::s_mul_i32 => (first.wrapping_mul(second), None),
        Operation::s_mul_hi_u32 => (((u64::from(first) * u64::from(second)) >> 32) as u32, None),
        Operation::s_mul_hi_i32 => (((i64::from(left) * i64::from(right)) >> 32) as u32, None),
        Operation::s_absdiff_i32 => {
            let difference = left.wrapping_sub(right).wrapping_abs() as u32;
            (difference, Some(difference != 0))
        }
        Operation::s_lshl1_add_u32 => shifted_sum(first, second, 1),
        Operation::s_lshl2_add_u32 => shifted_sum(first, second, 2),
        Operation::s_lshl3_add_u32 => shifted_sum(first, second, 3),
        Operation::s_lshl4_add_u32 => shifted_sum(first, second, 4),
        _ => return None,
    })
}

/// What a comparison of two numbers of 32 bits says.
pub fn compare(operation: Operation, first: u32, second: u32) -> Option<bool> {
    let (left, right) = (first as i32, second as i32);
    Some(match operation {
        Operation::s_cmp_eq_i32 | Operation::s_cmp_eq_u32 => first == second,
        Operation::s_cmp_lg_i32 | Operation::s_cmp_lg_u32 => first != second,
        Operation::s_cmpk_eq_i32 | Operation::s_cmpk_eq_u32 => first == second,
        Operation::s_cmpk_lg_i32 | Operation::s_cmpk_lg_u32 => first != second,
        Operation::s_cmp_gt_i32 | Operation::s_cmpk_gt_i32 => left > right,
        Operation::s_cmp_ge_i32 | Operation::s_cmpk_ge_i32 => left >= right,
        Operation::s_cmp_lt_i32 | Operation::s_cmpk_lt_i32 => left < right,
        Operation::s_cmp_le_i32 | Operation::s_cmpk_le_i32 => left <= right,
        Operation::s_cmp_gt_u32 | Operation::s_cmpk_gt_u32 => first > second,
        Operation::s_cmp_ge_u32 | Operation::s_cmpk_ge_u32 => first >= second,
        Operation::s_cmp_lt_u32 | Operation::s_cmpk_lt_u32 => first < second,
        Operation::s_cmp_le_u32 | Operation::s_cmpk_le_u32 => first <= second,
        Operation::s_bitcmp0_b32 => (first >> (second & 31)) & 1 == 0,
        Operation::s_bitcmp1_b32 => (first >> (second & 31)) & 1 == 1,
        _ => return None,
    })
}

/// Whether a comparison with 16 bits in the instruction takes them without a sign.
pub fn compares_unsigned(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::s_cmpk_eq_u32
            | Operation::s_cmpk_lg_u32
            | Operation::s_cmpk_gt_u32
            | Operation::s_cmpk_ge_u32
            | Operation::s_cmpk_lt_u32
            | Operation::s_cmpk_le_u32
    )
}

/// What a comparison of 64 bits says.
pub fn compare_64(operation: Operation, first: u64, second: u64) -> Option<bool> {
    Some(match operation {
        Operation::s_cmp_eq_u64 => first == second,
        Operation::s_cmp_lg_u64 => first != second,
        Operation::s_bitcmp0_b64 => (first >> (second & 63)) & 1 == 0,
        Operation::s_bitcmp1_b64 => (first >> (second & 63)) & 1 == 1,
        _ => return None,
    })
}
