// SPDX-License-Identifier: GPL-2.0-only
//! Vector instructions that reach memory: each active lane, in its order, has an
//! address of its own. A load that faults changes no register; of a store that faults
//! the lanes before are in memory.

mod accesses;
mod address;
mod atomic;
mod cross;
mod descriptor;
mod place;
mod semaphore;
mod share;
mod transfer;

use super::registers::{lanes, read_dword, write_dwords, Dwords};
use super::{Done, Stop};
use crate::code::{Access, Encoding, Instruction, Modifiers, Operand, Operation, Role};
use crate::wave::{HardwareRegister, Memory, Outcome, Wave, LANES};
use accesses::{Accesses, MOST};
use address::Addresses;
use place::Place;
use transfer::{Half, Load, Transfer};

pub use descriptor::bounds;
pub use share::execute as share;

fn access(instruction: &Instruction) -> Result<Access, Stop> {
    match instruction.modifiers {
        Modifiers::Access(access) => Ok(access),
        _ => Err(Stop::Unknown),
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    let folded = bytes.iter().rev();
    folded.fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

/// What a load of these bytes makes of a register that had `old`.
fn loaded(load: Load, bytes: &[u8], old: u32) -> Dwords {
    let mut dwords = [0; 4];
    for (dword, four) in dwords.iter_mut().zip(bytes.chunks(4)) {
        *dword = little_endian(four) as u32;
    }
    let first = match (load.signed, load.bytes) {
        (true, 1) => dwords[0] as u8 as i8 as u32,
        (true, _) => dwords[0] as u16 as i16 as u32,
        (false, _) => dwords[0],
    };
    dwords[0] = match load.half {
        None => first,
        Some(Half::Lower) => old & 0xffff_0000 | first & 0xffff,
        Some(Half::Upper) => old & 0xffff | (first << 16),
    };
    dwords
}

/// What each lane of a load gets; none to the lanes that EXEC does not have.
fn load(
    wave: &mut Wave,
    memory: &mut impl Memory,
    to: Operand,
    load: Load,
    place: impl Fn(&Wave, usize) -> Result<Place, Stop>,
) -> Done {
    let size = usize::from(load.bytes);
    let accesses = Accesses::of(wave, size, place)?;
    let mut bytes = [0; MOST];
    accesses.in_runs(&mut bytes, |place, bytes| place.read(memory, bytes))?;
    let mut results = [None; LANES];
    for (lane, own) in accesses.lanes().zip(bytes.chunks_exact(size)) {
        let old = read_dword(wave, to, lane, 0)?;
        if let Some(result) = results.get_mut(lane) {
            *result = Some(loaded(load, own, old));
        }
    }
    write_dwords(wave, to, &results)
}

fn store(
    wave: &Wave,
    memory: &mut impl Memory,
    from: Operand,
    bytes: u8,
    upper: bool,
    place: impl Fn(&Wave, usize) -> Result<Place, Stop>,
) -> Done {
    let size = usize::from(bytes);
    let accesses = Accesses::of(wave, size, place)?;
    let mut data = [0; MOST];
    for (lane, own) in accesses.lanes().zip(data.chunks_exact_mut(size)) {
        for (at, four) in (0..).zip(own.chunks_mut(4)) {
            let value = read_dword(wave, from, lane, at)?;
            let value = if upper { value >> 16 } else { value };
            for (to, byte) in four.iter_mut().zip(value.to_le_bytes()) {
                *to = byte;
            }
        }
    }
    accesses.in_runs(&mut data, |place, bytes| place.write(memory, bytes))?;
    Ok(Outcome::Next)
}

/// The bits of M0 that are a place in the local share: GFX 9.5.0 has more of it than 16 bits
/// can say, as the driver's trap handler for it relies on.
fn share_bits(wave: &Wave) -> u32 {
    const ALLOCATED_FROM: u32 = 12;
    const UNIT: u32 = 256;
    let share = wave.hardware(HardwareRegister::ShareAllocation) >> ALLOCATED_FROM;
    match share * UNIT > 0x1_0000 {
        true => 0x3_ffff,
        false => 0xffff,
    }
}

/// Brings one dword, or less of one, from memory to the local share, a dword apart
/// for each lane.
fn to_share(
    wave: &Wave,
    memory: &mut impl Memory,
    of: Load,
    offset: i32,
    place: impl Fn(&Wave, usize) -> Result<Place, Stop>,
) -> Done {
    let base = u64::from(wave.m0() & share_bits(wave)).wrapping_add_signed(offset.into());
    for lane in lanes(wave) {
        let mut bytes = [0; 4];
        let wanted = bytes
            .get_mut(..usize::from(of.bytes))
            .ok_or(Stop::Unknown)?;
        place(wave, lane)?.read(memory, wanted)?;
        let value = loaded(of, wanted, 0)[0];
        let to = Place::Share(base.wrapping_add(lane as u64 * 4));
        to.write(memory, &value.to_le_bytes())?;
    }
    Ok(Outcome::Next)
}

fn has_no_effect(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::buffer_wbl2
            | Operation::buffer_inv
            | Operation::buffer_wbinvl1
            | Operation::buffer_wbinvl1_vol
    )
}

/// FLAT, GLOBAL, SCRATCH and MUBUF.
pub fn execute(wave: &mut Wave, instruction: &Instruction, memory: &mut impl Memory) -> Done {
    let operation = instruction.operation;
    if has_no_effect(operation) {
        return Ok(Outcome::Next);
    }
    let access = access(instruction)?;
    let transfer = Transfer::of(operation).ok_or(Stop::Unknown)?;
    let addresses = Addresses::of(wave, instruction, access)?;
    let data = instruction.operand_of(Role::Data(0));
    let place = |wave: &Wave, lane| addresses.place(wave, lane, transfer.bytes());
    match transfer {
        Transfer::Load(of) if access.lds => to_share(wave, memory, of, access.offset, place),
        Transfer::Load(of) => {
            let to = match instruction.operand_of(Role::Destination) {
                Some(to) => to,
                None => data.ok_or(Stop::Unknown)?,
            };
            load(wave, memory, to, of, place)
        }
        Transfer::Store { bytes, upper } => {
            let from = data.ok_or(Stop::Unknown)?;
            store(wave, memory, from, bytes, upper, place)
        }
        Transfer::Change { change, bytes } => {
            let from = data.ok_or(Stop::Unknown)?;
            let to = match instruction.operand_of(Role::Destination) {
                None if instruction.encoding == Encoding::Mubuf && access.sc0 => Some(from),
                to => to,
            };
            let words = atomic::Words {
                to,
                data: from,
                // What is compared with stands behind what is written.
                other: Some((from, bytes / 4)),
            };
            let place = |wave: &Wave, lane| place(wave, lane).map(Place::undivided);
            atomic::execute(wave, memory, (change, bytes), words, place)
        }
    }
}
