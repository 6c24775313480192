// SPDX-License-Identifier: GPL-2.0-only
//! What a dispatch executes and how its waves begin: the kernel descriptor (the amdhsa
//! format of the compiler's documentation) and the packet.

use gfx942::wave::{HardwareRegister, Wave, LANES};

use super::scratch::{Scratch, ScratchSlot};
use crate::layout::aql::Packet;
use crate::memory::{Memory, Space};
use crate::queue::Failure;

const PRIVATE_SEGMENT: u64 = 4;
const CODE_ENTRY: u64 = 16;
const RESOURCES_3: u64 = 44;
const RESOURCES_1: u64 = 48;
const RESOURCES_2: u64 = 52;
const PROPERTIES: u64 = 56;
const PRELOAD: u64 = 58;

/// Arguments that can be in registers from the beginning, and how much code is before
/// that for processors that cannot do it.
pub(super) const PRELOADED: usize = 16;
const WITHOUT_PRELOAD: u64 = 256;

/// The scalar registers with the address of a wave's scratch.
const FLAT_SCRATCH: u8 = 102;

/// STATUS: a trap handler is wanted, the wave is part of a workgroup, it is there.
const STATUS_TRAPS: u32 = 1 << 6;
const STATUS_GROUPED: u32 = 1 << 11;
const STATUS_VALID: u32 = 1 << 16;

/// Scalar registers of a wave in units of 16, less one: all that instructions name.
const SCALAR_BLOCKS: u32 = 6;

/// In the second word of resources, that a scalar register has the number of the
/// workgroup's waves, and there, that the wave is the first.
const GROUP_INFORMATION: u32 = 1 << 10;
const FIRST_OF_GROUP: u32 = 1 << 31;

/// The registers of the trap handler that say where in the dispatch a wave is.
pub(super) const GROUP_NUMBERS: u8 = 8;
const PLACE: u8 = 11;
const PLACE_IS_SET: u32 = 1 << 31;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(super) entry: u64,
    /// The three words of resources, and the properties behind them.
    pub(super) resources: [u32; 3],
    pub(super) properties: u32,
    pub(super) kernarg: u64,
    pub(super) packet: u64,
    pub(super) owner: u64,
    pub(super) number: u64,
    /// The number of the first workgroup along each axis, and behind which item they end.
    pub(super) first: [u32; 3],
    pub(super) grid: [u32; 3],
    pub(super) items: [u32; 3],
    pub(super) private: u32,
    /// Where the private memory of items is, if they have any.
    pub(super) scratch: Scratch,
    /// Arguments that are in registers from the beginning.
    pub(super) preload: [u32; PRELOADED],
    pub(super) preloaded: u32,
}

/// Where a dispatch comes from, besides its packet.
pub struct Origin {
    pub packet: u64,
    pub owner: u64,
    pub number: u64,
    pub scratch: Scratch,
}

/// Where the waves of a workgroup get their scratch: the die, and a part for each wave if
/// the dispatch has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    pub die: u32,
    pub slots: Vec<ScratchSlot>,
}

/// Bytes of scratch that an item of a dispatch wants.
pub fn private_bytes(
    memory: &Memory,
    space: Space,
    packet: &Packet,
) -> Result<u32, crate::memory::MemoryFault> {
    let fixed = memory.read_u32(space, packet.kernel_object().wrapping_add(PRIVATE_SEGMENT))?;
    Ok(packet.private_segment().max(fixed))
}

impl Program {
    /// How many words of a dispatch's part of the control stack it takes.
    pub const WORDS: usize = 24;

    pub fn read(
        memory: &Memory,
        space: Space,
        packet: &Packet,
        origin: &Origin,
    ) -> Result<Program, Failure> {
        let object = packet.kernel_object();
        let word = |at: u64| memory.read_u32(space, object.wrapping_add(at));
        let preload = word(PRELOAD - 2)? >> 16;
        let mut program = Program {
            entry: object.wrapping_add(memory.read_u64(space, object.wrapping_add(CODE_ENTRY))?),
            resources: [word(RESOURCES_1)?, word(RESOURCES_2)?, word(RESOURCES_3)?],
            properties: word(PROPERTIES)? & 0xffff,
            kernarg: packet.kernarg(),
            packet: origin.packet,
            owner: origin.owner,
            number: origin.number,
            first: [0; 3],
            grid: packet.grid(),
            items: packet.workgroup(),
            private: private_bytes(memory, space, packet)?,
            scratch: origin.scratch,
            preload: [0; PRELOADED],
            preloaded: (preload & 0x7f).min(PRELOADED as u32),
        };
        if program.preloaded > 0 {
            program.entry = program.entry.wrapping_add(WITHOUT_PRELOAD);
            let first = program.kernarg.wrapping_add(u64::from(preload >> 7) * 4);
            for at in 0..program.preloaded {
                let argument = memory.read_u32(space, first.wrapping_add(u64::from(at) * 4))?;
                program.preload[at as usize] = argument;
            }
        }
        Ok(program)
    }

