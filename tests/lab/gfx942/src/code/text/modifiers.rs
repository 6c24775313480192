// SPDX-License-Identifier: GPL-2.0-only
//! What stands around and behind the operands.

use super::{access, exchange, operand};
use crate::code::instruction::{
    Arithmetic, Encoding, Instruction, Lanes, Matrix, Modifiers, Pairs, Part, Parts, Unused,
};
use crate::code::operand::Operand;
use crate::code::operation::Operation;
use crate::code::table::Role;

fn with_signs(operand: Operand, absolute: bool, negative: bool, extend: bool) -> String {
    let mut text = operand::text(operand);
    if absolute {
        text = format!("|{text}|");
    }
    if negative {
        let constant = matches!(operand, Operand::Inline { .. } | Operand::Literal { .. });
        text = if constant && !absolute {
            format!("neg({text})")
        } else {
            format!("-{text}")
        };
    }
    if extend {
        text = format!("sext({text})");
    }
    text
}

/// The source number `at` with its signs.
pub fn signed(operand: Operand, at: u8, arithmetic: &Arithmetic) -> String {
    let of = |mask: u8| (mask >> at) & 1 != 0;
    with_signs(
        operand,
        of(arithmetic.absolute),
        of(arithmetic.negative),
        of(arithmetic.extend),
    )
}

/// The operations whose sources are each one or two halves wide, for which the bits
/// of the upper result say how the source is read.
fn mixes(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::v_fma_mix_f32 | Operation::v_fma_mixlo_f16 | Operation::v_fma_mixhi_f16
    )
}

/// A source of an instruction on pairs.
pub fn mixed(operation: Operation, operand: Operand, at: u8, pairs: &Pairs) -> String {
    if !mixes(operation) {
        return operand::text(operand);
    }
    let of = |mask: u8| (mask >> at) & 1 != 0;
    with_signs(
        operand,
        of(pairs.negative_high),
        of(pairs.negative_low),
        false,
    )
}

fn mask(name: &str, value: u8, count: u8, default: u8) -> String {
    let all = ((1u16 << count) - 1) as u8;
    if value & all == default & all {
        return String::new();
    }
    let bits: Vec<String> = (0..count)
        .map(|at| ((value >> at) & 1).to_string())
        .collect();
    format!(" {name}:[{}]", bits.join(","))
}

fn sources(instruction: &Instruction) -> u8 {
    instruction
        .with_roles()
        .filter(|(role, _)| matches!(role, Role::Source(_)))
        .count() as u8
}

fn limits(arithmetic: &Arithmetic) -> String {
    let clamp = if arithmetic.clamp { " clamp" } else { "" };
    let multiplier = match arithmetic.multiplier {
        1 => " mul:2",
        2 => " mul:4",
        3 => " div:2",
        _ => "",
    };
    format!("{clamp}{multiplier}")
}

fn arithmetic(instruction: &Instruction, arithmetic: &Arithmetic) -> String {
    let count = match instruction.operation {
        Operation::v_cvt_sr_fp8_f32 | Operation::v_cvt_sr_bf8_f32 => 3,
        _ => sources(instruction),
    };
    // The destination's bit comes after those of the sources that there are.
    let of_sources = arithmetic.select & ((1 << count) - 1);
    let select = of_sources | (((arithmetic.select >> 3) & 1) << count);
    mask("op_sel", select, count + 1, 0) + &limits(arithmetic)
}

fn pairs(instruction: &Instruction, pairs: &Pairs) -> String {
    let count = sources(instruction);
    let mixes = mixes(instruction.operation);
    let default = if mixes { 0 } else { 0xff };
    let mut text = mask("op_sel", pairs.select_low, count, 0);
    text += &mask("op_sel_hi", pairs.select_high, count, default);
    if !mixes {
        text += &mask("neg_lo", pairs.negative_low, count, 0);
        text += &mask("neg_hi", pairs.negative_high, count, 0);
    }
    if pairs.clamp {
        text += " clamp";
    }
    text
}

fn matrix(instruction: &Instruction, matrix: &Matrix) -> String {
    let mut text = String::new();
    if matrix.broadcast_size != 0 {
        text += &format!(" cbsz:{}", matrix.broadcast_size);
    }
    if matrix.broadcast_block != 0 {
        text += &format!(" abid:{}", matrix.broadcast_block);
    }
    let doubles = matches!(
        instruction.operation,
        Operation::v_mfma_f64_16x16x4_f64 | Operation::v_mfma_f64_4x4x4_4b_f64
    );
    if doubles {
        text += &mask("neg", matrix.lane_pattern, 3, 0);
    } else if matrix.lane_pattern != 0 {
        text += &format!(" blgp:{}", matrix.lane_pattern);
    }
    text
}

fn part(part: Part) -> String {
    match part {
        Part::Byte(at) => format!("BYTE_{at}"),
        Part::Word(at) => format!("WORD_{at}"),
        Part::Whole => "DWORD".to_string(),
    }
}

fn parts(instruction: &Instruction, parts: &Parts) -> String {
    let mut text = limits(&parts.arithmetic);
    let properties = instruction.shape.properties;
    let writes_parts = instruction
        .with_roles()
        .any(|(role, _)| role == Role::Destination);
    if writes_parts && !properties.has_whole_destination() {
        let unused = match parts.unused {
            Unused::Zero => "PAD",
            Unused::Sign => "SEXT",
            Unused::Keep => "PRESERVE",
        };
        text += &format!(
            " dst_sel:{} dst_unused:UNUSED_{unused}",
            part(parts.destination)
        );
    }
    for (at, of) in parts
        .sources
        .iter()
        .take(sources(instruction).into())
        .enumerate()
    {
        text += &format!(" src{at}_sel:{}", part(*of));
    }
    text
}

fn lanes(lanes: &Lanes) -> String {
    let outside = if lanes.zero_outside {
        " bound_ctrl:1"
    } else {
        ""
    };
    format!(
        " {} row_mask:{:#x} bank_mask:{:#x}{outside}",
        exchange::text(lanes.exchange),
        lanes.row_mask,
        lanes.bank_mask
    )
}

pub fn text(instruction: &Instruction) -> String {
    match &instruction.modifiers {
        Modifiers::None => String::new(),
        Modifiers::Arithmetic(of) => arithmetic(instruction, of),
        Modifiers::Pairs(of) => pairs(instruction, of),
        Modifiers::Matrix(of) => matrix(instruction, of),
        Modifiers::Parts(of) => parts(instruction, of),
        Modifiers::Lanes(of) => lanes(of),
        Modifiers::Access(of) => match instruction.encoding {
            Encoding::Smem => access::scalar(instruction, of),
            Encoding::Ds => access::share(instruction, of),
            _ => access::vector(instruction, of),
        },
    }
}
