// SPDX-License-Identifier: GPL-2.0-only
//! Where one lane's access goes.

use crate::wave::{Fault, Memory, LANES};

/// What a lane has of scratch before the next lane has as much: one dword.
const INTERLEAVED: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Memory(u64),
    /// The local data share.
    Share(u64),
    /// Scratch, whose dwords the lanes have by turns.
    Scratch {
        base: u64,
        offset: u64,
        lane: usize,
    },
    /// The end of a buffer, with so many dwords more: beyond them zeros are read, and
    /// nothing is written.
    End {
        address: u64,
        dwords: u64,
    },
    /// Beyond the end of a buffer.
    Nowhere,
}

/// Where what is before the end of a buffer ends among so many bytes.
fn before_end(dwords: u64, length: usize) -> usize {
    dwords.saturating_mul(4).min(length as u64) as usize
}

/// The bytes of the local share from `at` on, if all of them are there.
fn shared(share: &mut [u8], at: u64, length: usize) -> Option<&mut [u8]> {
    let from = usize::try_from(at).ok()?;
    share.get_mut(from..from.checked_add(length)?)
}

/// Where the byte at this offset is, and how many behind it are the same lane's.
fn swizzled(base: u64, offset: u64, lane: usize) -> (u64, usize) {
    let within = offset % INTERLEAVED;
    let row = (offset / INTERLEAVED).wrapping_mul(INTERLEAVED * LANES as u64);
    let address = base
        .wrapping_add(row)
        .wrapping_add(lane as u64 * INTERLEAVED + within);
    (address, (INTERLEAVED - within) as usize)
}

impl Place {
    /// The same for what is done wholly or not at all.
    pub fn undivided(self) -> Self {
        match self {
            Self::End { .. } => Self::Nowhere,
            place => place,
        }
    }

    pub fn read(self, memory: &mut impl Memory, into: &mut [u8]) -> Result<(), Fault> {
        match self {
            Self::Memory(address) => memory.read(address, into),
            Self::Nowhere => {
                into.fill(0);
                Ok(())
            }
            Self::End { address, dwords } => {
                let (there, beyond) = into.split_at_mut(before_end(dwords, into.len()));
                beyond.fill(0);
                memory.read(address, there)
            }
            Self::Share(at) => {
                let found = shared(memory.share(), at, into.len());
                match found {
                    Some(bytes) => into.copy_from_slice(bytes),
                    None => into.fill(0),
                }
                Ok(())
            }
            Self::Scratch { base, offset, lane } => {
                let (mut rest, mut offset) = (into, offset);
                while !rest.is_empty() {
                    let (address, most) = swizzled(base, offset, lane);
                    let (now, later) = rest.split_at_mut(most.min(rest.len()));
                    memory.read(address, now)?;
                    offset = offset.wrapping_add(now.len() as u64);
                    rest = later;
                }
                Ok(())
            }
        }
    }

    /// Whether it can be written, as far as that is asked of atomics.
    pub fn probe(self, memory: &mut impl Memory, size: usize) -> Result<(), Fault> {
        match self {
            Self::Memory(address) => memory.probe(address, size),
            _ => Ok(()),
        }
    }

    /// Has the 4 or 8 bytes changed, and returns what was there.
    pub fn change(
        self,
        memory: &mut impl Memory,
        bytes: u8,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        if let Self::Memory(address) = self {
            return memory.change(address, bytes, change);
        }
        // Nobody else reaches these.
        let mut word = [0; 8];
        let (own, _) = word.split_at_mut(usize::from(bytes).min(8));
        self.read(memory, own)?;
        let old = u64::from_le_bytes(word);
        let word = change(old).to_le_bytes();
        let (own, _) = word.split_at(usize::from(bytes).min(8));
        self.write(memory, own)?;
        Ok(old)
    }

    pub fn write(self, memory: &mut impl Memory, from: &[u8]) -> Result<(), Fault> {
        match self {
            Self::Memory(address) => memory.write(address, from),
            Self::Nowhere => Ok(()),
            Self::End { address, dwords } => {
                let (there, _) = from.split_at(before_end(dwords, from.len()));
                memory.write(address, there)
            }
            Self::Share(at) => {
                if let Some(bytes) = shared(memory.share(), at, from.len()) {
                    bytes.copy_from_slice(from);
                }
                Ok(())
            }
            Self::Scratch { base, offset, lane } => {
                let (mut rest, mut offset) = (from, offset);
                while !rest.is_empty() {
                    let (address, most) = swizzled(base, offset, lane);
                    let (now, later) = rest.split_at(most.min(rest.len()));
                    memory.write(address, now)?;
                    offset = offset.wrapping_add(now.len() as u64);
                    rest = later;
                }
                Ok(())
            }
        }
    }
}
