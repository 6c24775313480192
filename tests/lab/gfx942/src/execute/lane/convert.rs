// SPDX-License-Identifier: GPL-2.0-only
//! From one format to another, and between integers and floating point.

use super::modes::Modes;
use super::value::Value;
use super::Inputs;
use crate::code::Operation;
use crate::float::{
    round, to_integer, Eight, Format, Number, Rounding, BF8, DOUBLE, FP8, HALF, SINGLE,
};

/// An integer of these bits, the nearest that there is; zero for what is no number.
fn limited(number: Number, rounding: Rounding, least: i128, most: i128) -> i128 {
    match number {
        Number::Infinite { negative: true } => least,
        Number::Infinite { negative: false } => most,
        _ => to_integer(number, rounding).unwrap_or(0).clamp(least, most),
    }
}

fn signed(number: Number, rounding: Rounding) -> Value {
    Value::Bits32(limited(number, rounding, i32::MIN.into(), i32::MAX.into()) as u32)
}

fn unsigned(number: Number, rounding: Rounding) -> Value {
    Value::Bits32(limited(number, rounding, 0, u32::MAX.into()) as u32)
}

/// A number from minus one or zero to one, as a fraction of the largest integer.
fn normalized(number: Number, least: i128, most: i128) -> u32 {
    let scaled = number.times(Number::integer(most));
    u32::from(limited(scaled, Rounding::Even, least, most) as u16)
}

/// To integers of less than 32 bits, and pairs of them.
fn narrow(operation: Operation, inputs: &Inputs, modes: &Modes) -> Option<Value> {
    let half = |bits| modes.unpack(HALF, bits);
    let single = |bits| modes.unpack(SINGLE, bits);
    let pair = |of: [Number; 2], least, most| {
        let [lower, upper] = of.map(|number| normalized(number, least, most));
        Value::Bits32(lower | (upper << 16))
    };
    let (first, second) = (inputs.first, inputs.second);
    let halves = [half(first), half(second)];
    let singles = [single(first), single(second)];
    Some(match operation {
        Operation::v_cvt_u16_f16 => {
            Value::Bits16(limited(halves[0], Rounding::Zero, 0, 0xffff) as u16)
        }
        Operation::v_cvt_i16_f16 => {
            Value::Bits16(limited(halves[0], Rounding::Zero, -0x8000, 0x7fff) as u16)
        }
        Operation::v_cvt_norm_i16_f16 => {
            Value::Bits16(normalized(halves[0], -0x7fff, 0x7fff) as u16)
        }
        Operation::v_cvt_norm_u16_f16 => Value::Bits16(normalized(halves[0], 0, 0xffff) as u16),
        Operation::v_cvt_pknorm_i16_f16 => pair(halves, -0x7fff, 0x7fff),
        Operation::v_cvt_pknorm_u16_f16 => pair(halves, 0, 0xffff),
        Operation::v_cvt_pknorm_i16_f32 => pair(singles, -0x7fff, 0x7fff),
        Operation::v_cvt_pknorm_u16_f32 => pair(singles, 0, 0xffff),
        Operation::v_cvt_pkrtz_f16_f32 => {
            let [lower, upper] = singles
                .map(|number| modes.output(HALF, round(number, HALF, Rounding::Zero)) as u32);
            Value::Bits32(lower | (upper << 16))
        }
        Operation::v_cvt_pk_u8_f32 | Operation::v_cvt_pkaccum_u8_f32 => {
            let byte = limited(singles[0], modes.rounding(SINGLE), 0, 0xff) as u32;
            let at = 8 * (second as u32 & 3);
            Value::Bits32(inputs.third as u32 & !(0xff << at) | (byte << at))
        }
        _ => return None,
    })
}

