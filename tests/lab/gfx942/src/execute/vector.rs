// SPDX-License-Identifier: GPL-2.0-only
//! Vector instructions that compute: for each lane that EXEC has, the same.

use super::exchange::{taken, Taken};
use super::lane::{Comparison, Inputs, Modes, Output, Pair, Task};
use super::operands::{operand, read_32, read_64, register};
use super::registers::{lanes, read_dword, write_dword};
use super::source::{arithmetic, Source};
use super::{differences, whole, Done, Stop};
use crate::code::{
    Arithmetic, Class, Instruction, Modifiers, Operand, Operation, Part, Role, Unused,
};
use crate::wave::{Outcome, Wave, LANES};

/// What the lanes of an instruction calculate with.
struct Operands {
    sources: [Option<Source>; 3],
    /// The mask with a bit for each lane.
    mask: u64,
    modifiers: Modifiers,
}

/// Operations that add to what their destination has, or replace a part of it.
fn accumulates(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::v_fmac_f32
            | Operation::v_fmac_f64
            | Operation::v_mac_f16
            | Operation::v_cvt_pkaccum_u8_f32
    ) || Pair::of_accumulating(operation).is_some()
}

impl Operands {
    fn of(wave: &Wave, instruction: &Instruction, arithmetic: &Arithmetic) -> Result<Self, Stop> {
        let source = |at| Source::of(instruction, at, arithmetic);
        let mut sources = [source(0), source(1), source(2)];
        if let (Some(slot), Some(old)) = (
            instruction.slot(Role::Source(0)),
            instruction.operand_of(Role::Destination),
        ) {
            if accumulates(instruction.operation) {
                sources[2] = Some(Source::plain(old, slot.kind));
            }
        }
        if let (Some(slot), Some(literal)) = (
            instruction.slot(Role::Literal),
            instruction.operand_of(Role::Literal),
        ) {
            let constant = Some(Source::plain(literal, slot.kind));
            // In the text the constant stands where it is used.
            let is_last = instruction.operands().last() == Some(&literal);
            sources = match is_last {
                true => [sources[0], sources[1], constant],
                false => [sources[0], constant, sources[1]],
            };
        }
        let last = instruction.slot(Role::Source(2)).map(|slot| slot.class);
        let mask = if last == Some(Class::ScalarRegister) {
            read_64(
                wave,
                operand(instruction, instruction.operands().len() - 1)?,
            )?
        } else {
            wave.vcc()
        };
        Ok(Self {
            sources,
            mask,
            modifiers: instruction.modifiers,
        })
    }

    fn count(&self) -> usize {
        self.sources.iter().flatten().count()
    }

    /// What all lanes calculate with. Where none is active nobody asks what it is.
    fn all(&self, wave: &Wave) -> Result<All, Stop> {
        if wave.exec() == 0 {
            return Ok(All([[0; LANES]; 3]));
        }
        let read = |source: Option<Source>| source.map_or(Ok([0; LANES]), |of| of.all(wave));
        let [first, second, third] = self.sources.map(read);
        Ok(All([first?, second?, third?]))
    }

    /// What a lane calculates with; none if it does nothing.
    fn inputs(&self, wave: &Wave, all: &All, lane: usize) -> Option<Inputs> {
        let read = |at: usize, lane| all.0.get(at).and_then(|of: &[u64; LANES]| of.get(lane));
        let read = |at, lane| read(at, lane).copied().unwrap_or(0);
        let first = match &self.modifiers {
            Modifiers::Lanes(lanes) => match taken(wave, lanes, lane) {
                Taken::From(from) => read(0, from),
                Taken::Zero => self.sources[0].map_or(0, |source| source.modified(0)),
                Taken::Nothing => return None,
            },
            _ => read(0, lane),
        };
        Some(Inputs {
            first,
            second: read(1, lane),
            third: read(2, lane),
            flag: (self.mask >> lane) & 1 != 0,
            lane,
        })
    }
}

/// What each lane has of three sources.
struct All([[u64; LANES]; 3]);

/// Where the mask of lanes goes that an instruction writes.
fn mask_destination(instruction: &Instruction) -> Result<u8, Stop> {
    let to = instruction
        .operand_of(Role::ScalarDestination)
        .or_else(|| instruction.operand_of(Role::Vcc));
    register(to.ok_or(Stop::Unknown)?)
}

fn compare(wave: &mut Wave, instruction: &Instruction, comparison: Comparison) -> Done {
    let to = mask_destination(instruction)?;
    let operands = Operands::of(wave, instruction, &arithmetic(instruction)?)?;
    let modes = Modes::of(wave);
    let all = operands.all(wave)?;
    let mut holds = 0;
    for lane in lanes(wave) {
        if let Some(inputs) = operands.inputs(wave, &all, lane) {
            let is = comparison.holds(inputs.first, inputs.second, &modes);
            holds |= u64::from(is) << lane;
        }
    }
    wave.set_scalar_pair(to, holds);
    if comparison.sets_exec {
        wave.set_exec(holds);
    }
    Ok(Outcome::Next)
}

