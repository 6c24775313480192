// SPDX-License-Identifier: GPL-2.0-only
//! The control stack of queues with waves of machine code, as AMD's debugger reads it:
//! two words that it skips, events that it skips as well, and then the waves, the last
//! in the save area first. A state precedes the waves that it is about.
//!
//! What hardware keeps in events is not known. Here they have bytes of the model's own,
//! three in each.

use super::machine::{Program, ScratchSlot};

const EVENT: u32 = 1 << 30;
const STATE: u32 = 1 << 31;
const FIRST_WAVE: u32 = 1 << 17;
const LAST_WAVE: u32 = 1 << 16;
/// A wave's part of scratch: that it has one, its shader engine, and its number there.
const HAS_SCRATCH: u32 = 1 << 15;
const ENGINE_FROM: u32 = 11;
const ENGINE: u32 = 3;
const SLOT: u32 = 0x1ff;
/// The first word, by which this kind of stack is known: a filler of PM4.
pub const MARK: u32 = 0xffff_1000;
/// Scalar registers in units of 16, less one. The trap handler's are among them.
const SCALAR_BLOCKS: u32 = 7;

/// What the waves of a dispatch have in common; local memory in units of that size.
pub fn state(program: &Program, lds: u32, granule: u32) -> u32 {
    let (vectors, accumulation) = program.vector_blocks();
    let lds = lds.div_ceil(granule) & 0xff;
    STATE & !EVENT | vectors | (SCALAR_BLOCKS << 6) | (lds << 9) | ((accumulation & 0x3f) << 24)
}

/// The words of workgroups whose waves have these parts of scratch, the last wave first.
pub fn waves<'a>(
    groups: impl DoubleEndedIterator<Item = &'a Vec<Option<ScratchSlot>>>,
) -> Vec<u32> {
    let of_group = |slots: &'a Vec<Option<ScratchSlot>>| {
        let count = slots.len();
        (0..count).zip(slots).rev().map(move |(index, slot)| {
            let first = if index == 0 { FIRST_WAVE } else { 0 };
            let last = if index + 1 == count { LAST_WAVE } else { 0 };
            let scratch = slot.map_or(0, |slot| {
                HAS_SCRATCH | (slot.number & SLOT) | ((slot.engine & ENGINE) << ENGINE_FROM)
            });
            first | last | scratch
        })
    };
    groups.rev().flat_map(of_group).collect()
}

fn slot(word: u32) -> Option<ScratchSlot> {
    (word & HAS_SCRATCH != 0).then_some(ScratchSlot {
        engine: (word >> ENGINE_FROM) & ENGINE,
        number: word & SLOT,
    })
}

pub fn is_state(word: u32) -> bool {
    word & EVENT == 0 && word & STATE != 0
}

/// The waves of each workgroup, from words as [`waves`] makes them.
pub fn groups(words: &[u32]) -> Option<Vec<Vec<Option<ScratchSlot>>>> {
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for word in words {
        // A group begins with its last wave.
        if (word & LAST_WAVE != 0) != group.is_empty() {
            return None;
        }
        group.push(slot(*word));
        if word & FIRST_WAVE != 0 {
            group.reverse();
            groups.push(std::mem::take(&mut group));
        }
    }
    groups.reverse();
    group.is_empty().then_some(groups)
}

/// A stack with bytes of our own and the words of states and waves.
pub fn stack(own: &[u8], words: &[u32]) -> Vec<u8> {
    let mut stack = vec![MARK, own.len() as u32];
    for three in own.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        stack.push(EVENT | byte(0) | (byte(1) << 8) | (byte(2) << 16));
    }
    stack.extend(words);
    stack.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The parts of a stack.
pub fn parts(stack: &[u8]) -> Option<(Vec<u8>, Vec<u32>)> {
    let word = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    let words: Vec<u32> = stack.chunks_exact(4).map(word).collect();
    let (&first, &length) = (words.first()?, words.get(1)?);
    let (length, rest) = (length as usize, words.get(2..)?);
    let events = length.div_ceil(3);
    if first != MARK || events > rest.len() {
        return None;
    }
    let (events, rest) = rest.split_at(events);
    if !events.iter().all(|event| event & EVENT != 0) {
        return None;
    }
    let bytes = events
        .iter()
        .flat_map(|event| event.to_le_bytes().into_iter().take(3));
    Some((bytes.take(length).collect(), rest.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(at: u32) -> Option<ScratchSlot> {
        (at % 3 > 0).then_some(ScratchSlot {
            engine: at % 4,
            number: 500 + at % 12,
        })
    }

    #[test]
    fn what_a_stack_was_made_of_is_found_again() {
        for length in 0..8 {
            let own: Vec<u8> = (0..length).map(|at| 0xf8 + at).collect();
            let all = [3, 1, 16].map(|count| (0..count).map(some).collect());
            let words = waves(all.iter());
            let stack = stack(&own, &words);
            assert_eq!(parts(&stack), Some((own, words.clone())));
            assert_eq!(groups(&words), Some(all.to_vec()));
        }
    }

    #[test]
    fn a_group_without_its_first_or_last_wave_is_noticed() {
        let words = waves([vec![None; 2], vec![None; 2]].iter());
        assert_eq!(groups(&words[..3]), None);
        assert_eq!(groups(&words[1..]), None);
        assert_eq!(groups(&[]), Some(Vec::new()));
    }

    #[test]
    fn other_bytes_are_no_stack() {
        assert_eq!(parts(&[]), None);
        assert_eq!(parts(&[0; 64]), None);
        let stack = stack(&[1, 2, 3, 4], &[]);
        assert_eq!(parts(&stack[..stack.len() - 4]), None);
    }
}
