// SPDX-License-Identifier: GPL-2.0-only
//! Scratch, the memory that each item of a dispatch has for itself: where a queue's is,
//! and which part of it a wave has.

use crate::layout::aql::owner;
use crate::memory::{Memory, MemoryFault, Space};
use crate::terms::Config;

const ENGINES: u32 = Config::SHADER_ENGINES;
const LANES: u64 = 64;

/// COMPUTE_TMPRING_SIZE: bits of the waves, and of a wave's part in units of 1 KiB.
const WAVES: u32 = 0xfff;
const WAVE_SIZE: u32 = 0x1fff;
const WAVE_SIZE_FROM: u32 = 12;
const WAVE_UNIT: u64 = 1024;

/// The scratch of a queue. Each die has a part of it, each shader engine a part of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scratch {
    location: u64,
    die_bytes: u64,
    ring_size: u32,
    /// It is for one dispatch, after which its owner takes it back.
    once: bool,
}

/// A wave's part of its queue's scratch on a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScratchSlot {
    pub engine: u32,
    pub number: u32,
}

impl Scratch {
    pub const WORDS: usize = 3;

    /// What a queue has, or none if its items have less than they want.
    pub fn read(
        memory: &Memory,
        space: Space,
        owner: u64,
        wanted: u32,
    ) -> Result<Option<Scratch>, MemoryFault> {
        let has = memory.read_u32(space, owner.wrapping_add(owner::ITEM_BYTES))?;
        let properties = memory.read_u32(space, owner.wrapping_add(owner::PROPERTIES))?;
        let scratch = Scratch {
            location: memory.read_u64(space, owner.wrapping_add(owner::LOCATION))?,
            die_bytes: memory.read_u64(space, owner.wrapping_add(owner::DIE_BYTES))?,
            ring_size: memory.read_u32(space, owner.wrapping_add(owner::RING_SIZE))?,
            once: properties & owner::SCRATCH_ONCE != 0,
        };
        let is_enough = has >= wanted && scratch.wave_bytes() >= u64::from(wanted) * LANES;
        Ok(Some(scratch).filter(|scratch| is_enough && scratch.waves_of_engine() > 0))
    }

    /// What COMPUTE_DISPATCH_SCRATCH_BASE and COMPUTE_TMPRING_SIZE say of a queue that
    /// runs on one die.
    pub fn of_registers(location: u64, ring_size: u32) -> Scratch {
        Scratch {
            location,
            die_bytes: 0,
            ring_size,
            once: false,
        }
    }

    /// Bytes of an item's part.
    pub fn item_bytes(&self) -> u32 {
        (self.wave_bytes() / LANES) as u32
    }

    pub fn to_words(self) -> [u64; Scratch::WORDS] {
        let last = u64::from(self.ring_size) | (u64::from(self.once) << 32);
        [self.location, self.die_bytes, last]
    }

    pub fn from_words([location, die_bytes, last]: [u64; Scratch::WORDS]) -> Scratch {
        Scratch {
            location,
            die_bytes,
            ring_size: last as u32,
            once: last >> 32 != 0,
        }
    }

    /// Whether its owner takes it back after one dispatch.
    pub fn is_for_once(&self) -> bool {
        self.once
    }

    /// Waves of a shader engine that have scratch at a time.
    pub fn waves_of_engine(&self) -> u32 {
        (self.ring_size & WAVES) / ENGINES
    }

    fn wave_bytes(&self) -> u64 {
        u64::from((self.ring_size >> WAVE_SIZE_FROM) & WAVE_SIZE) * WAVE_UNIT
    }

    /// Where a wave's part begins.
    pub fn address(&self, die: u32, slot: ScratchSlot) -> u64 {
        let number = self.waves_of_engine() * slot.engine + slot.number;
        let of_die = self.die_bytes.wrapping_mul(die.into());
        let of_wave = self.wave_bytes() * u64::from(number);
        self.location.wrapping_add(of_die).wrapping_add(of_wave)
    }

    /// So many parts on an engine that are not taken, if there are as many.
    pub fn free(&self, taken: &[ScratchSlot], engine: u32, waves: u32) -> Option<Vec<ScratchSlot>> {
        let all = (0..self.waves_of_engine()).map(|number| ScratchSlot { engine, number });
        let free = all.filter(|slot| !taken.contains(slot));
        let found: Vec<ScratchSlot> = free.take(waves as usize).collect();
        (found.len() == waves as usize).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRATCH: Scratch = Scratch {
        location: 0x10_0000,
        die_bytes: 0x8000,
        // Eight waves with 2 KiB each.
        ring_size: 8 | (2 << WAVE_SIZE_FROM),
        once: true,
    };

    #[test]
    fn each_die_and_each_engine_has_a_part() {
        let address = |die, engine, number| SCRATCH.address(die, ScratchSlot { engine, number });
        assert_eq!(address(0, 0, 0), 0x10_0000);
        assert_eq!(address(0, 0, 1), 0x10_0800);
        assert_eq!(address(0, 3, 1), 0x10_3800);
        assert_eq!(address(2, 1, 0), 0x11_1000);
        assert_eq!(Scratch::from_words(SCRATCH.to_words()), SCRATCH);
    }

    #[test]
    fn parts_that_are_taken_are_not_given_again() {
        let slot = |engine, number| ScratchSlot { engine, number };
        let free = |taken: &[ScratchSlot], waves| SCRATCH.free(taken, 1, waves);
        assert_eq!(free(&[], 2), Some(vec![slot(1, 0), slot(1, 1)]));
        assert_eq!(free(&[slot(1, 0), slot(0, 1)], 1), Some(vec![slot(1, 1)]));
        assert_eq!(free(&[slot(1, 0)], 2), None);
        assert_eq!(free(&[], 3), None);
    }
}
