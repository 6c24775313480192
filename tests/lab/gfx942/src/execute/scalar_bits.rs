// SPDX-License-Identifier: GPL-2.0-only
//! Bits of scalar numbers: logic, shifts, fields, counts. Numbers of 32 bits are
//! computed as the lower half of 64.

use super::scalar_arithmetic::Scalar;
use crate::code::Operation;

/// `value` with the condition code saying whether it is something.
fn tested(value: u64) -> Scalar<u64> {
    (value, Some(value != 0))
}

const fn mask(bits: u32) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// The bits of `value` from `from` on, `width` of them.
fn field(value: u64, from: u32, width: u32) -> u64 {
    (value >> from) & mask(width)
}

/// The same, extended by the sign of the last.
fn signed_field(value: i64, from: u32, width: u32) -> u64 {
    let unused = 64_u32.saturating_sub(width);
    match width {
        0 => 0,
        _ => ((value >> from) << unused >> unused) as u64,
    }
}

/// The logic that there is in both widths, by the operation of 64 bits.
fn logic(operation: Operation, first: u64, second: u64) -> Option<u64> {
    Some(match operation {
        Operation::s_and_b32 | Operation::s_and_b64 => first & second,
        Operation::s_or_b32 | Operation::s_or_b64 => first | second,
        Operation::s_xor_b32 | Operation::s_xor_b64 => first ^ second,
        Operation::s_andn2_b32 | Operation::s_andn2_b64 => first & !second,
        Operation::s_orn2_b32 | Operation::s_orn2_b64 => first | !second,
        Operation::s_nand_b32 | Operation::s_nand_b64 => !(first & second),
        Operation::s_nor_b32 | Operation::s_nor_b64 => !(first | second),
        Operation::s_xnor_b32 | Operation::s_xnor_b64 => !(first ^ second),
        _ => return None,
    })
}

/// What an operation makes of two numbers, the result cut to `bits`.
pub fn two(operation: Operation, first: u64, second: u64, bits: u32) -> Option<Scalar<u64>> {
    if let Some(value) = logic(operation, first, second) {
        return Some(tested(value & mask(bits)));
    }
    let lower = second as u32;
    let by = lower & (bits - 1);
    // A field's place and width, both in the second number.
    let width = (lower >> 16) & 0x7f;
    let half = i64::from(first as i32);
    let value = match operation {
        Operation::s_lshl_b32 | Operation::s_lshl_b64 => first << by,
        Operation::s_lshr_b32 | Operation::s_lshr_b64 => first >> by,
        Operation::s_ashr_i32 => (half >> by) as u64,
        Operation::s_ashr_i64 => (first as i64 >> by) as u64,
        Operation::s_bfe_u32 | Operation::s_bfe_u64 => field(first, by, width),
        Operation::s_bfe_i32 => signed_field(half, by, width),
        Operation::s_bfe_i64 => signed_field(first as i64, by, width),
        Operation::s_bfm_b32 | Operation::s_bfm_b64 => {
            let made = mask(first as u32 & (bits - 1)) << by;
            return Some((made & mask(bits), None));
        }
        Operation::s_pack_ll_b32_b16 => {
            return Some((first & 0xffff | ((second & 0xffff) << 16), None))
        }
        Operation::s_pack_lh_b32_b16 => {
            return Some((first & 0xffff | second & 0xffff_0000, None));
        }
        Operation::s_pack_hh_b32_b16 => {
            return Some(((first >> 16) & 0xffff | second & 0xffff_0000, None));
        }
        _ => return None,
    };
    Some(tested(value & mask(bits)))
}

/// The place of the first bit that is `set`, from the lowest up; all ones if none is.
fn first_bit(value: u64, set: bool, bits: u32) -> u64 {
    let value = if set { value } else { !value } & mask(bits);
    match value {
        0 => u64::MAX,
        _ => value.trailing_zeros().into(),
    }
}

