// SPDX-License-Identifier: GPL-2.0-only
//! What an instruction works on.

use super::table::Kind;

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Scalar registers, by the number of the first in the encoding: general ones
    /// below 102, then the special ones up to 127, then those that are only read.
    Scalar {
        code: u8,
        dwords: u8,
    },
    Vector {
        first: u8,
        dwords: u8,
    },
    Accumulation {
        first: u8,
        dwords: u8,
    },
    /// A constant that the encoding names by a number.
    Inline {
        code: u8,
        kind: Kind,
    },
    /// The 32 bits behind the instruction.
    Literal {
        value: u32,
        kind: Kind,
    },
    /// A number in the instruction.
    Immediate(i32),
    /// There is no register in this part of the address.
    Off,
}
