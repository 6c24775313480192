// SPDX-License-Identifier: GPL-2.0-only
//! The bits of an instruction's dwords.

/// The dwords from which an instruction is decoded.
#[derive(Clone, Copy)]
pub struct Words {
    pub first: u32,
    pub second: Option<u32>,
}

/// `width` bits of a dword, from bit `low` on.
pub const fn bits(word: u32, low: u32, width: u32) -> u32 {
    (word >> low) & ((1 << width) - 1)
}

/// One bit of a dword.
pub const fn bit(word: u32, at: u32) -> bool {
    (word >> at) & 1 != 0
}

/// `width` bits that name a register.
pub const fn code(word: u32, low: u32, width: u32) -> u16 {
    bits(word, low, width) as u16
}
