// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel's code has that a save must have met: loops and barriers, or where there
//! are none, many different instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use gfx942::code::{decode, Instruction, Operand, Operation};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landmarks {
    /// Offsets of all instructions that can be reached.
    pub instructions: BTreeSet<u64>,
    pub barriers: Vec<u64>,
    /// From where a branch leads back to, to the branch.
    pub loops: Vec<RangeInclusive<u64>>,
}

/// Where a branch leads to that is one.
fn target(instruction: &Instruction, behind: u64) -> Option<u64> {
    let is_branch = ["s_branch", "s_cbranch_"]
        .iter()
        .any(|name| instruction.operation.name().starts_with(name));
    match instruction.operands().first() {
        Some(Operand::Immediate(dwords)) if is_branch => {
            Some(behind.wrapping_add_signed(i64::from(*dwords) * 4))
        }
        _ => None,
    }
}

impl Landmarks {
    /// Of the code that can be reached from an offset. Calls are not followed.
    pub fn of(text: &[u8], entry: u64) -> Landmarks {
        let mut found: BTreeMap<u64, Instruction> = BTreeMap::new();
        let mut loops = Vec::new();
        let mut left = vec![entry];
        while let Some(at) = left.pop() {
            let bytes = text.get(at as usize..).unwrap_or(&[]);
            let Ok(instruction) = decode(bytes) else {
                continue;
            };
            if found.insert(at, instruction).is_some() {
                continue;
            }
            let behind = at + u64::from(instruction.size);
            if let Some(target) = target(&instruction, behind) {
                left.push(target);
                if target <= at {
                    loops.push(target..=at);
                }
            }
            if ![Operation::s_branch, Operation::s_endpgm].contains(&instruction.operation) {
                left.push(behind);
            }
        }
        let is_barrier = |(_, each): &(&u64, &Instruction)| each.operation == Operation::s_barrier;
        let barriers = found.iter().filter(is_barrier).map(|(at, _)| *at);
        Landmarks {
            barriers: barriers.collect(),
            instructions: found.keys().copied().collect(),
            loops,
        }
    }

    /// What of it is not among these offsets.
    pub fn missed(&self, stops: &BTreeSet<u64>) -> Vec<String> {
        let barriers = self.barriers.iter().filter(|at| !stops.contains(at));
        let barriers = barriers.map(|at| format!("the barrier at {at:#x}"));
        let loops = self.loops.iter();
        let loops = loops.filter(|range| stops.range((*range).clone()).next().is_none());
        let loops = loops.map(|range| format!("the loop from {:#x} on", range.start()));
        let is_straight = self.barriers.is_empty() && self.loops.is_empty();
        let least = self.instructions.len().div_ceil(2);
        let met = stops.intersection(&self.instructions).count();
        let more = (is_straight && met < least)
            .then(|| format!("{} instructions of at least {least}", least - met));
        barriers.chain(loops).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn loops_and_barriers_are_found() {
        // A barrier, a loop of two instructions, the end, and what is behind it.
        let words = [
            0xbf8a_0000,
            0xbf80_0000,
            0xbf85_fffe,
            0xbf81_0000,
            0xbf8a_0000,
        ];
        let landmarks = Landmarks::of(&text(&words), 0);
        assert_eq!(landmarks.barriers, [0]);
        assert_eq!(landmarks.loops, [4..=8]);
        assert_eq!(landmarks.instructions, BTreeSet::from([0, 4, 8, 12]));
        let missed = |stops: &[u64]| landmarks.missed(&stops.iter().copied().collect()).len();
        assert_eq!(missed(&[]), 2);
        assert_eq!((missed(&[0, 12]), missed(&[8]), missed(&[0, 4])), (1, 1, 0));
    }

    #[test]
    fn of_straight_code_half_of_the_instructions_are_wanted() {
        let landmarks = Landmarks::of(&text(&[0xbf80_0000, 0xbf80_0000, 0xbf81_0000]), 0);
        let missed = |stops: &[u64]| landmarks.missed(&stops.iter().copied().collect());
        assert_eq!(missed(&[]), ["2 instructions of at least 2"]);
        assert_eq!(missed(&[4, 5, 12]), ["1 instructions of at least 2"]);
        assert!(missed(&[0, 8]).is_empty());
    }

    #[test]
    fn code_without_an_end_is_left_there() {
        let landmarks = Landmarks::of(&text(&[0xbf80_0000]), 0);
        assert_eq!(landmarks.instructions, BTreeSet::from([0]));
        assert!(Landmarks::of(&[], 8).instructions.is_empty());
    }
}
