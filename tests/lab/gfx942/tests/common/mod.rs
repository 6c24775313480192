// SPDX-License-Identifier: GPL-2.0-only
//! Machine code for tests, by the names of instructions, and memory to run it from.

pub mod device;
pub mod lanes;
pub mod memory;
pub mod object;
pub mod recorded;
pub mod width;

use std::collections::BTreeMap;

use gfx942::code::decode;
use gfx942::wave::{Fault, Memory, Outcome, Wave};

/// Values at which integer operations change their behaviour.
pub const BOUNDARIES: [u32; 14] = [
    0,
    1,
    2,
    31,
    32,
    0x7f,
    0x80,
    0xffff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];

/// The dwords of the first instruction that `encode` makes which has this name.
pub fn named(name: &str, encode: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let found = (0..1024).map(encode).find(|words| {
        let with_literal = words.iter().chain(&[0]);
        let bytes: Vec<u8> = with_literal.flat_map(|word| word.to_le_bytes()).collect();
        decode(&bytes).is_ok_and(|instruction| instruction.operation.name() == name)
    });
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

pub fn sop2(name: &str, to: u32, first: u32, second: u32) -> Vec<u32> {
    named(name, |number| {
        vec![(2 << 30) | ((number & 0x7f) << 23) | (to << 16) | (second << 8) | first]
    })
}

pub fn sop1(name: &str, to: u32, source: u32) -> Vec<u32> {
    named(name, |number| {
        vec![(0x17d << 23) | (to << 16) | ((number & 0xff) << 8) | source]
    })
}

pub fn sopc(name: &str, first: u32, second: u32) -> Vec<u32> {
    named(name, |number| {
        vec![(0x17e << 23) | ((number & 0x7f) << 16) | (second << 8) | first]
    })
}

pub fn sopk(name: &str, to: u32, number: i16) -> Vec<u32> {
    let immediate = u32::from(number as u16);
    named(name, |number| {
        vec![(0xb << 28) | ((number & 0x1f) << 23) | (to << 16) | immediate]
    })
}

pub fn sopp(name: &str, number: i16) -> Vec<u32> {
    let immediate = u32::from(number as u16);
    named(name, |number| {
        vec![(0x17f << 23) | ((number & 0x7f) << 16) | immediate]
    })
}

pub fn vop1(name: &str, to: u32, source: u32) -> Vec<u32> {
    named(name, |number| {
        vec![(0x3f << 25) | (to << 17) | ((number & 0xff) << 9) | source]
    })
}

pub fn vop2(name: &str, to: u32, first: u32, second: u32) -> Vec<u32> {
    named(name, |number| {
        vec![((number & 0x3f) << 25) | (to << 17) | (second << 9) | first]
    })
}

pub fn vopc(name: &str, first: u32, second: u32) -> Vec<u32> {
    named(name, |number| {
        vec![(0x3e << 25) | ((number & 0xff) << 17) | (second << 9) | first]
    })
}

pub fn vop3(name: &str, to: u32, first: u32, second: u32, third: u32) -> Vec<u32> {
    named(name, |number| {
        let sources = (third << 18) | (second << 9) | first;
        vec![(0x34 << 26) | (number << 16) | to, sources]
    })
}

/// A scalar load from the pair `base` plus a number.
pub fn smem(name: &str, data: u32, base: u32, offset: i32) -> Vec<u32> {
    named(name, |number| {
        let first = (0x30 << 26) | ((number & 0xff) << 18) | (1 << 17) | (data << 6) | (base >> 1);
        vec![first, offset as u32 & 0x1f_ffff]
    })
}

/// Bytes at some addresses; nothing elsewhere.
#[derive(Default)]
pub struct Bytes(pub BTreeMap<u64, u8>);

impl Bytes {
    pub fn put(&mut self, address: u64, words: &[u32]) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        for (at, byte) in (address..).zip(bytes) {
            self.0.insert(at, byte);
        }
    }

    pub fn word(&self, address: u64) -> u32 {
        let bytes = [0, 1, 2, 3].map(|at| self.0[&(address + at)]);
        u32::from_le_bytes(bytes)
    }
}

impl Memory for Bytes {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let fault = Fault {
            address,
            write: false,
        };
        for (at, byte) in into.iter_mut().enumerate() {
            let at = address.wrapping_add(at as u64);
            *byte = *self.0.get(&at).ok_or(fault)?;
        }
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        let fault = Fault {
            address,
            write: true,
        };
        let places = (0..from.len() as u64).map(|at| address.wrapping_add(at));
        if !places.clone().all(|at| self.0.contains_key(&at)) {
            return Err(fault);
        }
        self.0.extend(places.zip(from.iter().copied()));
        Ok(())
    }
}

/// Where tests put their code.
pub const CODE: u64 = 0x7000_0000_1000;

/// Executes one instruction.
pub fn run(wave: &mut Wave, code: &[u32]) -> Outcome {
    let mut memory = Bytes::default();
    memory.put(CODE, code);
    wave.pc = CODE;
    recorded::step(wave, &mut memory)
}

/// Executes one instruction that has to be done, and leads to the next.
pub fn done(wave: &mut Wave, code: &[u32]) {
    assert_eq!(run(wave, code), Outcome::Next, "{code:x?}");
    assert_eq!(wave.pc, CODE + 4 * code.len() as u64);
}
