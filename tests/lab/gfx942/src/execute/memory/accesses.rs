// SPDX-License-Identifier: GPL-2.0-only
//! The accesses of all lanes of an instruction, in their order. Lanes mostly have
//! neighbouring places: a run of them is one access, with the same outcome as one for each
//! lane. Where that fails, lanes do it one by one, so that exactly those before the one
//! that fails have done theirs.

use super::super::registers::lanes;
use super::super::Stop;
use super::place::Place;
use crate::wave::{Fault, Wave, LANES};

/// The most bytes of an instruction: 16 for each lane.
pub const MOST: usize = 16 * LANES;

pub struct Accesses {
    /// Of the lanes that are active, each with its place.
    of: [(usize, Place); LANES],
    count: usize,
    size: usize,
}

impl Accesses {
    /// Of so many bytes for each lane.
    pub fn of(
        wave: &Wave,
        size: usize,
        place: impl Fn(&Wave, usize) -> Result<Place, Stop>,
    ) -> Result<Self, Stop> {
        let mut accesses = Self {
            of: [(0, Place::Nowhere); LANES],
            count: 0,
            size,
        };
        for (access, lane) in accesses.of.iter_mut().zip(lanes(wave)) {
            *access = (lane, place(wave, lane)?);
            accesses.count += 1;
        }
        Ok(accesses)
    }

    /// The lanes that are active.
    pub fn lanes(&self) -> impl Iterator<Item = usize> + '_ {
        self.of.iter().take(self.count).map(|(lane, _)| *lane)
    }

    fn place(&self, at: usize) -> Option<Place> {
        let active = self.of.get(..self.count)?;
        active.get(at).map(|(_, place)| *place)
    }

    /// How many accesses from this one on follow each other in memory.
    fn run(&self, from: usize, first: u64) -> usize {
        let follows = |by: &usize| {
            let address = first.checked_add((by * self.size) as u64);
            matches!(self.place(from + by), Some(Place::Memory(at)) if Some(at) == address)
        };
        1 + (1..self.count - from).take_while(follows).count()
    }

    /// Has each access done with its part of the bytes, of which each lane has as many as
    /// it accesses, one active lane after the other.
    pub fn in_runs(
        &self,
        bytes: &mut [u8],
        mut access: impl FnMut(Place, &mut [u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (mut rest, mut at) = (bytes, 0);
        while let Some(place) = self.place(at) {
            let count = match place {
                Place::Memory(first) => self.run(at, first),
                _ => 1,
            };
            let (now, later) = rest.split_at_mut(count * self.size);
            if count == 1 || access(place, now).is_err() {
                for own in now.chunks_exact_mut(self.size) {
                    if let Some(place) = self.place(at) {
                        access(place, own)?;
                    }
                    at += 1;
                }
            } else {
                at += count;
            }
            rest = later;
        }
        Ok(())
    }
}
