// SPDX-License-Identifier: GPL-2.0-only
//! DS: the local data share, and moving between lanes by way of it.

use std::sync::LazyLock;

use super::super::by_operation::ByOperation;
use super::super::registers::{lanes, read_dword, write_dwords};
use super::super::{Done, Stop};
use super::atomic::{self, Change};
use super::place::Place;
use super::transfer::{load, store, Transfer};
use super::{access, cross, little_endian, semaphore};
use crate::code::{Access, Instruction, Operand, Role};
use crate::wave::{Memory, Outcome, Wave, LANES};

/// A place of the local share. Addresses have 32 bits: one that is below zero gets above
/// it by its offset.
fn shared(address: u32, offset: u32) -> Place {
    Place::Share(address.wrapping_add(offset).into())
}

/// Two places of an instruction with two offsets.
#[derive(Clone, Copy)]
struct Two {
    address: Operand,
    offsets: [u32; 2],
    bytes: usize,
}

impl Two {
    fn of(instruction: &Instruction, name: &str, access: Access) -> Option<Self> {
        let bytes = if name.ends_with("b64") { 8 } else { 4 };
        let step = if name.contains("st64") {
            64 * bytes
        } else {
            bytes
        };
        let offset = |number: u32| number * step as u32;
        Some(Self {
            address: instruction.operand_of(Role::Address)?,
            offsets: [
                offset(access.offset.unsigned_abs()),
                offset(access.second_offset.into()),
            ],
            bytes,
        })
    }

    fn places(&self, wave: &Wave, lane: usize) -> Result<[Place; 2], Stop> {
        let address = read_dword(wave, self.address, lane, 0)?;
        Ok(self.offsets.map(|offset| shared(address, offset)))
    }

    fn read(&self, wave: &mut Wave, memory: &mut impl Memory, to: Operand) -> Done {
        let mut results = [None; LANES];
        for lane in lanes(wave) {
            let mut dwords = [0; 4];
            let parts = dwords.chunks_mut(self.bytes / 4);
            for (place, part) in self.places(wave, lane)?.into_iter().zip(parts) {
                let mut bytes = [0; 8];
                let wanted = bytes.get_mut(..self.bytes).ok_or(Stop::Unknown)?;
                place.read(memory, wanted)?;
                for (dword, four) in part.iter_mut().zip(wanted.chunks(4)) {
                    *dword = little_endian(four) as u32;
                }
            }
            if let Some(result) = results.get_mut(lane) {
                *result = Some(dwords);
            }
        }
        write_dwords(wave, to, &results)
    }

    fn write(&self, wave: &Wave, memory: &mut impl Memory, from: [Operand; 2]) -> Done {
        for lane in lanes(wave) {
            for (place, from) in self.places(wave, lane)?.into_iter().zip(from) {
                let mut bytes = [0; 8];
                for (at, four) in (0..).zip(bytes.chunks_mut(4)) {
                    if usize::from(at) * 4 < self.bytes {
                        let value = read_dword(wave, from, lane, at)?;
                        four.copy_from_slice(&value.to_le_bytes());
                    }
                }
                let written = bytes.get(..self.bytes).ok_or(Stop::Unknown)?;
                place.write(memory, written)?;
            }
        }
        Ok(Outcome::Next)
    }
}

impl Two {
    /// Writes both places, and hands back what they had.
    fn exchange(&self, wave: &mut Wave, memory: &mut impl Memory, words: [Operand; 3]) -> Done {
        let [to, first, second] = words;
        let old = wave.clone();
        self.read(wave, memory, to)?;
        self.write(&old, memory, [first, second])
    }
}

