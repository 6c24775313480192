// SPDX-License-Identifier: GPL-2.0-only
//! Which registers and constants the numbers in an encoding stand for.

use super::operand::Operand;
use super::table::{Class, Kind, Slot};

pub const VCC: u8 = 106;
pub const M0: u8 = 124;
pub const EXEC: u8 = 126;
pub const EXEC_HIGH: u8 = 127;

const M0_CODE: u16 = M0 as u16;
/// What newer generations read as zero; the assembler knows the name here too.
const NULL: u16 = 125;

/// The last general scalar register, and where the assembler ends tuples of them.
const LAST_GENERAL: u16 = 101;
const LAST_OF_TUPLE: u16 = 103;
const TRAP_TEMPORARIES: std::ops::RangeInclusive<u16> = 108..=123;

/// The number of what a vector instruction reads from the local share.
const LDS_DIRECT: u16 = 254;
/// The number that says that a literal follows.
pub const LITERAL: u16 = 255;
/// The first number of a vector register, where nine bits name one.
pub const FIRST_VECTOR: u16 = 256;

/// The scalar registers of this number and width that can be written.
pub fn scalar(code: u16, dwords: u8) -> Option<Operand> {
    let aligned = match code {
        NULL => NULL,
        _ => code & !(u16::from(dwords.next_power_of_two().min(4)) - 1),
    };
    let last = aligned + u16::from(dwords) - 1;
    let special = code > LAST_GENERAL && code != NULL && !TRAP_TEMPORARIES.contains(&code);
    let valid = match aligned {
        _ if special && aligned != code => false,
        0..=LAST_GENERAL => last <= LAST_OF_TUPLE,
        NULL => true,
        M0_CODE => dwords == 1,
        102..=107 | 126 | 127 => dwords <= 2,
        _ if TRAP_TEMPORARIES.contains(&aligned) => TRAP_TEMPORARIES.contains(&last),
        _ => false,
    };
    valid.then_some(Operand::Scalar {
        code: aligned as u8,
        dwords,
    })
}

/// The same, or one of the registers that are only read.
pub fn scalar_register(code: u16, dwords: u8) -> Option<Operand> {
    match code {
        235..=239 | 251..=253 if dwords <= 2 => Some(Operand::Scalar {
            code: code as u8,
            dwords,
        }),
        0..=127 => scalar(code, dwords),
        _ => None,
    }
}

/// The scalar registers or the constant that a source of eight bits names.
pub fn scalar_source(code: u16, kind: Kind, literal: Option<u32>) -> Option<Operand> {
    match code {
        128..=208 | 240..=248 => Some(Operand::Inline {
            code: code as u8,
            kind,
        }),
        LITERAL => literal.map(|value| Operand::Literal { value, kind }),
        _ => scalar_register(code, kind.dwords),
    }
}

/// Vector registers from `first` on.
pub fn vector(first: u16, dwords: u8) -> Option<Operand> {
    vector_end(first, dwords).then_some(Operand::Vector {
        first: first as u8,
        dwords,
    })
}

/// Accumulation registers from `first` on.
pub fn accumulation(first: u16, dwords: u8) -> Option<Operand> {
    vector_end(first, dwords).then_some(Operand::Accumulation {
        first: first as u8,
        dwords,
    })
}

/// Vector or accumulation registers, by the bit that tells which.
pub fn either(accumulates: bool, first: u16, dwords: u8) -> Option<Operand> {
    if accumulates {
        accumulation(first, dwords)
    } else {
        vector(first, dwords)
    }
}

fn vector_end(first: u16, dwords: u8) -> bool {
    first < 256 && first + u16::from(dwords) <= 256
}

/// What a vector instruction reads from the local share, if the number says so.
pub fn lds_direct(code: u16) -> Option<Operand> {
    (code == LDS_DIRECT).then_some(Operand::Scalar {
        code: code as u8,
        dwords: 1,
    })
}

/// A source of nine bits, as far as the slot admits it.
pub fn source(code: u16, slot: &Slot, literal: Option<u32>) -> Option<Operand> {
    match (slot.class, code.checked_sub(FIRST_VECTOR)) {
        (Class::Any | Class::Vector, Some(first)) => vector(first, slot.kind.dwords),
        (Class::Accumulation, Some(first)) => accumulation(first, slot.kind.dwords),
        (Class::Any, None) if code == LDS_DIRECT && slot.kind.dwords == 1 => lds_direct(code),
        (Class::Any | Class::Scalar, None) => scalar_source(code, slot.kind, literal),
        (Class::ScalarRegister, None) => match scalar_register(code, slot.kind.dwords) {
            Some(Operand::Scalar { code: EXEC, .. }) => None,
            register => register,
        },
        (Class::VectorOrSpecial, Some(first)) => vector(first, slot.kind.dwords),
        (Class::VectorOrSpecial, None) if code >= NULL && code != 126 && code != 127 => {
            scalar_register(code, slot.kind.dwords)
        }
        _ => None,
    }
}
