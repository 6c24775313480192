// SPDX-License-Identifier: GPL-2.0-only
//! The 16 bits in scalar instructions, each written as its instruction means them.

use super::operand;
use crate::code::instruction::{Encoding, Instruction};
use crate::code::operand::Operand;
use crate::code::operation::Operation;

const HARDWARE_REGISTERS: [(u32, &str); 17] = [
    (1, "MODE"),
    (2, "STATUS"),
    (3, "TRAPSTS"),
    (4, "HW_ID"),
    (5, "GPR_ALLOC"),
    (6, "LDS_ALLOC"),
    (7, "IB_STS"),
    (15, "SH_MEM_BASES"),
    (16, "TBA_LO"),
    (17, "TBA_HI"),
    (18, "TMA_LO"),
    (19, "TMA_HI"),
    (20, "XCC_ID"),
    (21, "SQ_PERF_SNAPSHOT_DATA"),
    (22, "SQ_PERF_SNAPSHOT_DATA1"),
    (23, "SQ_PERF_SNAPSHOT_PC_LO"),
    (24, "SQ_PERF_SNAPSHOT_PC_HI"),
];

/// The messages that have a name, from number 1 on; those without have none.
const MESSAGES: [&str; 16] = [
    "",
    "INTERRUPT",
    "GS",
    "GS_DONE",
    "SAVEWAVE",
    "STALL_WAVE_GEN",
    "HALT_WAVES",
    "ORDERED_PS_DONE",
    "EARLY_PRIM_DEALLOC",
    "GS_ALLOC_REQ",
    "GET_DOORBELL",
    "",
    "",
    "",
    "",
    "SYSMSG",
];
const GEOMETRY_OPERATIONS: [&str; 4] = ["NOP", "CUT", "EMIT", "EMIT_CUT"];

fn hardware_register(value: u32) -> String {
    let (register, from, width) = (
        value & 0x3f,
        (value >> 6) & 0x1f,
        ((value >> 11) & 0x1f) + 1,
    );
    let name = HARDWARE_REGISTERS
        .iter()
        .find(|(number, _)| *number == register)
        .map_or_else(
            || register.to_string(),
            |(_, name)| format!("HW_REG_{name}"),
        );
    if (from, width) == (0, 32) {
        format!("hwreg({name})")
    } else {
        format!("hwreg({name}, {from}, {width})")
    }
}

fn wait_counts(value: u32) -> String {
    let counts = [
        ("vmcnt", value & 0xf | (value >> 10) & 0x30, 0x3f),
        ("expcnt", (value >> 4) & 7, 7),
        ("lgkmcnt", (value >> 8) & 0xf, 0xf),
    ];
    let all = counts.iter().all(|(_, count, most)| count == most);
    let named = counts
        .iter()
        .filter(|(_, count, most)| all || count != most)
        .map(|(name, count, _)| format!("{name}({count})"));
    named.collect::<Vec<_>>().join(" ")
}

fn message(value: u32) -> String {
    let (id, operation, stream) = (value & 0xf, (value >> 4) & 7, (value >> 8) & 3);
    let name = MESSAGES[id as usize];
    let geometry = GEOMETRY_OPERATIONS.get(operation as usize);
    let known = match (id, operation) {
        (2, 1..) | (3, 1..) => geometry.map(|of| format!(", GS_OP_{of}, {stream}")),
        (3, 0) if stream == 0 => Some(", GS_OP_NOP".to_string()),
        (15, 1) if stream == 0 => Some(", SYSMSG_OP_ECC_ERR_INTERRUPT".to_string()),
        (15, 2) if stream == 0 => Some(", SYSMSG_OP_REG_RD".to_string()),
        (15, 4) if stream == 0 => Some(", SYSMSG_OP_TTRACE_PC".to_string()),
        (1 | 4..=10, 0) if stream == 0 => Some(String::new()),
        _ => None,
    };
    match known {
        Some(rest) => format!("sendmsg(MSG_{name}{rest})"),
        None if value == id | (operation << 4) | (stream << 8) => {
            format!("sendmsg({id}, {operation}, {stream})")
        }
        None => value.to_string(),
    }
}

fn indexed(value: u32) -> String {
    if value > 0xf {
        return format!("{value:#x}");
    }
    let names = ["SRC0", "SRC1", "SRC2", "DST"];
    let named: Vec<&str> = (0..4)
        .filter(|at| (value >> at) & 1 != 0)
        .filter_map(|at| names.get(at).copied())
        .collect();
    format!("gpr_idx({})", named.join(","))
}

/// A number, in decimal if it could be a constant of the encoding.
fn number(value: u32) -> String {
    if value <= 64 {
        value.to_string()
    } else {
        format!("{value:#x}")
    }
}

pub fn text(instruction: &Instruction, operand: Operand) -> String {
    let Operand::Immediate(value) = operand else {
        return operand::text(operand);
    };
    let unsigned = value as u32 & 0xffff;
    match instruction.operation {
        Operation::s_getreg_b32 | Operation::s_setreg_b32 | Operation::s_setreg_imm32_b32 => {
            hardware_register(unsigned)
        }
        Operation::s_waitcnt => wait_counts(unsigned),
        Operation::s_sendmsg | Operation::s_sendmsghalt => message(unsigned),
        Operation::s_set_gpr_idx_on | Operation::s_set_gpr_idx_mode => indexed(unsigned),
        Operation::s_endpgm if value == 0 => String::new(),
        Operation::s_cbranch_i_fork | Operation::s_call_b64 | Operation::s_endpgm => {
            unsigned.to_string()
        }
        _ if is_branch(instruction) => unsigned.to_string(),
        _ if instruction.encoding == Encoding::Sopk => format!("{unsigned:#x}"),
        _ => number(unsigned),
    }
}

fn is_branch(instruction: &Instruction) -> bool {
    let name = instruction.operation.name();
    instruction.encoding == Encoding::Sopp && (name == "s_branch" || name.starts_with("s_cbranch"))
}
