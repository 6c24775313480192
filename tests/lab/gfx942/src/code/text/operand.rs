// SPDX-License-Identifier: GPL-2.0-only
//! Operands as text.

use crate::code::operand::Operand;
use crate::code::registers::{EXEC, M0, VCC};
use crate::code::table::{Kind, Number, Signs};

/// The constants from number 240 on, with what 16-bit integers make of them.
const FLOATS: [(&str, &str); 9] = [
    ("0.5", "0x3800"),
    ("-0.5", "0xb800"),
    ("1.0", "0x3c00"),
    ("-1.0", "0xbc00"),
    ("2.0", "0x4000"),
    ("-2.0", "0xc000"),
    ("4.0", "0x4400"),
    ("-4.0", "0xc400"),
    ("0.15915494", "0x3118"),
];

/// Their bits, as numbers of 32 and of 16 bits.
const SINGLES: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];
const HALVES: [u32; 9] = [
    0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118,
];

const DOUBLES: [u64; 8] = [
    0x3fe0_0000_0000_0000,
    0xbfe0_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x4000_0000_0000_0000,
    0xc000_0000_0000_0000,
    0x4010_0000_0000_0000,
    0xc010_0000_0000_0000,
];

fn tuple(letter: &str, first: u8, dwords: u8) -> String {
    if dwords == 1 {
        format!("{letter}{first}")
    } else {
        format!(
            "{letter}[{first}:{}]",
            u32::from(first) + u32::from(dwords) - 1
        )
    }
}

/// A special register of two halves.
fn halves(name: &str, upper: bool, dwords: u8) -> String {
    match (dwords, upper) {
        (1, false) => format!("{name}_lo"),
        (1, true) => format!("{name}_hi"),
        _ => name.to_string(),
    }
}

fn scalar(code: u8, dwords: u8) -> String {
    let upper = code % 2 == 1;
    match code {
        102 | 103 => halves("flat_scratch", upper, dwords),
        104 | 105 => halves("xnack_mask", upper, dwords),
        VCC | 107 => halves("vcc", upper, dwords),
        108..=123 => tuple("ttmp", code - 108, dwords),
        M0 => "m0".to_string(),
        125 => "null".to_string(),
        EXEC | 127 => halves("exec", upper, dwords),
        235 => "src_shared_base".to_string(),
        236 => "src_shared_limit".to_string(),
        237 => "src_private_base".to_string(),
        238 => "src_private_limit".to_string(),
        239 => "src_pops_exiting_wave_id".to_string(),
        251 => "src_vccz".to_string(),
        252 => "src_execz".to_string(),
        253 => "src_scc".to_string(),
        254 => "src_lds_direct".to_string(),
        _ => tuple("s", code, dwords),
    }
}

fn inline(code: u8, kind: Kind) -> String {
    match code {
        128..=192 => (code - 128).to_string(),
        193..=208 => (192 - i32::from(code)).to_string(),
        248 if kind.dwords == 2 => "0.15915494309189532".to_string(),
        _ => FLOATS
            .get(usize::from(code.wrapping_sub(240)))
            .map(|(float, half)| match kind.number {
                Number::Integer16 => half,
                _ => float,
            })
            .map_or_else(String::new, |text| (*text).to_string()),
    }
}

/// A literal that equals a constant of the encoding is written as that constant.
fn literal(value: u32, kind: Kind) -> String {
    let among = |bits: &[u32], value| bits.iter().position(|bits| *bits == value);
    let (integer, float, shown) = match (kind.number, kind.dwords, kind.signs) {
        (Number::Float16, ..) => {
            let half = value & 0xffff;
            (i64::from(half as u16 as i16), among(&HALVES, half), half)
        }
        (Number::Integer16, ..) => (
            i64::from(value as i32),
            among(&SINGLES, value),
            value & 0xffff,
        ),
        (Number::Pair, ..) => (i64::from(value as i32), among(&HALVES, value), value),
        (Number::Wide, 1, _) => (i64::from(value as i32), among(&SINGLES, value), value),
        (Number::Wide, _, Signs::Float) => {
            let upper = u64::from(value) << 32;
            let at = DOUBLES.iter().position(|bits| *bits == upper);
            (upper as i64, at, value)
        }
        (Number::Wide, ..) => (i64::from(value), None, value),
    };
    match float {
        _ if (-16..=64).contains(&integer) => integer.to_string(),
        Some(at) => FLOATS[at].0.to_string(),
        None => format!("{shown:#x}"),
    }
}

/// The 32 bits behind an instruction, where they are no source.
pub fn number(operand: Operand) -> String {
    match operand {
        Operand::Literal { value, .. } => format!("{value:#x}"),
        _ => text(operand),
    }
}

pub fn text(operand: Operand) -> String {
    match operand {
        Operand::Scalar { code, dwords } => scalar(code, dwords),
        Operand::Vector { first, dwords } => tuple("v", first, dwords),
        Operand::Accumulation { first, dwords } => tuple("a", first, dwords),
        Operand::Inline { code, kind } => inline(code, kind),
        Operand::Literal { value, kind } => literal(value, kind),
        Operand::Immediate(value) => value.to_string(),
        Operand::Off => "off".to_string(),
    }
}