/// Adds the number of active lanes to a dword at an offset from M0, or takes it away, once
/// for all of them; each gets what was there before.
fn counted(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory, up: bool) -> Done {
    let to = instruction
        .operand_of(Role::Destination)
        .ok_or(Stop::Unknown)?;
    let offset = access(instruction)?.offset as u32;
    let place = Place::Share((wave.m0() & 0xffff).wrapping_add(offset).into());
    let active = wave.exec().count_ones();
    let mut bytes = [0; 4];
    place.read(memory, &mut bytes)?;
    let old = u32::from_le_bytes(bytes);
    let new = match up {
        true => old.wrapping_add(active),
        false => old.wrapping_sub(active),
    };
    if active != 0 {
        place.write(memory, &new.to_le_bytes())?;
    }
    let mut results = [None; LANES];
    for lane in lanes(wave) {
        if let Some(result) = results.get_mut(lane) {
            *result = Some([old, 0, 0, 0]);
        }
    }
    write_dwords(wave, to, &results)
}

fn has_two(name: &str) -> bool {
    [
        "read2_",
        "read2st64_",
        "write2_",
        "write2st64_",
        "wrxchg2_",
        "wrxchg2st64_",
    ]
    .iter()
    .any(|beginning| name.starts_with(beginning))
}

fn two(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory, name: &str) -> Done {
    let places = Two::of(instruction, name, access(instruction)?).ok_or(Stop::Unknown)?;
    let data = |at| instruction.operand_of(Role::Data(at)).ok_or(Stop::Unknown);
    match instruction.operand_of(Role::Destination) {
        Some(to) if name.starts_with("wrxchg") => {
            places.exchange(wave, memory, [to, data(0)?, data(1)?])
        }
        Some(to) => places.read(wave, memory, to),
        None => places.write(wave, memory, [data(0)?, data(1)?]),
    }
}

static ALL: LazyLock<ByOperation<Transfer>> =
    LazyLock::new(|| ByOperation::new(|of| transfer(of.name().strip_prefix("ds_")?)));

fn transfer(name: &str) -> Option<Transfer> {
    if let Some(of) = name.strip_prefix("read_") {
        return load(of).map(Transfer::Load);
    }
    if let Some(of) = name.strip_prefix("write_") {
        return store(of);
    }
    let plain = name.replacen("_rtn", "", 1);
    let (change, bytes) = Change::of_share(&plain)?;
    Some(Transfer::Change { change, bytes })
}

pub fn execute(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    let name = instruction.operation.name();
    let name = name.strip_prefix("ds_").ok_or(Stop::Unknown)?;
    if instruction.properties().has_global_share() {
        return semaphore::execute(wave, instruction, memory);
    }
    if name == "nop" {
        return Ok(Outcome::Next);
    }
    if let Some(source) = cross::Source::of(instruction) {
        return source.execute(wave, instruction);
    }
    if matches!(name, "append" | "consume") {
        return counted(wave, instruction, memory, name == "append");
    }
    if has_two(name) {
        return two(wave, instruction, memory, name);
    }
    let transfer = ALL.get(instruction.operation).ok_or(Stop::Unknown)?;
    let access = access(instruction)?;
    let address = instruction.operand_of(Role::Address).ok_or(Stop::Unknown)?;
    let place = |wave: &Wave, lane| {
        let address = read_dword(wave, address, lane, 0)?;
        Ok(shared(address, access.offset as u32))
    };
    let to = instruction.operand_of(Role::Destination);
    let data = instruction.operand_of(Role::Data(0));
    match transfer {
        Transfer::Load(of) => super::load(wave, memory, to.ok_or(Stop::Unknown)?, of, place),
        Transfer::Store { bytes, upper } => {
            let from = data.ok_or(Stop::Unknown)?;
            super::store(wave, memory, from, bytes, upper, place)
        }
        Transfer::Change { change, bytes } => {
            let first = data.ok_or(Stop::Unknown)?;
            let second = instruction.operand_of(Role::Data(1));
            let compares = matches!(change, Change::CompareSwap | Change::CompareSwapFloat);
            // Here what is compared with stands before what is written.
            let words = match second {
                Some(second) if compares => atomic::Words {
                    to,
                    data: second,
                    other: Some((first, 0)),
                },
                second => atomic::Words {
                    to,
                    data: first,
                    other: second.map(|of| (of, 0)),
                },
            };
            atomic::execute(wave, memory, (change, bytes), words, place)
        }
    }
}
