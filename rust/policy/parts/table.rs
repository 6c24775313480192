// SPDX-License-Identifier: GPL-2.0-only
//! A table of records in borrowed memory: dense, in order of arrival, and
//! found by key in constant time. A record is expected where the caller's
//! walk has come to; a chained hash over the same memory finds the others.

/// One place of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot<R> {
    /// The first record of the bucket that this place stands for, and the next one of the
    /// bucket that the record here is in: numbers of places from 1 on, or 0 for none.
    first: u16,
    next: u16,
    /// What the record is found by.
    key: u64,
    record: R,
}

/// A table over borrowed memory.
pub(crate) struct Table<'s, R> {
    slots: &'s mut [Slot<R>],
    len: usize,
}

impl<'s, R: Copy + Default> Table<'s, R> {
    /// The table that had this length when the memory was last used.
    pub(crate) fn new(slots: &'s mut [Slot<R>], len: usize) -> Table<'s, R> {
        let len = len.min(slots.len());
        Table { slots, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// More than half of the places are taken.
    pub(crate) fn is_half_full(&self) -> bool {
        self.len > self.slots.len() / 2
    }

    /// The record at a place that `find`, `insert` or a walk up to `len` gave.
    pub(crate) fn get(&self, at: usize) -> Option<&R> {
        self.slots.get(at).map(|slot| &slot.record)
    }

    /// As [`Table::get`].
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut R> {
        self.slots.get_mut(at).map(|slot| &mut slot.record)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        let taken = self.slots.get(..self.len).unwrap_or_default();
        taken.iter().map(|slot| &slot.record)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut R> {
        let taken = self.slots.get_mut(..self.len).unwrap_or_default();
        taken.iter_mut().map(|slot| &mut slot.record)
    }

    /// Where the record with this key is; `hint` is where to look first.
    pub(crate) fn find(&self, key: u64, hint: usize) -> Option<usize> {
        let expected = self.slots.get(hint).filter(|_| hint < self.len);
        if expected.is_some_and(|slot| slot.key == key) {
            return Some(hint);
        }
        let mut link = self.slots.get(self.bucket(key))?.first;
        // A chain is no longer than the table; the count keeps a damaged one
        // from turning for ever.
        for _ in 0..self.len {
            let at = usize::from(link).checked_sub(1)?;
            let slot = self.slots.get(at)?;
            if slot.key == key {
                return Some(at);
            }
            link = slot.next;
        }
        None
    }

    /// Where the record with this key is; if there is none, an empty one is added.
    pub(crate) fn find_or_add(&mut self, key: u64, hint: usize) -> Option<usize> {
        let found = self.find(key, hint);
        found.or_else(|| self.insert(key, R::default()))
    }

    /// Adds a record whose key is not there yet. `None`: the table is full.
    pub(crate) fn insert(&mut self, key: u64, record: R) -> Option<usize> {
        let at = self.len;
        let slot = self.slots.get_mut(at)?;
        (slot.key, slot.record) = (key, record);
        self.link(at)?;
        self.len = at.saturating_add(1);
        Some(at)
    }

    /// Keeps the records for which `keep` says so, in their order.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut R) -> bool) {
        let mut kept = 0usize;
        for at in 0..self.len {
            if !self.get_mut(at).is_some_and(&mut keep) {
                continue;
            }
            let slot = self.slots.get(at).filter(|_| kept < at).copied();
            if let (Some(slot), Some(place)) = (slot, self.slots.get_mut(kept)) {
                *place = slot;
            }
            kept = kept.saturating_add(1);
        }
        if kept == self.len {
            return;
        }
        self.len = kept;
        for slot in self.slots.iter_mut() {
            slot.first = 0;
        }
        for at in 0..kept {
            let _ = self.link(at);
        }
    }

    /// Puts the record at a place into its bucket. `None`: places have no such number.
    fn link(&mut self, at: usize) -> Option<()> {
        let number = u16::try_from(at.checked_add(1)?).ok()?;
        let bucket = self.bucket(self.slots.get(at)?.key);
        let first = &mut self.slots.get_mut(bucket)?.first;
        let next = core::mem::replace(first, number);
        self.slots.get_mut(at)?.next = next;
        Some(())
    }

    /// The bucket of a key: Fibonacci hashing, scaled to the table's length
    /// without a division.
    #[inline]
    fn bucket(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let places = u64::try_from(self.slots.len()).unwrap_or(0);
        usize::try_from(hash.wrapping_mul(places) >> 32).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Number(u64);

    fn table(slots: &mut [Slot<Number>], keys: &[u64]) -> usize {
        let mut table = Table::new(slots, 0);
        for &key in keys {
            table.insert(key, Number(key));
        }
        table.len()
    }

    #[test]
    fn finds_what_was_inserted_and_nothing_else() {
        let mut slots = [Slot::default(); 16];
        let keys: Vec<u64> = (0..16).map(|n| n * 0x1_0000_0001).collect();
        let len = table(&mut slots, &keys);
        let table = Table::new(&mut slots, len);
        for (at, &key) in keys.iter().enumerate() {
            assert_eq!(table.find(key, at), Some(at));
            assert_eq!(table.find(key, usize::MAX), Some(at));
        }
        assert_eq!(table.find(7, 0), None);
    }

    #[test]
    fn it_is_half_full_with_more_than_half_of_its_places_taken() {
        let mut slots = [Slot::default(); 4];
        for (len, half_full) in [(0, false), (2, false), (3, true), (4, true)] {
            let table: Table<'_, Number> = Table::new(&mut slots, len);
            assert_eq!(table.is_half_full(), half_full);
        }
    }
}
