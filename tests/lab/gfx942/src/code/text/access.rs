// SPDX-License-Identifier: GPL-2.0-only
//! Offsets, caches and formats of memory instructions.

use super::{exchange, operand};
use crate::code::instruction::{Access, Encoding, Instruction};
use crate::code::operand::Operand;
use crate::code::operation::Operation;
use crate::code::table::Role;

const DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];
const NUMBER_FORMATS: [&str; 8] = [
    "UNORM",
    "SNORM",
    "USCALED",
    "SSCALED",
    "UINT",
    "SINT",
    "RESERVED_6",
    "FLOAT",
];
/// What is not written: one byte, from zero to one.
const DEFAULT_DATA_FORMAT: u8 = 1;

fn flags(flags: &[(bool, &str)]) -> String {
    let mut text = String::new();
    for (_, name) in flags.iter().filter(|(set, _)| *set) {
        text += " ";
        text += name;
    }
    text
}

/// The offset of a scalar access: a register, a number, or both.
pub fn scalar_offset(register: Operand, access: &Access) -> String {
    let sign = if access.offset < 0 { "-" } else { "" };
    match register {
        Operand::Off => format!("{sign}{:#x}", access.offset.unsigned_abs()),
        _ if access.with_register => {
            format!(
                "{} offset:{sign}{:#x}",
                operand::text(register),
                access.offset.unsigned_abs()
            )
        }
        _ => operand::text(register),
    }
}

pub fn scalar(instruction: &Instruction, access: &Access) -> String {
    let has_data = instruction
        .with_roles()
        .any(|(role, _)| role == Role::Data(0));
    let has_address = instruction
        .with_roles()
        .any(|(role, _)| role == Role::Address);
    flags(&[(access.glc && has_data && has_address, "glc")])
}

pub fn share(instruction: &Instruction, access: &Access) -> String {
    let mut text = String::new();
    if instruction.operation == Operation::ds_swizzle_b32 {
        if access.offset != 0 {
            text += &exchange::swizzle(access.offset as u32);
        }
    } else if instruction.shape.properties.has_two_offsets() {
        if access.offset != 0 {
            text += &format!(" offset0:{}", access.offset);
        }
        if access.second_offset != 0 {
            text += &format!(" offset1:{}", access.second_offset);
        }
    } else if access.offset != 0 {
        text += &format!(" offset:{}", access.offset);
    }
    text + &flags(&[(instruction.shape.properties.has_global_share(), "gds")])
}

fn format(access: &Access) -> String {
    let data = DATA_FORMATS[usize::from(access.data_format & 0xf)];
    let number = NUMBER_FORMATS[usize::from(access.number_format & 7)];
    let data =
        (access.data_format != DEFAULT_DATA_FORMAT).then(|| format!("BUF_DATA_FORMAT_{data}"));
    let number = (access.number_format != 0).then(|| format!("BUF_NUM_FORMAT_{number}"));
    let named: Vec<String> = [data, number].into_iter().flatten().collect();
    if named.is_empty() {
        String::new()
    } else {
        format!(" format:[{}]", named.join(","))
    }
}

/// Flat accesses, and those through buffers.
pub fn vector(instruction: &Instruction, access: &Access) -> String {
    match instruction.operation {
        Operation::buffer_wbinvl1 | Operation::buffer_wbinvl1_vol => return String::new(),
        Operation::buffer_inv | Operation::buffer_wbl2 => {
            return flags(&[(access.sc0, "sc0"), (access.sc1, "sc1")]);
        }
        _ => (),
    }
    let mut text = String::new();
    if instruction.encoding == Encoding::Mtbuf {
        text += &format(access);
    }
    text += &flags(&[(access.idxen, "idxen"), (access.offen, "offen")]);
    if access.offset != 0 {
        text += &format!(" offset:{}", access.offset);
    }
    text += &flags(&[(access.sc0, "sc0"), (access.nt, "nt"), (access.sc1, "sc1")]);
    let written = access.lds && instruction.encoding == Encoding::Mubuf;
    text + &flags(&[(written, "lds")])
}
