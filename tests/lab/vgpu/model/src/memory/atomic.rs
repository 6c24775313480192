// SPDX-License-Identifier: GPL-2.0-only
//! Reading, changing and writing a word as one operation, of which the guest's processors
//! see nothing in between: over PCI Express these are atomic operations of the bus.

use super::{FaultCause, Lookups, Memory, MemoryFault, Space, Target};
use crate::terms::BusError;

fn nowhere(address: u64) -> MemoryFault {
    MemoryFault {
        address,
        write: true,
        cause: FaultCause::Nowhere,
    }
}

impl Memory {
    /// Puts `new` in the place of `old` if that is there; returns what was there.
    fn exchange(&self, target: Target, bytes: u8, old: u64, new: u64) -> Result<u64, BusError> {
        let (old_word, new_word) = (old as u32, new as u32);
        Ok(match (target, bytes) {
            (Target::Vram(offset), 8) => self.vram.exchange_u64(offset, old, new),
            (Target::Vram(offset), _) => self.vram.exchange_u32(offset, old_word, new_word).into(),
            (Target::Guest(address), 8) => self.bus.exchange_u64(address, old, new)?,
            (Target::Guest(address), _) => {
                let found = self.bus.exchange_u32(address, old_word, new_word);
                found?.into()
            }
        })
    }

    /// Puts what `change` makes of a word in its place, which was `old` a moment ago, and
    /// tries again where somebody else has changed it since. Returns what was there.
    fn exchange_for(
        &self,
        (target, bytes): (Target, u8),
        mut old: u64,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BusError> {
        loop {
            let found = self.exchange(target, bytes, old, change(old))?;
            if found == old {
                return Ok(old);
            }
            old = found;
        }
    }

    fn add(&self, space: Space, at: u64, bytes: u8, value: u64) -> Result<u64, MemoryFault> {
        if at % u64::from(bytes) != 0 {
            return Err(nowhere(at));
        }
        let (target, _) = self.translate(space, at, true)?;
        let target = self.check(target, bytes.into()).ok_or(nowhere(at))?;
        let mut word = [0; 8];
        let old = self.load(target, &mut word[..bytes.into()]);
        old.and_then(|()| {
            let old = u64::from_le_bytes(word);
            self.exchange_for((target, bytes), old, &mut |old| old.wrapping_add(value))
        })
        .map_err(|_| nowhere(at))
    }

    pub fn add_u32(&mut self, space: Space, at: u64, value: u32) -> Result<u32, MemoryFault> {
        Ok(self.add(space, at, 4, value.into())? as u32)
    }

    pub fn add_u64(&mut self, space: Space, at: u64, value: u64) -> Result<u64, MemoryFault> {
        self.add(space, at, 8, value)
    }

    /// Changes a word of 4 or 8 bytes, with pages that were looked up before. Without
    /// alignment it is read and then written, which only waves take for one operation.
    pub fn change_again(
        &mut self,
        space: Space,
        lookups: &mut Lookups,
        (address, bytes): (u64, u8),
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, MemoryFault> {
        let mut word = [0; 8];
        let used = usize::from(bytes);
        self.read_again(space, lookups, address, &mut word[..used])?;
        let old = u64::from_le_bytes(word);
        if address % u64::from(bytes) == 0 {
            let place = (address, used);
            if let Some(target) = self.within_page(space, lookups, place, true)? {
                let changed = self.exchange_for((target, bytes), old, change);
                return changed.map_err(|_| nowhere(address));
            }
        }
        let new = change(old).to_le_bytes();
        self.write_again(space, lookups, address, &new[..used])?;
        Ok(old)
    }
}
