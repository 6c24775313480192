// SPDX-License-Identifier: GPL-2.0-only
//! The address of each lane of FLAT, GLOBAL, SCRATCH and MUBUF.

use super::super::operands::{read_32, read_64};
use super::super::registers::read_dword;
use super::super::Stop;
use super::descriptor::Descriptor;
use super::place::Place;
use crate::code::{Access, Encoding, Instruction, Operand, Role};
use crate::wave::{HardwareRegister, Wave};

/// The scalar registers with the address of the wave's scratch.
const FLAT_SCRATCH: u8 = 102;

/// From which parts the lanes' addresses come.
pub enum Addresses {
    Flat { lanes: Operand },
    Global { lanes: Operand, base: Option<u64> },
    Scratch { lanes: Operand, base: u32 },
    Buffer(Descriptor),
}

/// Addresses with the part of the instruction that all lanes share.
pub struct Shared {
    of: Addresses,
    offset: i64,
}

fn whole(wave: &Wave, operand: Operand, lane: usize) -> Result<u64, Stop> {
    let lower = read_dword(wave, operand, lane, 0)?;
    let upper = read_dword(wave, operand, lane, 1)?;
    Ok(u64::from(lower) | (u64::from(upper) << 32))
}

/// The four gigabytes that begin with these upper 16 bits, if there are any.
fn is_in(address: u64, upper: u32) -> bool {
    upper != 0 && address >> 32 == u64::from(upper) << 16
}

/// What a flat address reaches: the local share and scratch have parts of them.
fn flat(wave: &Wave, address: u64, lane: usize) -> Place {
    let bases = wave.hardware(HardwareRegister::MemoryBases);
    let offset = address & 0xffff_ffff;
    if is_in(address, bases >> 16) {
        Place::Share(offset)
    } else if is_in(address, bases & 0xffff) {
        scratch(wave, offset, lane)
    } else {
        Place::Memory(address)
    }
}

fn scratch(wave: &Wave, offset: u64, lane: usize) -> Place {
    Place::Scratch {
        base: wave.scalar_pair(FLAT_SCRATCH),
        offset,
        lane,
    }
}

impl Addresses {
    pub fn of(wave: &Wave, instruction: &Instruction, access: Access) -> Result<Shared, Stop> {
        let lanes = instruction.operand_of(Role::Address).ok_or(Stop::Unknown)?;
        let scalar = instruction.operand_of(Role::Offset);
        let of = match (instruction.encoding, scalar) {
            (Encoding::Flat, _) => Self::Flat { lanes },
            (Encoding::Global, None | Some(Operand::Off)) => Self::Global { lanes, base: None },
            (Encoding::Global, Some(scalar)) => Self::Global {
                lanes,
                base: Some(read_64(wave, scalar)?),
            },
            (Encoding::Scratch, None | Some(Operand::Off)) => Self::Scratch { lanes, base: 0 },
            (Encoding::Scratch, Some(scalar)) => Self::Scratch {
                lanes,
                base: read_32(wave, scalar)?,
            },
            (Encoding::Mubuf, _) => Self::Buffer(Descriptor::of(wave, instruction, access)?),
            _ => return Err(Stop::Unknown),
        };
        Ok(Shared {
            of,
            offset: access.offset.into(),
        })
    }
}

impl Shared {
    /// Where one lane's access of this many bytes goes.
    pub fn place(&self, wave: &Wave, lane: usize, bytes: u8) -> Result<Place, Stop> {
        Ok(match &self.of {
            Addresses::Flat { lanes } => {
                let address = whole(wave, *lanes, lane)?.wrapping_add_signed(self.offset);
                flat(wave, address, lane)
            }
            Addresses::Global { lanes, base } => {
                let address = match base {
                    None => whole(wave, *lanes, lane)?,
                    Some(base) => base.wrapping_add(read_dword(wave, *lanes, lane, 0)?.into()),
                };
                Place::Memory(address.wrapping_add_signed(self.offset))
            }
            Addresses::Scratch { lanes, base } => {
                let own = match lanes {
                    Operand::Off => 0,
                    lanes => read_dword(wave, *lanes, lane, 0)?,
                };
                let offset = base.wrapping_add(own).wrapping_add(self.offset as u32);
                scratch(wave, offset.into(), lane)
            }
            Addresses::Buffer(descriptor) => descriptor.place(wave, lane, bytes)?,
        })
    }
}
