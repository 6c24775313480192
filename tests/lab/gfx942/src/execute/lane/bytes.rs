// SPDX-License-Identifier: GPL-2.0-only
//! Operations on the bytes and halves of a register, and on pairs of results.

use super::value::Value;
use super::Inputs;
use crate::code::Operation;

fn bytes_of(value: u64) -> [u32; 4] {
    (value as u32).to_le_bytes().map(u32::from)
}

/// The sum of differences of the bytes; those of a mask that are zero do not count.
pub fn differences(first: u64, second: u64, masked: bool) -> u32 {
    let pairs = bytes_of(first).into_iter().zip(bytes_of(second));
    pairs
        .filter(|(_, reference)| !masked || *reference != 0)
        .map(|(byte, reference)| byte.abs_diff(reference))
        .sum()
}

/// The byte of eight, or a constant, that a selector names.
fn selected(both: u64, selector: u32) -> u8 {
    let byte = |at: u32| (both >> (8 * at)) as u8;
    match selector {
        0..=7 => byte(selector),
        // The signs of the words, from the lowest up.
        8..=11 => (byte(2 * (selector - 8) + 1) as i8 >> 7) as u8,
        12 => 0,
        _ => 0xff,
    }
}

fn permuted(inputs: &Inputs) -> u32 {
    let both = (inputs.first << 32) | inputs.second & 0xffff_ffff;
    let chosen = bytes_of(inputs.third).map(|selector| selected(both, selector));
    u32::from_le_bytes(chosen)
}

/// Averages of bytes; the lowest bits of the third say which are rounded up.
fn averages(inputs: &Inputs) -> u32 {
    let (first, second) = (bytes_of(inputs.first), bytes_of(inputs.second));
    let rounds = bytes_of(inputs.third);
    let sums = first.into_iter().zip(second).zip(rounds);
    sums.rev().fold(0, |value, ((left, right), up)| {
        (value << 8) | ((left + right + (up & 1)) >> 1)
    })
}

pub fn evaluate(operation: Operation, inputs: &Inputs) -> Option<Value> {
    let (first, second) = (inputs.first as u32, inputs.second as u32);
    let sum = |value: u32, bits: u32| Value::Exact {
        value: (i128::from(value) << bits) + i128::from(inputs.third as u32),
        bits: 32,
        signed: false,
    };
    Some(match operation {
        Operation::v_perm_b32 => Value::Bits32(permuted(inputs)),
        Operation::v_lerp_u8 => Value::Bits32(averages(inputs)),
        Operation::v_sad_u8 => sum(differences(inputs.first, inputs.second, false), 0),
        Operation::v_sad_hi_u8 => sum(differences(inputs.first, inputs.second, false), 16),
        Operation::v_msad_u8 => sum(differences(inputs.first, inputs.second, true), 0),
        Operation::v_sad_u16 => {
            let lower = (first & 0xffff).abs_diff(second & 0xffff);
            sum(lower + (first >> 16).abs_diff(second >> 16), 0)
        }
        Operation::v_sad_u32 => sum(first.abs_diff(second), 0),
        Operation::v_sat_pk_u8_i16 => {
            let limited = |value: u32| (value as u16 as i16).clamp(0, 255) as u32;
            Value::Bits32(limited(first) | (limited(first >> 16) << 8))
        }
        Operation::v_cvt_pk_u16_u32 => {
            let limited = |value: u32| value.min(0xffff);
            Value::Bits32(limited(first) | (limited(second) << 16))
        }
        Operation::v_cvt_pk_i16_i32 => {
            let limited = |value: u32| u32::from((value as i32).clamp(-0x8000, 0x7fff) as u16);
            Value::Bits32(limited(first) | (limited(second) << 16))
        }
        Operation::v_pack_b32_f16 => Value::Bits32(first & 0xffff | (second << 16)),
        _ => return None,
    })
}
