// SPDX-License-Identifier: GPL-2.0-only
//! Where pages led that were looked up, for accesses that follow each other so closely
//! that nobody can have had a change noticed. Whoever keeps this decides how long.

use super::{Memory, MemoryFault, Space, Target, PAGE};
use crate::terms::BusError;

const ENTRIES: usize = 64;
/// No page has this number.
const EMPTY: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Entry {
    page: u64,
    target: Target,
}

/// Pages of one address space, those to read and those to write apart: they may be
/// forbidden to one of the two.
pub struct Lookups {
    entries: [[Entry; ENTRIES]; 2],
}

impl Default for Lookups {
    fn default() -> Lookups {
        let empty = Entry {
            page: EMPTY,
            target: Target::Guest(0),
        };
        Lookups {
            entries: [[empty; ENTRIES]; 2],
        }
    }
}

impl Memory {
    /// Where so many bytes are that lie in one page; none if they do not.
    pub(super) fn within_page(
        &self,
        space: Space,
        lookups: &mut Lookups,
        (address, length): (u64, usize),
        write: bool,
    ) -> Result<Option<Target>, MemoryFault> {
        let (page, offset) = (address / PAGE, address % PAGE);
        if length as u64 > PAGE - offset {
            return Ok(None);
        }
        let entry = &mut lookups.entries[usize::from(write)][page as usize % ENTRIES];
        if entry.page != page {
            // A page leads to bytes that follow each other.
            let (target, _) = self
                .translate(space, page * PAGE, write)
                .map_err(|fault| MemoryFault { address, ..fault })?;
            if self.check(target, PAGE).is_none() {
                return Ok(None);
            }
            *entry = Entry { page, target };
        }
        Ok(Some(entry.target.plus(offset)))
    }

    /// Does this with bytes that lie in one page, where it was found before; says whether
    /// it could be done.
    fn again(
        &self,
        space: Space,
        lookups: &mut Lookups,
        (place, write): ((u64, usize), bool),
        access: impl FnOnce(&Memory, Target) -> Result<(), BusError>,
    ) -> Result<bool, MemoryFault> {
        let target = self.within_page(space, lookups, place, write)?;
        Ok(target.is_some_and(|target| access(self, target).is_ok()))
    }

    /// Reads as `read` does, with pages that were looked up before.
    pub fn read_again(
        &self,
        space: Space,
        lookups: &mut Lookups,
        address: u64,
        data: &mut [u8],
    ) -> Result<(), MemoryFault> {
        let place = (address, data.len());
        let load = |memory: &Memory, target| memory.load(target, data);
        match self.again(space, lookups, (place, false), load)? {
            true => Ok(()),
            // What is wrong is said in the same words.
            false => self.read(space, address, data),
        }
    }

    /// Writes as `write` does, with pages that were looked up before.
    pub fn write_again(
        &mut self,
        space: Space,
        lookups: &mut Lookups,
        address: u64,
        data: &[u8],
    ) -> Result<(), MemoryFault> {
        let place = (address, data.len());
        let store = |memory: &Memory, target| memory.store(target, data);
        match self.again(space, lookups, (place, true), store)? {
            true => Ok(()),
            false => self.write(space, address, data),
        }
    }
}
