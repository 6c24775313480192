// SPDX-License-Identifier: GPL-2.0-only
//! Instructions that were decoded before, by their bytes.
//!
//! They are found by their bytes alone, not by where these were: what bytes mean depends
//! on nothing else. So an entry is never wrong and nobody has to drop it. Code that changes
//! itself, code loaded anew at the address of other code, and processes that have different
//! code at one address have other bytes, and so other entries. Which bytes are at an
//! address is for whoever fetches them to know.

use std::cell::RefCell;

use crate::code::{decode, Instruction};

/// A power of two; each thread that executes waves has so many.
const ENTRIES: usize = 2048;

#[derive(Clone, Copy)]
struct Entry {
    bytes: [u8; 8],
    size: usize,
    instruction: Option<Instruction>,
}

thread_local! {
    static ENTRIES_BY_BYTES: RefCell<Vec<Option<Entry>>> =
        RefCell::new(vec![None; ENTRIES]);
}

/// Where an instruction of these bytes is kept.
fn place(bytes: [u8; 8]) -> usize {
    // Fibonacci hashing: the upper bits depend on all others.
    let mixed = u64::from_le_bytes(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - ENTRIES.trailing_zeros())) as usize
}

/// The instruction at the beginning of the bytes, of which so many are there and the
/// others zero; none if it is no instruction.
pub fn instruction(bytes: [u8; 8], size: usize) -> Option<Instruction> {
    ENTRIES_BY_BYTES.with_borrow_mut(|entries| {
        let entry = entries.get_mut(place(bytes))?;
        match entry {
            Some(found) if found.bytes == bytes && found.size == size => found.instruction,
            _ => {
                let instruction = decode(bytes.get(..size)?).ok();
                *entry = Some(Entry {
                    bytes,
                    size,
                    instruction,
                });
                instruction
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../../../data/gfx942/instructions.txt");

    /// More instructions than there are entries, each asked for twice in a row and once
    /// more when others may have taken its place, and with the half of its bytes.
    #[test]
    fn what_is_kept_is_what_is_decoded() {
        let mut kept = 0;
        for _ in 0..2 {
            for line in TABLE.lines() {
                let mut words = line.split(' ').map(|word| u32::from_str_radix(word, 16));
                let mut word = || words.next().unwrap().unwrap().to_le_bytes();
                let mut bytes = [0; 8];
                bytes[..4].copy_from_slice(&word());
                let mut half = bytes;
                bytes[4..].copy_from_slice(&word());
                for (bytes, size) in [(bytes, 8), (bytes, 8), (half, 4), (half, 8), (half, 4)] {
                    let expected = decode(&bytes[..size]).ok();
                    assert_eq!(instruction(bytes, size), expected, "{line}");
                    kept += 1;
                }
                half[7] = 1;
                assert_eq!(instruction(half, 8), decode(&half).ok(), "{line}");
            }
        }
        assert!(kept > 10 * ENTRIES);
    }
}