/// A result in the part of the register that is meant.
fn placed((part, unused): (Part, Unused), old: u32, value: u32) -> u32 {
    let (at, width) = match part {
        Part::Whole => return value,
        Part::Byte(at) => (8 * u32::from(at & 3), 8),
        Part::Word(at) => (16 * u32::from(at & 1), 16),
    };
    let ones = u32::MAX >> (32 - width);
    let mask = ones << at;
    let moved = (value & ones) << at;
    match unused {
        Unused::Keep => old & !mask | moved,
        Unused::Zero => moved,
        Unused::Sign => {
            let by = 32 - width - at;
            // What is above has the sign of the part; what is below is zero.
            ((moved << by) as i32 >> by) as u32
        }
    }
}

/// How the results of an instruction are written.
struct Destination {
    to: Operand,
    bits: u32,
    part: (Part, Unused),
}

impl Destination {
    fn of(instruction: &Instruction, arithmetic: &Arithmetic, bits: u32) -> Result<Self, Stop> {
        let to = instruction
            .operand_of(Role::Destination)
            .ok_or(Stop::Unknown)?;
        match to {
            Operand::Vector { dwords, .. } if u32::from(dwords) == bits.div_ceil(32) => (),
            _ => return Err(Stop::Unknown),
        }
        let selects = instruction.properties().has_selects();
        let part = match (instruction.modifiers, bits) {
            (Modifiers::Parts(parts), _) => (parts.destination, parts.unused),
            (_, 8) if selects => (Part::Byte(arithmetic.select >> 2), Unused::Keep),
            (_, 16) if selects => (Part::Word(arithmetic.select >> 3), Unused::Keep),
            _ => (Part::Whole, Unused::Keep),
        };
        Ok(Self { to, bits, part })
    }

    fn write(&self, wave: &mut Wave, lane: usize, value: u64) -> Result<(), Stop> {
        let old = read_dword(wave, self.to, lane, 0)?;
        let lower = placed(self.part, old, value as u32);
        write_dword(wave, self.to, lane, 0, lower);
        if self.bits > 32 {
            write_dword(wave, self.to, lane, 1, (value >> 32) as u32);
        }
        Ok(())
    }
}

/// What each active lane makes of its sources.
fn compute(wave: &mut Wave, instruction: &Instruction) -> Done {
    let modifiers = arithmetic(instruction)?;
    let operands = Operands::of(wave, instruction, &modifiers)?;
    // Signs belong to sources.
    let signs = Arithmetic {
        absolute: modifiers.absolute,
        negative: modifiers.negative,
        ..Arithmetic::default()
    };
    let is_plain = modifiers == signs
        && matches!(
            instruction.modifiers,
            Modifiers::None | Modifiers::Arithmetic(_)
        );
    let to = instruction.operand_of(Role::Destination);
    if let Some(to) = to.filter(|_| is_plain) {
        let done = whole::execute(wave, instruction.operation, &operands.sources, to);
        if done.is_some() {
            return Ok(Outcome::Next);
        }
    }
    one_by_one(wave, instruction, &modifiers, &operands)
}

/// The same, a lane at a time.
fn one_by_one(
    wave: &mut Wave,
    instruction: &Instruction,
    modifiers: &Arithmetic,
    operands: &Operands,
) -> Done {
    let modes = Modes::of(wave);
    let task = Task::new(instruction.operation, operands.count());
    let result = |inputs: &Inputs| {
        let output = task.evaluate(inputs, &modes)?;
        let bits = output
            .value
            .finished(modifiers.clamp, modifiers.multiplier, &modes)?;
        Some((output, bits))
    };
    // Also without an active lane an operation is known or not.
    let (example, _): (Output, u64) = result(&Inputs::default()).ok_or(Stop::Unknown)?;
    let destination = Destination::of(instruction, modifiers, example.value.bits())?;
    let mask = match example.flag {
        Some(_) => Some(mask_destination(instruction)?),
        None => None,
    };
    let all = operands.all(wave)?;
    let (mut results, mut flags) = ([None; LANES], 0);
    for lane in lanes(wave) {
        if let Some(inputs) = operands.inputs(wave, &all, lane) {
            let (output, bits) = result(&inputs).ok_or(Stop::Unknown)?;
            flags |= u64::from(output.flag == Some(true)) << lane;
            if let Some(place) = results.get_mut(lane) {
                *place = Some(bits);
            }
        }
    }
    for (lane, result) in results.into_iter().enumerate() {
        if let Some(value) = result {
            destination.write(wave, lane, value)?;
        }
    }
    if let Some(to) = mask {
        wave.set_scalar_pair(to, flags);
    }
    Ok(Outcome::Next)
}

fn vector_register(operand: Operand) -> Result<u8, Stop> {
    match operand {
        Operand::Vector { first, dwords: 1 } => Ok(first),
        _ => Err(Stop::Unknown),
    }
}

