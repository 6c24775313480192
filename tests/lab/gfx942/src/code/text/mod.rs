// SPDX-License-Identifier: GPL-2.0-only
//! Instructions as text, exactly as LLVM's disassembler writes them.

mod access;
mod exchange;
mod immediate;
mod modifiers;
mod operand;

use std::fmt::{self, Display, Formatter};

use super::instruction::{Encoding, Instruction, Modifiers};
use super::operation::Operation;
use super::table::Role;
use super::tables;
use modifiers::signed;

/// What the name of the operation ends with in this encoding.
fn suffix(instruction: &Instruction) -> &'static str {
    let operation = instruction.operation;
    if instruction.shape.slots.is_empty() {
        return "";
    }
    match instruction.encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc
            if tables::VOP3.has(operation) || operation == Operation::v_pk_fmac_f16 =>
        {
            "_e32"
        }
        Encoding::Vop3
            if [&tables::VOP1, &tables::VOP2, &tables::VOPC]
                .iter()
                .any(|table| table.has(operation)) =>
        {
            "_e64"
        }
        Encoding::Sdwa => "_sdwa",
        Encoding::Dpp => "_dpp",
        _ => "",
    }
}

fn name(instruction: &Instruction) -> String {
    let name = instruction.operation.name();
    let segment = match instruction.encoding {
        Encoding::Global => "global",
        Encoding::Scratch => "scratch",
        _ => return format!("{name}{}", suffix(instruction)),
    };
    name.replacen("flat", segment, 1)
}

impl Display for Instruction {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        let mut operands = Vec::new();
        for (role, operand) in self.with_roles() {
            let text = match (role, self.modifiers) {
                (Role::Literal, _) if self.encoding == Encoding::Vop2 => operand::number(operand),
                (Role::DataCode, _) => immediate::text(self, operand),
                (Role::Immediate, _) => immediate::text(self, operand),
                (Role::Source(at), Modifiers::Arithmetic(arithmetic)) => {
                    signed(operand, at, &arithmetic)
                }
                (Role::Source(at), Modifiers::Parts(parts)) => {
                    signed(operand, at, &parts.arithmetic)
                }
                (Role::Source(at), Modifiers::Lanes(lanes)) => {
                    signed(operand, at, &lanes.arithmetic)
                }
                (Role::Source(at), Modifiers::Pairs(pairs)) => {
                    modifiers::mixed(self.operation, operand, at, &pairs)
                }
                (Role::Offset, Modifiers::Access(access)) if self.encoding == Encoding::Smem => {
                    access::scalar_offset(operand, &access)
                }
                _ => operand::text(operand),
            };
            operands.push(text);
        }
        let mut text = name(self);
        let operands = operands.join(", ");
        if !operands.is_empty() {
            text = format!("{text} {operands}");
        }
        to.write_str(&text)?;
        to.write_str(&modifiers::text(self))
    }
}
