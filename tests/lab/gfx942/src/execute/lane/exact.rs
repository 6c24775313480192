// SPDX-License-Identifier: GPL-2.0-only
//! Integer operations whose result can be limited to what its bits can have, or that
//! have a carry, and those of 16 and 64 bits.

use super::value::{Output, Value};
use super::Inputs;
use crate::code::Operation;

fn signed_24(value: u64) -> i128 {
    i128::from(((value as u32) << 8) as i32 >> 8)
}

fn unsigned_24(value: u64) -> i128 {
    i128::from(value & 0xff_ffff)
}

const fn unsigned(value: i128, bits: u32) -> Value {
    Value::Exact {
        value,
        bits,
        signed: false,
    }
}

const fn signed(value: i128, bits: u32) -> Value {
    Value::Exact {
        value,
        bits,
        signed: true,
    }
}

/// Sums and differences of 32 bits with a carry.
fn carried(operation: Operation, inputs: &Inputs) -> Option<Output> {
    let (first, second) = (
        i128::from(inputs.first as u32),
        i128::from(inputs.second as u32),
    );
    let carry = i128::from(inputs.flag);
    let value = match operation {
        Operation::v_add_co_u32 => first + second,
        Operation::v_addc_co_u32 => first + second + carry,
        Operation::v_sub_co_u32 => first - second,
        Operation::v_subb_co_u32 => first - second - carry,
        Operation::v_subrev_co_u32 => second - first,
        Operation::v_subbrev_co_u32 => second - first - carry,
        _ => return None,
    };
    Some(Output {
        value: unsigned(value, 32),
        flag: Some(u32::try_from(value).is_err()),
    })
}

/// Products of 32 bits, added to 64.
fn long_product(operation: Operation, inputs: &Inputs) -> Option<Output> {
    let (value, fits) = match operation {
        Operation::v_mad_u64_u32 => {
            let product = i128::from(inputs.first as u32) * i128::from(inputs.second as u32);
            let value = product + i128::from(inputs.third);
            (unsigned(value, 64), u64::try_from(value).is_ok())
        }
        Operation::v_mad_i64_i32 => {
            let left = i128::from(inputs.first as u32 as i32);
            let value =
                left * i128::from(inputs.second as u32 as i32) + i128::from(inputs.third as i64);
            (signed(value, 64), i64::try_from(value).is_ok())
        }
        _ => return None,
    };
    Some(Output {
        value,
        flag: Some(!fits),
    })
}

/// Numbers of 16 bits.
fn short(operation: Operation, inputs: &Inputs) -> Option<Value> {
    let [a, b, c] = [inputs.first, inputs.second, inputs.third].map(|of| i128::from(of as u16));
    let [i, j, k] =
        [inputs.first, inputs.second, inputs.third].map(|of| i128::from(of as u16 as i16));
    let by = a & 15;
    let median = |x: i128, y: i128, z: i128| x.max(y).min(x.min(y).max(z));
    Some(match operation {
        Operation::v_add_u16 => unsigned(a + b, 16),
        Operation::v_sub_u16 => unsigned(a - b, 16),
        Operation::v_subrev_u16 => unsigned(b - a, 16),
        Operation::v_add_i16 => signed(i + j, 16),
        Operation::v_sub_i16 => signed(i - j, 16),
        Operation::v_mul_lo_u16 => Value::Bits16((a * b) as u16),
        Operation::v_lshlrev_b16 => Value::Bits16((b << by) as u16),
        Operation::v_lshrrev_b16 => Value::Bits16((b >> by) as u16),
        Operation::v_ashrrev_i16 => Value::Bits16((j >> by) as u16),
        Operation::v_max_u16 => Value::Bits16(a.max(b) as u16),
        Operation::v_min_u16 => Value::Bits16(a.min(b) as u16),
        Operation::v_max_i16 => Value::Bits16(i.max(j) as u16),
        Operation::v_min_i16 => Value::Bits16(i.min(j) as u16),
        Operation::v_mad_u16 | Operation::v_mad_legacy_u16 => unsigned(a * b + c, 16),
        Operation::v_mad_i16 | Operation::v_mad_legacy_i16 => signed(i * j + k, 16),
        Operation::v_min3_u16 => unsigned(a.min(b).min(c), 16),
        Operation::v_max3_u16 => unsigned(a.max(b).max(c), 16),
        Operation::v_med3_u16 => unsigned(median(a, b, c), 16),
        Operation::v_min3_i16 => signed(i.min(j).min(k), 16),
        Operation::v_max3_i16 => signed(i.max(j).max(k), 16),
        Operation::v_med3_i16 => signed(median(i, j, k), 16),
        Operation::v_mad_u32_u16 => unsigned(a * b + i128::from(inputs.third as u32), 32),
        Operation::v_mad_i32_i16 => signed(i * j + i128::from(inputs.third as u32 as i32), 32),
        _ => return None,
    })
}

/// The first number, shifted by up to four bits, and the third. A shift by more is none.
pub const fn shifted_sum(value: u64, by: u64, addend: u64) -> u64 {
    let by = match by & 7 {
        by @ 0..=4 => by,
        _ => 0,
    };
    (value << by).wrapping_add(addend)
}

/// Numbers of 64 bits.
fn long(operation: Operation, inputs: &Inputs) -> Option<Value> {
    let by = inputs.first & 63;
    Some(Value::Bits64(match operation {
        Operation::v_mov_b64 => inputs.first,
        Operation::v_lshlrev_b64 => inputs.second << by,
        Operation::v_lshrrev_b64 => inputs.second >> by,
        Operation::v_ashrrev_i64 => (inputs.second as i64 >> by) as u64,
        Operation::v_lshl_add_u64 => shifted_sum(inputs.first, inputs.second, inputs.third),
        _ => return None,
    }))
}

pub fn evaluate(operation: Operation, inputs: &Inputs) -> Option<Output> {
    let [first, second] = [inputs.first, inputs.second].map(|of| i128::from(of as u32));
    let [left, right] = [inputs.first, inputs.second].map(|of| i128::from(of as u32 as i32));
    let third = i128::from(inputs.third as u32);
    let value = match operation {
        Operation::v_add_u32 => unsigned(first + second, 32),
        Operation::v_sub_u32 => unsigned(first - second, 32),
        Operation::v_subrev_u32 => unsigned(second - first, 32),
        Operation::v_add_i32 => signed(left + right, 32),
        Operation::v_sub_i32 => signed(left - right, 32),
        Operation::v_mul_i32_i24 => signed(signed_24(inputs.first) * signed_24(inputs.second), 32),
        Operation::v_mul_u32_u24 => {
            unsigned(unsigned_24(inputs.first) * unsigned_24(inputs.second), 32)
        }
        Operation::v_mad_i32_i24 => signed(
            signed_24(inputs.first) * signed_24(inputs.second)
                + i128::from(inputs.third as u32 as i32),
            32,
        ),
        Operation::v_mad_u32_u24 => unsigned(
            unsigned_24(inputs.first) * unsigned_24(inputs.second) + third,
            32,
        ),
        _ => {
            return carried(operation, inputs)
                .or_else(|| long_product(operation, inputs))
                .or_else(|| short(operation, inputs).map(Output::from))
                .or_else(|| long(operation, inputs).map(Output::from));
        }
    };
    Some(value.into())
}
