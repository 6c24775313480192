// SPDX-License-Identifier: GPL-2.0-only

//! How many waves the launch has whose packet was consumed last.
//!
//! A packet that was consumed keeps its words until its slot is used again, which cannot
//! be while the ring is empty; only the type in its header is gone. Words that are no
//! dispatch of a kernel have no dimensions or no size, as a barrier's.

#![forbid(unsafe_code)]

/// The words of a packet that say how large a grid is.
pub const GRID_WORDS: usize = 6;

/// The threads of a wave.
const WAVE: u64 = 64;

/// How many waves of a launch the first die of a node has when all of it is placed: its
/// workgroups go to one die after the other. `None`: the words are no dispatch.
///
/// The program wrote them, so that they may be anything.
pub fn waves_on_first_die(words: [u32; GRID_WORDS], dies: u32) -> Option<u32> {
    let [header, sizes, last, grid @ ..] = words;
    let dimensions = (header >> 16) & 3;
    let group = [sizes & 0xffff, sizes >> 16, last & 0xffff];
    let sized = dimensions > 0 && group.iter().chain(&grid).all(|&size| size > 0);
    if !sized {
        return None;
    }
    let product = |all: u64, one: u64| all.saturating_mul(one);
    let threads = group.iter().map(|&size| u64::from(size)).fold(1, product);
    let groups = grid.iter().zip(&group);
    let groups = groups.map(|(&grid, &group)| u64::from(grid).div_ceil(u64::from(group)));
    let on_die = groups.fold(1, product).div_ceil(u64::from(dies.max(1)));
    let waves = on_die.saturating_mul(threads.div_ceil(WAVE));
    Some(u32::try_from(waves).unwrap_or(u32::MAX))
}
