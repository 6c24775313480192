// SPDX-License-Identifier: GPL-2.0-only
//! Reading and writing the operands of scalar instructions.

use super::Stop;
use crate::code::{Instruction, Operand, Operation};
use crate::float::{round, Rounding, HALF, SINGLE};
use crate::wave::{HardwareRegister, Wave};

/// The numbers of what is read like a register and is none.
const VCCZ: u8 = 251;
const EXECZ: u8 = 252;
const SCC: u8 = 253;
/// The last number that is a register which can be written. The number before
/// EXEC's is none.
const LAST_REGISTER: u8 = 127;
const NO_REGISTER: u8 = 125;

/// The constants from 240 on, as 16, 32 and 64 bits.
const SINGLES: [f32; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
const ONE_OVER_TWO_PI_16: u64 = 0x3118;
const ONE_OVER_TWO_PI_32: u32 = 0x3e22_f983;
const ONE_OVER_TWO_PI_64: u64 = 0x3fc4_5f30_6dc9_c882;

/// What the constant of this number is, as an integer of any width.
fn integer(code: u8) -> Option<i32> {
    match code {
        128..=192 => Some(i32::from(code) - 128),
        193..=208 => Some(192 - i32::from(code)),
        _ => None,
    }
}

fn single(code: u8) -> Option<f32> {
    SINGLES.get(usize::from(code.checked_sub(240)?)).copied()
}

/// The constant of this number in 16 bits; an integer is extended by its sign.
pub fn constant_16(code: u8) -> Option<u64> {
    let half = |value: f32| {
        let number = SINGLE.unpack(value.to_bits().into());
        round(number, HALF, Rounding::Even)
    };
    match code {
        248 => Some(ONE_OVER_TWO_PI_16),
        _ => integer(code)
            .map(|value| u64::from(value as u32))
            .or_else(|| single(code).map(half)),
    }
}

/// The constant of this number in 32 bits.
pub fn constant_32(code: u8) -> Option<u32> {
    match code {
        248 => Some(ONE_OVER_TWO_PI_32),
        _ => integer(code)
            .map(|value| value as u32)
            .or_else(|| single(code).map(f32::to_bits)),
    }
}

/// The constant of this number in 64 bits.
pub fn constant_64(code: u8) -> Option<u64> {
    match code {
        248 => Some(ONE_OVER_TWO_PI_64),
        _ => integer(code)
            .map(|value| i64::from(value) as u64)
            .or_else(|| single(code).map(|value| f64::from(value).to_bits())),
    }
}

/// Where the parts of flat addresses begin and end that are the local share and scratch.
fn aperture(wave: &Wave, code: u8) -> Option<u64> {
    let bases = wave.hardware(HardwareRegister::MemoryBases);
    let (share, scratch) = (
        u64::from(bases >> 16) << 48,
        u64::from(bases & 0xffff) << 48,
    );
    match code {
        235 => Some(share),
        236 => Some(share | 0xffff_ffff),
        237 => Some(scratch),
        238 => Some(scratch | 0xffff_ffff),
        _ => None,
    }
}

/// What a scalar source of 32 bits is.
pub fn read_32(wave: &Wave, operand: Operand) -> Result<u32, Stop> {
    match operand {
        Operand::Scalar { code: VCCZ, .. } => Ok((wave.vcc() == 0).into()),
        Operand::Scalar { code: EXECZ, .. } => Ok((wave.exec() == 0).into()),
        Operand::Scalar { code: SCC, .. } => Ok(wave.scc.into()),
        Operand::Scalar { code, .. } if code <= LAST_REGISTER && code != NO_REGISTER => {
            Ok(wave.scalar(code))
        }
        Operand::Inline { code, .. } => constant_32(code).ok_or(Stop::Unknown),
        Operand::Literal { value, .. } => Ok(value),
        _ => Err(Stop::Unknown),
    }
}

/// A literal as a source of 64 bits that is no double: operations on signed numbers
/// extend its sign, all others put zeros above it.
pub fn literal_64(operation: Operation, value: u32) -> u64 {
    if operation.name().ends_with("_i64") {
        i64::from(value as i32) as u64
    } else {
        value.into()
    }
}

/// What a scalar source of 64 bits is. A literal is without a sign; who knows better
/// asks [`literal_64`].
pub fn read_64(wave: &Wave, operand: Operand) -> Result<u64, Stop> {
    match operand {
        Operand::Scalar { code, dwords: 2 } if code <= LAST_REGISTER && code != NO_REGISTER => {
            Ok(wave.scalar_pair(code))
        }
        Operand::Inline { code, .. } => constant_64(code).ok_or(Stop::Unknown),
        Operand::Literal { value, .. } => Ok(value.into()),
        Operand::Scalar {
            code: VCCZ | EXECZ | SCC,
            ..
        } => read_32(wave, operand).map(u64::from),
        Operand::Scalar { code, dwords: 2 } => aperture(wave, code).ok_or(Stop::Unknown),
        _ => Err(Stop::Unknown),
    }
}

/// The number of the scalar register that an operand names, if it can be written.
pub fn register(operand: Operand) -> Result<u8, Stop> {
    match operand {
        Operand::Scalar { code, .. } if code <= LAST_REGISTER && code != NO_REGISTER => Ok(code),
        _ => Err(Stop::Unknown),
    }
}

/// How many registers an operand has.
pub fn width(operand: Operand) -> u8 {
    match operand {
        Operand::Scalar { dwords, .. }
        | Operand::Vector { dwords, .. }
        | Operand::Accumulation { dwords, .. } => dwords,
        Operand::Inline { kind, .. } | Operand::Literal { kind, .. } => kind.dwords,
        Operand::Immediate(_) | Operand::Off => 1,
    }
}

/// The operand at this place of the text.
pub fn operand(instruction: &Instruction, at: usize) -> Result<Operand, Stop> {
    instruction.operands().get(at).copied().ok_or(Stop::Unknown)
}

/// The 16 bits in the instruction, which stand at this place of the text.
pub fn immediate(instruction: &Instruction, at: usize) -> Result<i32, Stop> {
    match operand(instruction, at)? {
        Operand::Immediate(value) => Ok(value),
        _ => Err(Stop::Unknown),
    }
}
