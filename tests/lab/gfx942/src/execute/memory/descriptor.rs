// SPDX-License-Identifier: GPL-2.0-only
//! Addresses through a buffer's descriptor in four scalar registers.

use super::super::operands::{operand, read_32, register};
use super::super::registers::read_dword;
use super::super::Stop;
use super::place::Place;
use crate::code::{Access, Instruction, Operand, Role};
use crate::wave::Wave;

const ADDRESS_BITS: u32 = 48;
const STRIDE_BITS: u32 = 14;
/// In the second dword, that the records are interleaved; in the fourth, that the
/// lane's number is added to the index, and how many records are interleaved.
const SWIZZLES: u32 = 1 << 31;
const ADDS_LANE: u32 = 1 << 23;
const INTERLEAVED: u32 = 21;
/// How many bytes of each record lie side by side with the others'.
const ELEMENT: u64 = 4;

/// What a descriptor and an instruction say of the addresses of all lanes.
pub struct Descriptor {
    lanes: Option<Operand>,
    access: Access,
    base: u64,
    stride: u64,
    records: u64,
    scalar_offset: u64,
    /// How many records are interleaved, if they are.
    interleaved: Option<u64>,
    adds_lane: bool,
}

impl Descriptor {
    pub fn of(wave: &Wave, instruction: &Instruction, access: Access) -> Result<Self, Stop> {
        let mut addresses = instruction
            .operands()
            .iter()
            .copied()
            .filter(|operand| !matches!(operand, Operand::Inline { .. }))
            .filter(|operand| matches!(operand, Operand::Scalar { dwords: 4, .. }));
        let first = register(addresses.next().ok_or(Stop::Unknown)?)?;
        let dword = |at: u8| wave.scalar(first.saturating_add(at));
        let (second, fourth) = (dword(1), dword(3));
        let scalar = instruction.operand_of(Role::Offset).ok_or(Stop::Unknown)?;
        let lanes = match instruction.operand_of(Role::Address) {
            Some(of @ Operand::Vector { .. }) => Some(of),
            _ => None,
        };
        Ok(Self {
            lanes,
            access,
            base: wave.scalar_pair(first) & ((1 << ADDRESS_BITS) - 1),
            stride: u64::from(second >> (ADDRESS_BITS - 32)) & ((1 << STRIDE_BITS) - 1),
            records: dword(2).into(),
            scalar_offset: read_32(wave, scalar)?.into(),
            interleaved: (second & SWIZZLES != 0).then_some(8 << ((fourth >> INTERLEAVED) & 3)),
            adds_lane: fourth & ADDS_LANE != 0,
        })
    }

    fn register(&self, wave: &Wave, lane: usize, at: u8) -> Result<u64, Stop> {
        let lanes = self.lanes.ok_or(Stop::Unknown)?;
        read_dword(wave, lanes, lane, at).map(u64::from)
    }

    /// Whether records are counted, and not bytes.
    fn has_index(&self) -> bool {
        self.access.idxen || self.adds_lane
    }

    pub fn place(&self, wave: &Wave, lane: usize, bytes: u8) -> Result<Place, Stop> {
        let mut index = match self.access.idxen {
            true => self.register(wave, lane, 0)?,
            false => 0,
        };
        if self.adds_lane {
            index = index.wrapping_add(lane as u64);
        }
        let own = match self.access.offen {
            true => self.register(wave, lane, self.access.idxen.into())?,
            false => 0,
        };
        let offset = own.wrapping_add_signed(self.access.offset.into());
        let (left, within) = match self.interleaved {
            Some(count) => {
                let (group, at) = (index / count, index % count);
                let rows = group
                    .wrapping_mul(self.stride)
                    .wrapping_add(offset - offset % ELEMENT)
                    .wrapping_mul(count);
                let within = rows.wrapping_add(at * ELEMENT + offset % ELEMENT);
                let is_there = index < self.records && offset < self.stride;
                (if is_there { u64::MAX } else { 0 }, within)
            }
            None => {
                let within = index.wrapping_mul(self.stride).wrapping_add(offset);
                let left = if self.stride == 0 || !self.has_index() {
                    let from = within.wrapping_add(self.scalar_offset);
                    self.records.saturating_sub(from)
                } else if index < self.records {
                    u64::MAX
                } else {
                    0
                };
                (left, within)
            }
        };
        let address = self
            .base
            .wrapping_add(self.scalar_offset)
            .wrapping_add(within);
        Ok(match left {
            _ if left >= bytes.into() => Place::Memory(address),
            0..=3 => Place::Nowhere,
            _ => Place::End {
                address,
                dwords: left / 4,
            },
        })
    }
}

/// A scalar load's base and end, which do not depend on lanes.
pub fn bounds(wave: &Wave, instruction: &Instruction) -> Result<(u64, u64), Stop> {
    let first = register(operand(instruction, 1)?)?;
    let dword = |at: u8| wave.scalar(first.saturating_add(at));
    let stride = u64::from(dword(1) >> (ADDRESS_BITS - 32)) & ((1 << STRIDE_BITS) - 1);
    let base = wave.scalar_pair(first) & ((1 << ADDRESS_BITS) - 1);
    Ok((base, stride.max(1) * u64::from(dword(2))))
}
