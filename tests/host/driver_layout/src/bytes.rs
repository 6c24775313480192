// SPDX-License-Identifier: GPL-2.0-only

//! Where in type information each type is. It takes the data for good: what is tested reads
//! by itself.

pub fn word(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap())
}

/// The kind of the type at a place.
pub fn kind(data: &[u8], at: usize) -> u32 {
    (word(data, at + 4) >> 24) & 0x1f
}

/// How many members, values or parameters it has.
pub fn count(data: &[u8], at: usize) -> usize {
    (word(data, at + 4) & 0xffff) as usize
}

/// Where each type is.
pub fn places(data: &[u8]) -> Vec<usize> {
    let begin = (word(data, 4) + word(data, 8)) as usize;
    let end = begin + word(data, 12) as usize;
    let (mut at, mut places) = (begin, Vec::new());
    while at < end {
        places.push(at);
        let count = count(data, at);
        at += 12
            + match kind(data, at) {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * count,
                6 | 13 => 8 * count,
                _ => 0,
            };
    }
    places
}