    /// The scratch of its dispatch, if it has any.
    pub fn scratch(&self) -> Option<&Scratch> {
        (self.private > 0).then_some(&self.scratch)
    }

    pub fn check(&self, waves: u32) -> Result<(), String> {
        if let Some(most) = self.scratch().map(Scratch::waves_of_engine) {
            if most < waves {
                return Err(format!(
                    "a workgroup of {waves} waves wants scratch, which {most} can have"
                ));
            }
        }
        if self.entry % 4 != 0 {
            return Err(format!("the code at {:#x} is not aligned", self.entry));
        }
        Ok(())
    }

    pub fn to_words(&self) -> [u64; Program::WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | (u64::from(high) << 32);
        let mut words = [0; Program::WORDS];
        words[..11].copy_from_slice(&[
            self.entry,
            pair(self.resources[0], self.resources[1]),
            pair(self.resources[2], self.properties),
            self.kernarg,
            self.packet,
            self.owner,
            self.number,
            pair(self.grid[0], self.grid[1]),
            pair(self.grid[2], self.private),
            pair(self.items[0], self.items[1]),
            pair(self.items[2], self.preloaded),
        ]);
        words[11..14].copy_from_slice(&self.scratch.to_words());
        words[22] = pair(self.first[0], self.first[1]);
        words[23] = self.first[2].into();
        for (word, two) in words[14..22].iter_mut().zip(self.preload.chunks_exact(2)) {
            *word = pair(two[0], two[1]);
        }
        words
    }

    pub fn from_words(words: &[u64; Program::WORDS]) -> Program {
        let low = |at: usize| words[at] as u32;
        let high = |at: usize| (words[at] >> 32) as u32;
        let mut preload = [0; PRELOADED];
        for (two, word) in preload.chunks_exact_mut(2).zip(&words[14..22]) {
            two.copy_from_slice(&[*word as u32, (*word >> 32) as u32]);
        }
        Program {
            entry: words[0],
            resources: [low(1), high(1), low(2)],
            properties: high(2),
            kernarg: words[3],
            packet: words[4],
            owner: words[5],
            number: words[6],
            first: [low(22), high(22), low(23)],
            grid: [low(7), high(7), low(8)],
            items: [low(9), high(9), low(10)],
            private: high(8),
            scratch: Scratch::from_words([words[11], words[12], words[13]]),
            preload,
            preloaded: high(10).min(PRELOADED as u32),
        }
    }

    /// Vector registers per lane, and which of them are accumulation registers' first.
    pub fn vector_blocks(&self) -> (u32, u32) {
        (self.resources[0] & 0x3f, self.resources[2] & 0x3f)
    }

    /// A wave with the registers that its kernel has, and with those that say so.
    pub fn empty_wave(&self, lds: u32) -> Wave {
        let (all, accumulation) = self.vector_blocks();
        let total = (all as usize + 1) * 8;
        let vectors = ((accumulation as usize + 1) * 4).min(total);
        let mut wave = Wave::with_registers(self.entry, vectors, total - vectors);
        let registers = (all << 6) | (accumulation << 12) | (SCALAR_BLOCKS << 24);
        wave.set_hardware(HardwareRegister::RegisterAllocation, registers);
        let share = lds.div_ceil(256) << 12;
        wave.set_hardware(HardwareRegister::ShareAllocation, share);
        let traps = (self.resources[1] >> 6) & 1;
        let status = STATUS_VALID | STATUS_GROUPED | (STATUS_TRAPS * traps);
        wave.set_hardware(HardwareRegister::Status, status);
        wave
    }