/// From and to eight bits. Whatever MODE says of rounding, the nearest number is taken, or
/// what random bits decide.
fn eight(operation: Operation, inputs: &Inputs, modes: &Modes) -> Option<Value> {
    let single =
        |kind: Eight, at: u32| modes.round(SINGLE, kind.unpack((inputs.first >> (8 * at)) as u8));
    let one = |kind| Value::Float(SINGLE, single(kind, 0));
    let two = |kind| Value::Bits64(single(kind, 0) | (single(kind, 1) << 32));
    let pair = |kind: Eight| {
        let limits = modes.limits_overflow();
        let byte = |bits| u16::from(kind.round(modes.unpack(SINGLE, bits & 0xffff_ffff), limits));
        Value::Bits16(byte(inputs.first) | (byte(inputs.second) << 8))
    };
    let at_random = |kind: Eight| {
        let (number, random) = (
            modes.unpack(SINGLE, inputs.first & 0xffff_ffff),
            inputs.second,
        );
        Value::Bits8(kind.round_at_random(number, random as u32, modes.limits_overflow()))
    };
    Some(match operation {
        Operation::v_cvt_f32_fp8 => one(FP8),
        Operation::v_cvt_f32_bf8 => one(BF8),
        Operation::v_cvt_pk_f32_fp8 => two(FP8),
        Operation::v_cvt_pk_f32_bf8 => two(BF8),
        Operation::v_cvt_pk_fp8_f32 => pair(FP8),
        Operation::v_cvt_pk_bf8_f32 => pair(BF8),
        Operation::v_cvt_sr_fp8_f32 => at_random(FP8),
        Operation::v_cvt_sr_bf8_f32 => at_random(BF8),
        _ => return None,
    })
}

pub fn evaluate(operation: Operation, inputs: &Inputs, modes: &Modes) -> Option<Value> {
    let bits = inputs.first;
    let half = modes.unpack(HALF, bits & 0xffff);
    let single = modes.unpack(SINGLE, bits & 0xffff_ffff);
    let double = modes.unpack(DOUBLE, bits);
    let to = |format: Format, number| Value::Float(format, modes.round(format, number));
    let integer = |value: i128| Number::integer(value);
    let byte = |at: u32| integer(i128::from((bits >> (8 * at)) & 0xff));
    let point_five = integer(1).scaled(-1);
    Some(match operation {
        Operation::v_cvt_f32_f16 => to(SINGLE, half),
        Operation::v_cvt_f32_f64 => to(SINGLE, double),
        Operation::v_cvt_f64_f32 => to(DOUBLE, single),
        Operation::v_cvt_f16_f32 => to(HALF, single),
        Operation::v_cvt_f32_i32 => to(SINGLE, integer((bits as u32 as i32).into())),
        Operation::v_cvt_f32_u32 => to(SINGLE, integer((bits as u32).into())),
        Operation::v_cvt_f64_i32 => to(DOUBLE, integer((bits as u32 as i32).into())),
        Operation::v_cvt_f64_u32 => to(DOUBLE, integer((bits as u32).into())),
        Operation::v_cvt_f16_i16 => to(HALF, integer((bits as u16 as i16).into())),
        Operation::v_cvt_f16_u16 => to(HALF, integer((bits as u16).into())),
        Operation::v_cvt_f32_ubyte0 => to(SINGLE, byte(0)),
        Operation::v_cvt_f32_ubyte1 => to(SINGLE, byte(1)),
        Operation::v_cvt_f32_ubyte2 => to(SINGLE, byte(2)),
        Operation::v_cvt_f32_ubyte3 => to(SINGLE, byte(3)),
        Operation::v_cvt_off_f32_i4 => {
            let value = ((bits as u8) << 4) as i8 >> 4;
            to(SINGLE, integer(value.into()).scaled(-4))
        }
        Operation::v_cvt_i32_f32 => signed(single, Rounding::Zero),
        Operation::v_cvt_u32_f32 => unsigned(single, Rounding::Zero),
        Operation::v_cvt_i32_f64 => signed(double, Rounding::Zero),
        Operation::v_cvt_u32_f64 => unsigned(double, Rounding::Zero),
        Operation::v_cvt_rpi_i32_f32 => signed(single.plus(point_five, false), Rounding::Down),
        Operation::v_cvt_flr_i32_f32 => signed(single, Rounding::Down),
        _ => {
            return narrow(operation, inputs, modes).or_else(|| eight(operation, inputs, modes));
        }
    })
}
