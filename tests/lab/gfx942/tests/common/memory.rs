// SPDX-License-Identifier: GPL-2.0-only
//! Machine code of vector accesses to memory, and memory with a local share.

use gfx942::wave::{Fault, Memory, Outcome, Wave};

use super::{named, recorded, Bytes, CODE};

/// The parts of addresses: flat, scratch, global.
pub const FLAT: u32 = 0;
pub const SCRATCH: u32 = 1;
pub const GLOBAL: u32 = 2;
/// What stands for no scalar address.
pub const OFF: u32 = 0x7f;

/// The vector registers of address, data and result.
pub const ADDRESS: u32 = 2;
pub const DATA: u32 = 4;
pub const RESULT: u32 = 8;

/// FLAT, GLOBAL and SCRATCH; `returns` asks an atomic for the old value.
pub fn flat(name: &str, part: u32, scalar: u32, offset: i32, returns: bool) -> Vec<u32> {
    let offset = offset as u32 & 0x1fff;
    // Scratch says in one more bit that there is a vector address.
    let offset = if part == SCRATCH {
        offset | (1 << 13)
    } else {
        offset
    };
    named(name, |number| {
        let first = (0x37 << 26) | ((number & 0x7f) << 18) | (part << 14);
        let scalar = if part == FLAT { 0 } else { scalar };
        vec![
            first | (u32::from(returns) << 16) | offset,
            (RESULT << 24) | (scalar << 16) | (DATA << 8) | ADDRESS,
        ]
    })
}

/// DS with these fields for its registers; those that it does not have are zero.
pub fn share(name: &str, offset: u32, [address, first, second, to]: [u32; 4]) -> Vec<u32> {
    named(name, |number| {
        vec![
            (0x36 << 26) | ((number & 0xff) << 17) | offset,
            (to << 24) | (second << 16) | (first << 8) | address,
        ]
    })
}

/// MUBUF with the descriptor in scalar registers from 16 on and an offset in 20.
pub fn buffer(name: &str, offset: u32, offen: bool, idxen: bool) -> Vec<u32> {
    named(name, |number| {
        let modes = (u32::from(offen) << 12) | (u32::from(idxen) << 13);
        vec![
            (0x38 << 26) | ((number & 0x7f) << 18) | modes | offset,
            (20 << 24) | (4 << 16) | (DATA << 8) | ADDRESS,
        ]
    })
}

/// Memory with a local share.
#[derive(Default)]
pub struct Shared {
    pub bytes: Bytes,
    pub share: Vec<u8>,
    pub counters: Vec<u32>,
}

impl Memory for Shared {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.bytes.read(address, into)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.bytes.write(address, from)
    }

    fn share(&mut self) -> &mut [u8] {
        &mut self.share
    }

    fn counters(&mut self) -> &mut [u32] {
        &mut self.counters
    }
}

impl Shared {
    /// A local share of so many bytes, each its number times three.
    pub fn new(size: usize) -> Self {
        Self {
            bytes: Bytes::default(),
            share: (0..size).map(|at| (at * 3) as u8).collect(),
            counters: Vec::new(),
        }
    }

    pub fn step(&mut self, wave: &mut Wave, code: &[u32]) -> Outcome {
        self.bytes.put(CODE, code);
        wave.pc = CODE;
        recorded::step(wave, self)
    }

    #[track_caller]
    pub fn done(&mut self, wave: &mut Wave, code: &[u32]) {
        assert_eq!(self.step(wave, code), Outcome::Next, "{code:x?}");
    }

    /// The number in so many bytes of memory.
    pub fn number(&self, address: u64, bytes: usize) -> u64 {
        (0..bytes as u64).rev().fold(0, |value, at| {
            (value << 8) | u64::from(self.bytes.0[&(address + at)])
        })
    }

    /// The dword at a place of the local share.
    pub fn number_in_share(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.share[at..at + 4].try_into().unwrap())
    }

    pub fn fill(&mut self, address: u64, bytes: impl IntoIterator<Item = u8>) {
        self.bytes.0.extend((address..).zip(bytes));
    }
}

/// Puts an address or a number of 64 bits into two registers of a lane.
pub fn set_whole(wave: &mut Wave, register: u32, lane: usize, value: u64) {
    wave.set_vector(register as u8, lane, value as u32);
    wave.set_vector(register as u8 + 1, lane, (value >> 32) as u32);
}

pub fn whole(wave: &Wave, register: u32, lane: usize) -> u64 {
    let upper = u64::from(wave.vector(register as u8 + 1, lane));
    u64::from(wave.vector(register as u8, lane)) | (upper << 32)
}