/// How many bits from the highest down are not set; all ones if none is set.
fn leading(value: u64, bits: u32) -> u64 {
    match value & mask(bits) {
        0 => u64::MAX,
        value => u64::from(value.leading_zeros()) - u64::from(64 - bits),
    }
}

/// How many bits from the highest down are equal; all ones if all are.
fn leading_sign(value: u64, bits: u32) -> u64 {
    let negative = (value >> (bits - 1)) & 1 != 0;
    leading(if negative { !value } else { value }, bits)
}

/// All bits of each group of four in which one is set.
fn whole_quads(value: u64) -> u64 {
    let any = value | (value >> 1) | (value >> 2) | (value >> 3);
    (any & 0x1111_1111_1111_1111) * 0xf
}

/// One bit for each group of four in which one is set.
fn quads(value: u64) -> u64 {
    (0..16).fold(0, |found, quad| {
        found | (u64::from((value >> (4 * quad)) & 0xf != 0) << quad)
    })
}

/// Each of 32 bits twice.
fn twice(value: u64) -> u64 {
    (0..32).fold(0, |found, bit| {
        found | ((((value >> bit) & 1) * 3) << (2 * bit))
    })
}

/// What an operation makes of one number of `bits`.
pub fn one(operation: Operation, value: u64, bits: u32) -> Option<Scalar<u64>> {
    let half = value as u32 as i32;
    let result = match operation {
        Operation::s_mov_b32 | Operation::s_mov_b64 => value,
        Operation::s_brev_b32 | Operation::s_brev_b64 => value.reverse_bits() >> (64 - bits),
        Operation::s_ff0_i32_b32 | Operation::s_ff0_i32_b64 => first_bit(value, false, bits),
        Operation::s_ff1_i32_b32 | Operation::s_ff1_i32_b64 => first_bit(value, true, bits),
        Operation::s_flbit_i32_b32 | Operation::s_flbit_i32_b64 => leading(value, bits),
        Operation::s_flbit_i32 | Operation::s_flbit_i32_i64 => leading_sign(value, bits),
        Operation::s_sext_i32_i8 => i64::from(half as i8) as u64,
        Operation::s_sext_i32_i16 => i64::from(half as i16) as u64,
        Operation::s_bitreplicate_b64_b32 => twice(value),
        Operation::s_not_b32 | Operation::s_not_b64 => return Some(tested(!value & mask(bits))),
        Operation::s_wqm_b32 | Operation::s_wqm_b64 => return Some(tested(whole_quads(value))),
        Operation::s_quadmask_b32 | Operation::s_quadmask_b64 => return Some(tested(quads(value))),
        Operation::s_bcnt0_i32_b32 | Operation::s_bcnt0_i32_b64 => {
            return Some(tested((!value & mask(bits)).count_ones().into()));
        }
        Operation::s_bcnt1_i32_b32 | Operation::s_bcnt1_i32_b64 => {
            return Some(tested(value.count_ones().into()));
        }
        Operation::s_abs_i32 => return Some(tested(half.wrapping_abs() as u32 as u64)),
        _ => return None,
    };
    Some((result, None))
}

/// What becomes of EXEC when it is combined with a source.
pub fn with_exec(operation: Operation, source: u64, exec: u64) -> Option<u64> {
    Some(match operation {
        Operation::s_and_saveexec_b64 => source & exec,
        Operation::s_or_saveexec_b64 => source | exec,
        Operation::s_xor_saveexec_b64 => source ^ exec,
        Operation::s_andn2_saveexec_b64 | Operation::s_andn2_wrexec_b64 => source & !exec,
        Operation::s_orn2_saveexec_b64 => source | !exec,
        Operation::s_nand_saveexec_b64 => !(source & exec),
        Operation::s_nor_saveexec_b64 => !(source | exec),
        Operation::s_xnor_saveexec_b64 => !(source ^ exec),
        Operation::s_andn1_saveexec_b64 | Operation::s_andn1_wrexec_b64 => !source & exec,
        Operation::s_orn1_saveexec_b64 => !source | exec,
        _ => return None,
    })
}
