// SPDX-License-Identifier: GPL-2.0-only
//! A table of records in borrowed memory: dense, in order of arrival, and
//! found by key in constant time. A record is expected where the caller's
//! walk has come to; a chained hash over the same memory finds the others.

/// One place of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot<R> {
    /// The first record of the bucket that this place stands for.
    first: Link,
    /// The next record of the bucket that the record here is in.
    next: Link,
    record: R,
}

/// The number of a place, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link(Option<core::num::NonZeroU16>);

impl Link {
    const NONE: Link = Link(None);

    fn to(at: usize) -> Link {
        let number = at.checked_add(1).and_then(|n| u16::try_from(n).ok());
        Link(number.and_then(core::num::NonZeroU16::new))
    }

    fn at(self) -> Option<usize> {
        let number = usize::from(self.0?.get());
        number.checked_sub(1)
    }
}

/// What a table keeps.
pub(crate) trait Record: Copy {
    /// What the record is found by.
    fn key(&self) -> u64;
}

/// A table over borrowed memory.
pub(crate) struct Table<'s, R> {
    slots: &'s mut [Slot<R>],
    len: usize,
}

impl<'s, R: Record> Table<'s, R> {
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
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&R> {
        self.slots.get(at).map(|slot| &slot.record)
    }

    /// As [`Table::get`].
    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut R> {
        self.slots.get_mut(at).map(|slot| &mut slot.record)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        self.slots
            .get(..self.len)
            .unwrap_or_default()
            .iter()
            .map(|slot| &slot.record)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.slots
            .get_mut(..self.len)
            .unwrap_or_default()
            .iter_mut()
            .map(|slot| &mut slot.record)
    }

    /// Where the record with this key is; `hint` is where to look first.
    #[inline]
    pub(crate) fn find(&self, key: u64, hint: usize) -> Option<usize> {
        let expected = self.get(hint).is_some_and(|record| record.key() == key);
        if expected && hint < self.len {
            return Some(hint);
        }
        let mut link = self.slots.get(self.bucket(key))?.first;
        // A chain is no longer than the table; the count keeps a damaged one
        // from turning for ever.
        for _ in 0..self.len {
            let at = link.at()?;
            let slot = self.slots.get(at)?;
            if slot.record.key() == key {
                return Some(at);
            }
            link = slot.next;
        }
        None
    }

    /// Adds a record whose key is not there yet. `None`: the table is full.
    pub(crate) fn insert(&mut self, record: R) -> Option<usize> {
        let at = self.len;
        if Link::to(at) == Link::NONE {
            return None;
        }
        self.slots.get_mut(at)?.record = record;
        self.len = at.saturating_add(1);
        self.link(at);
        Some(at)
    }

    /// Keeps the records for which `keep` says so, in their order.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&R) -> bool) {
        let mut kept = 0usize;
        for at in 0..self.len {
            let Some(record) = self.slots.get(at).map(|slot| slot.record) else {
                break;
            };
            if keep(&record) {
                if let Some(slot) = self.slots.get_mut(kept) {
                    slot.record = record;
                }
                kept = kept.saturating_add(1);
            }
        }
        if kept == self.len {
            return;
        }
        self.len = kept;
        for slot in self.slots.iter_mut() {
            slot.first = Link::NONE;
        }
        for at in 0..kept {
            self.link(at);
        }
    }

    /// Puts the record at a place into its bucket.
    fn link(&mut self, at: usize) {
        let Some(key) = self.slots.get(at).map(|slot| slot.record.key()) else {
            return;
        };
        let bucket = self.bucket(key);
        let Some(slot) = self.slots.get_mut(bucket) else {
            return;
        };
        let first = core::mem::replace(&mut slot.first, Link::to(at));
        if let Some(slot) = self.slots.get_mut(at) {
            slot.next = first;
        }
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
