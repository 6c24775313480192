// SPDX-License-Identifier: GPL-2.0-only
//! Where a wave goes on, and what it tells others: SOPP.

use super::operands::immediate;
use super::{indexed, Done, Stop};
use crate::code::{Instruction, Operation};
use crate::wave::{Memory, Outcome, Wave};

/// Whether a branch is taken, if the operation is one.
fn branches(wave: &Wave, operation: Operation) -> Option<bool> {
    Some(match operation {
        Operation::s_branch => true,
        Operation::s_cbranch_scc0 => !wave.scc,
        Operation::s_cbranch_scc1 => wave.scc,
        Operation::s_cbranch_vccz => wave.vcc() == 0,
        Operation::s_cbranch_vccnz => wave.vcc() != 0,
        Operation::s_cbranch_execz => wave.exec() == 0,
        Operation::s_cbranch_execnz => wave.exec() != 0,
        _ => return None,
    })
}

pub fn execute(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    let operation = instruction.operation;
    let number = immediate(instruction, 0).unwrap_or(0);
    if let Some(taken) = branches(wave, operation) {
        if taken {
            wave.pc = wave.pc.wrapping_add_signed(i64::from(number) * 4);
        }
        return Ok(Outcome::Next);
    }
    let value = number as u32 as u16;
    Ok(match operation {
        // Memory is there when an instruction is done, and instructions are done in
        // their order, so that there is nothing to wait for or to throw away.
        Operation::s_nop
        | Operation::s_waitcnt
        | Operation::s_setprio
        | Operation::s_ttracedata
        | Operation::s_incperflevel
        | Operation::s_decperflevel => Outcome::Next,
        Operation::s_icache_inv => {
            memory.forget_code();
            Outcome::Next
        }
        Operation::s_set_gpr_idx_off => {
            indexed::stop(wave);
            Outcome::Next
        }
        Operation::s_set_gpr_idx_mode => {
            indexed::choose(wave, value.into());
            Outcome::Next
        }
        Operation::s_endpgm | Operation::s_endpgm_saved => Outcome::Ended,
        Operation::s_barrier => Outcome::Barrier,
        Operation::s_sleep => Outcome::Sleep(value & 0x7f),
        Operation::s_sethalt if value & 1 != 0 => Outcome::Halted,
        Operation::s_sethalt => Outcome::Next,
        Operation::s_sendmsg => Outcome::Message(value),
        Operation::s_trap => Outcome::Trap(value as u8),
        _ => return Err(Stop::Unknown),
    })
}
