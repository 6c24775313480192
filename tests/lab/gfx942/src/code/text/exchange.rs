// SPDX-License-Identifier: GPL-2.0-only
//! The ways in which lanes exchange registers.

use crate::code::instruction::Exchange;

pub fn text(exchange: Exchange) -> String {
    match exchange {
        Exchange::QuadPermutation([a, b, c, d]) => format!("quad_perm:[{a},{b},{c},{d}]"),
        Exchange::RowShiftLeft(by) => format!("row_shl:{by}"),
        Exchange::RowShiftRight(by) => format!("row_shr:{by}"),
        Exchange::RowRotateRight(by) => format!("row_ror:{by}"),
        Exchange::WaveShiftLeft => "wave_shl:1".to_string(),
        Exchange::WaveRotateLeft => "wave_rol:1".to_string(),
        Exchange::WaveShiftRight => "wave_shr:1".to_string(),
        Exchange::WaveRotateRight => "wave_ror:1".to_string(),
        Exchange::RowMirror => "row_mirror".to_string(),
        Exchange::RowHalfMirror => "row_half_mirror".to_string(),
        Exchange::RowBroadcast15 => "row_bcast:15".to_string(),
        Exchange::RowBroadcast31 => "row_bcast:31".to_string(),
        Exchange::RowBroadcast(lane) => format!("row_newbcast:{lane}"),
    }
}

/// What the offset of `ds_swizzle_b32` says.
pub fn swizzle(offset: u32) -> String {
    let (and, or, xor) = (offset & 0x1f, (offset >> 5) & 0x1f, (offset >> 10) & 0x1f);
    let group = 32 - and;
    let how = if offset & 0xff00 == 0x8000 {
        let lane = |at: u32| (offset >> (2 * at)) & 3;
        format!("QUAD_PERM,{},{},{},{}", lane(0), lane(1), lane(2), lane(3))
    } else if offset & 0x8000 != 0 {
        return format!(" offset:{offset}");
    } else if (and, or) == (0x1f, 0) && xor.is_power_of_two() {
        format!("SWAP,{xor}")
    } else if (and, or) == (0x1f, 0) && xor > 0 && (xor + 1).is_power_of_two() {
        format!("REVERSE,{}", xor + 1)
    } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        format!("BROADCAST,{group},{or}")
    } else {
        let bits = (0..5).rev().map(|at| {
            let of = |bit: u32| ((bit & (and >> at) | (or >> at)) ^ (xor >> at)) & 1;
            match (of(0), of(1)) {
                (0, 0) => '0',
                (1, 1) => '1',
                (0, _) => 'p',
                _ => 'i',
            }
        });
        format!("BITMASK_PERM,\"{}\"", bits.collect::<String>())
    };
    format!(" offset:swizzle({how})")
}
