// SPDX-License-Identifier: GPL-2.0-only
//! Which encoding a dword begins, and so who decodes it.

use super::bits::{bits, Words};
use super::instruction::Instruction;
use super::{buffer, flat, packed, scalar, share, vector, vop3};

/// The bytes are no instruction, or too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecoded;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The instruction at the beginning of `bytes`.
pub fn decode(bytes: &[u8]) -> Result<Instruction, Undecoded> {
    let first = word(bytes, 0).ok_or(Undecoded)?;
    let words = Words {
        first,
        second: word(bytes, 4),
    };
    let instruction = match first >> 26 {
        0b110000 => scalar::memory(words),
        0b110100 if bits(first, 23, 3) == 0b111 => packed::decode(words),
        0b110100 => vop3::decode(words),
        0b110110 => share::decode(words),
        0b110111 => flat::decode(words),
        0b111000 => buffer::untyped(words),
        0b111010 => buffer::typed(words),
        0b000000..=0b011111 => vector::decode(words),
        0b100000..=0b101111 => scalar::decode(words),
        _ => None,
    };
    instruction.ok_or(Undecoded)
}
