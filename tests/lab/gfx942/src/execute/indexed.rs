// SPDX-License-Identifier: GPL-2.0-only
//! Vector registers by an index: while MODE says so, M0 has a number that is added to
//! the registers of vector instructions, and says to which of them.

use crate::code::{Encoding, Instruction, Role};
use crate::wave::{HardwareRegister, Wave};

/// The bit of MODE.
const ENABLED: u32 = 1 << 27;
const SKIPS: u32 = 1 << 28;
/// Where M0 has the index, and which registers it is added to.
const INDEX: u32 = 0xff;
const CHOSEN: u32 = 12;

fn set_mode(wave: &mut Wave, value: impl Fn(u32) -> u32) {
    let mode = wave.hardware(HardwareRegister::Mode);
    wave.set_hardware(HardwareRegister::Mode, value(mode));
}

pub fn start(wave: &mut Wave, index: u32, chosen: u32) {
    set_mode(wave, |mode| mode | ENABLED);
    set(wave, index);
    choose(wave, chosen);
}

pub fn stop(wave: &mut Wave) {
    set_mode(wave, |mode| mode & !ENABLED);
}

pub fn set(wave: &mut Wave, index: u32) {
    let m0 = wave.m0();
    wave.set_m0(m0 & !INDEX | index & INDEX);
}

pub fn choose(wave: &mut Wave, chosen: u32) {
    let m0 = wave.m0();
    wave.set_m0(m0 & !(0xf << CHOSEN) | ((chosen & 0xf) << CHOSEN));
}

/// The last scalar register that an index can reach: VCC's upper half.
const LAST_INDEXED: u32 = 107;

/// A scalar register by M0: zero where there is none.
pub fn read_scalar(wave: &Wave, first: u8) -> u32 {
    match u32::from(first).wrapping_add(wave.m0()) {
        at @ 0..=LAST_INDEXED => wave.scalar(at as u8),
        _ => 0,
    }
}

pub fn write_scalar(wave: &mut Wave, first: u8, value: u32) {
    let at = u32::from(first).wrapping_add(wave.m0());
    if at <= LAST_INDEXED {
        wave.set_scalar(at as u8, value);
    }
}

/// Sets or clears the bit of MODE by which vector instructions are skipped.
pub fn skip(wave: &mut Wave, skips: bool) {
    let bit = if skips { SKIPS } else { 0 };
    set_mode(wave, |mode| mode & !SKIPS | bit);
}

/// The instruction as it is meant.
pub fn moved(wave: &Wave, instruction: Instruction) -> Instruction {
    let computes = matches!(
        instruction.encoding,
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p
    );
    if !computes || wave.hardware(HardwareRegister::Mode) & ENABLED == 0 {
        return instruction;
    }
    let m0 = wave.m0();
    let has = |bit: u32| (m0 >> (CHOSEN + bit)) & 1 != 0;
    instruction.with_registers_moved((m0 & INDEX) as u8, |role| match role {
        Role::Source(at) => has(at.into()),
        Role::Destination => has(3),
        _ => false,
    })
}