/// Instructions that move between scalar registers and one lane.
fn one_lane(wave: &mut Wave, instruction: &Instruction) -> Done {
    let (to, first) = (operand(instruction, 0)?, operand(instruction, 1)?);
    match instruction.operation {
        Operation::v_readfirstlane_b32 => {
            // Without an active lane it is the first.
            let lane = wave.exec().trailing_zeros() as usize % LANES;
            let value = wave.vector(vector_register(first)?, lane);
            wave.set_scalar(register(to)?, value);
        }
        Operation::v_readlane_b32 => {
            let lane = read_32(wave, operand(instruction, 2)?)? as usize % LANES;
            let value = wave.vector(vector_register(first)?, lane);
            wave.set_scalar(register(to)?, value);
        }
        _ => {
            let lane = read_32(wave, operand(instruction, 2)?)? as usize % LANES;
            let value = read_32(wave, first)?;
            wave.set_vector(vector_register(to)?, lane, value);
        }
    }
    Ok(Outcome::Next)
}

/// Moves between whole registers, one way or both.
fn moves(wave: &mut Wave, instruction: &Instruction) -> Done {
    let (to, from) = (operand(instruction, 0)?, operand(instruction, 1)?);
    for lane in lanes(wave) {
        let (old, value) = (
            read_dword(wave, to, lane, 0)?,
            read_dword(wave, from, lane, 0)?,
        );
        write_dword(wave, to, lane, 0, value);
        if instruction.operation == Operation::v_swap_b32 {
            write_dword(wave, from, lane, 0, old);
        }
    }
    Ok(Outcome::Next)
}

pub fn execute(wave: &mut Wave, instruction: &Instruction) -> Done {
    let operation = instruction.operation;
    if let Some(comparison) = Comparison::of(operation) {
        return compare(wave, instruction, comparison);
    }
    match operation {
        Operation::v_nop | Operation::v_clrexcp => Ok(Outcome::Next),
        Operation::v_readfirstlane_b32 | Operation::v_readlane_b32 | Operation::v_writelane_b32 => {
            one_lane(wave, instruction)
        }
        Operation::v_swap_b32 | Operation::v_accvgpr_mov_b32 => moves(wave, instruction),
        _ => match differences::execute(wave, instruction) {
            Some(done) => done,
            None => compute(wave, instruction),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::code::decode;
    use crate::wave::HardwareRegister;

    const TABLE: &str = include_str!("../../../../data/gfx942/instructions.txt");

    /// Numbers of all kinds: small ones, singles among them, and any bits.
    fn number(state: &mut u64) -> u32 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let bits = (*state >> 20) as u32;
        match *state % 5 {
            0 => bits % 40,
            1 => (bits as i32 as f32 / 1024.0).to_bits(),
            2 => bits & 0x807f_ffff,
            _ => bits,
        }
    }

    fn wave(state: &mut u64, mode: u32) -> Wave {
        let mut wave = Wave::with_registers(0, 256, 8);
        wave.set_hardware(HardwareRegister::Mode, mode);
        for register in 0..128 {
            wave.set_scalar(register, number(state));
        }
        for register in 0..=255 {
            for lane in 0..LANES {
                wave.set_vector(register, lane, number(state));
            }
        }
        wave
    }

    /// All instructions of the table that whole registers can be calculated for.
    #[test]
    fn whole_registers_are_what_lanes_are_one_by_one() {
        let mut state = 77;
        let mut tried = BTreeSet::new();
        // Rounding to the nearest with and without subnormal numbers, and downwards.
        let waves = [0xf0, 0x00, 0x10, 0xf2].map(|mode| wave(&mut state, mode));
        for line in TABLE.lines() {
            let mut words = line.split(' ').map(|word| u32::from_str_radix(word, 16));
            let mut bytes = Vec::new();
            for _ in 0..2 {
                bytes.extend(words.next().unwrap().unwrap().to_le_bytes());
            }
            let Ok(instruction) = decode(&bytes) else {
                continue;
            };
            let Ok(modifiers) = arithmetic(&instruction) else {
                continue;
            };
            for wave in &waves {
                let Ok(operands) = Operands::of(wave, &instruction, &modifiers) else {
                    continue;
                };
                let mut expected = wave.clone();
                let done = one_by_one(&mut expected, &instruction, &modifiers, &operands);
                let mut found = wave.clone();
                let is_vector = !instruction.operation.name().starts_with("s_");
                if is_vector && done.is_ok() {
                    assert_eq!(compute(&mut found, &instruction), done, "{instruction}");
                    assert!(found == expected, "{instruction}");
                    let to = instruction.operand_of(Role::Destination).unwrap();
                    let mut again = wave.clone();
                    let operation = instruction.operation;
                    if whole::execute(&mut again, operation, &operands.sources, to).is_some() {
                        tried.insert(operation.name());
                    }
                }
            }
        }
        // Sixteen on integers, five on singles, and those with results of 64 bits.
        assert!(tried.len() >= 28, "{tried:?}");
    }
}