    /// The waves of a workgroup at their beginning.
    pub fn waves(&self, workgroup: u64, lds: u32, seats: &Seats) -> Vec<Wave> {
        let place = self.place(workgroup);
        let mut extent = [0; 3];
        for (axis, extent) in extent.iter_mut().enumerate() {
            // The last workgroup of an axis has what is left.
            let rest = u64::from(self.grid[axis])
                .saturating_sub(u64::from(place[axis]) * u64::from(self.items[axis]));
            *extent = rest.min(self.items[axis].into()) as u32;
        }
        let items: u32 = extent.iter().product();
        (0..items.div_ceil(LANES as u32))
            .map(|index| {
                let mut wave = self.wave(place, extent, index, lds);
                if let Some(slot) = seats.slots.get(index as usize) {
                    wave.set_scalar_pair(FLAT_SCRATCH, self.scratch.address(seats.die, *slot));
                }
                wave
            })
            .collect()
    }

    /// The numbers of a workgroup along the three axes.
    fn place(&self, workgroup: u64) -> [u32; 3] {
        let counts = [0, 1].map(|axis| {
            let count = self.grid[axis].div_ceil(self.items[axis].max(1));
            u64::from(count.saturating_sub(self.first[axis]).max(1))
        });
        let place = [
            workgroup % counts[0],
            workgroup / counts[0] % counts[1],
            workgroup / counts[0] / counts[1],
        ];
        [0, 1, 2].map(|axis| self.first[axis].wrapping_add(place[axis] as u32))
    }

    fn wave(&self, place: [u32; 3], extent: [u32; 3], index: u32, lds: u32) -> Wave {
        let mut wave = self.empty_wave(lds);
        wave.set_hardware(HardwareRegister::Mode, self.mode());
        let items: u32 = extent.iter().product();
        self.set_scalars(&mut wave, place, (index, items.div_ceil(LANES as u32)));
        let axes = self.item_axes();
        let mut lanes = 0;
        for lane in 0..LANES as u32 {
            let item = index * LANES as u32 + lane;
            if item >= items {
                break;
            }
            lanes |= 1 << lane;
            let (x, y) = (item % extent[0], item / extent[0] % extent[1]);
            let z = item / extent[0] / extent[1];
            let place = [x, y << 10, z << 20];
            wave.set_vector(0, lane as usize, place[..axes].iter().sum());
        }
        wave.set_exec(lanes);
        for (at, number) in (GROUP_NUMBERS..).zip(place) {
            wave.set_temporary(at, number);
        }
        let packet = (self.number as u32 & 0x01ff_ffff) << 6;
        wave.set_temporary(PLACE, PLACE_IS_SET | packet | (index & 0x3f));
        wave
    }

    /// Of how many axes `v0` has an item's place.
    fn item_axes(&self) -> usize {
        (((self.resources[1] >> 11) & 3) as usize + 1).min(3)
    }

    /// MODE as the descriptor says: rounding, subnormal numbers, what is no number,
    /// exceptions.
    fn mode(&self) -> u32 {
        let [first, second, _] = self.resources;
        let bit = |word: u32, from: u32, to: u32| ((word >> from) & 1) << to;
        ((first >> 12) & 0xff)
            | bit(first, 21, 8)
            | bit(first, 23, 9)
            | bit(first, 22, 11)
            | bit(first, 26, 23)
            | (((second >> 24) & 0x7f) << 12)
    }

    /// The scalar registers that the descriptor asks for, in their order.
    fn set_scalars(&self, wave: &mut Wave, place: [u32; 3], (index, waves): (u32, u32)) {
        let pair = |value: u64| vec![value as u32, (value >> 32) as u32];
        let wanted = [
            vec![0; 4],
            pair(self.packet),
            pair(self.owner),
            pair(self.kernarg),
            pair(self.number),
            pair(0),
            vec![self.private],
        ];
        let has = |bit: usize| (self.properties >> bit) & 1 != 0;
        let mut values: Vec<u32> = (0..)
            .zip(wanted)
            .filter(|(bit, _)| has(*bit))
            .flat_map(|(_, values)| values)
            .collect();
        values.extend(&self.preload[..self.preloaded as usize]);
        // The number of such registers is a field of its own; what follows is behind them.
        values.resize(((self.resources[1] >> 1) & 0x1f) as usize, 0);
        let groups = (7..)
            .zip(place)
            .filter(|(bit, _)| (self.resources[1] >> bit) & 1 != 0);
        values.extend(groups.map(|(_, number)| number));
        if self.resources[1] & GROUP_INFORMATION != 0 {
            values.push(waves | if index == 0 { FIRST_OF_GROUP } else { 0 });
        }
        for (at, value) in (0..).zip(values) {
            wave.set_scalar(at, value);
        }
    }
}
