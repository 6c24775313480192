// SPDX-License-Identifier: GPL-2.0-only

//! Where the requests about each queue are, found without a search: a transaction looks
//! at every queue of a node while none of them is on the hardware, and all of them wait
//! for it. The index is made before.

#![forbid(unsafe_code)]

use crate::{driver::queue::QueueKey, kernel::count::Count};
use core::ops::Range;
use kernel::prelude::*;

/// How many places were looked at.
pub static LOOKS: Count = Count::new();

/// Ranges of a list by the queue that they are about.
///
/// # Invariants
///
/// There are more places than entries, by a half at least, so that one is free near
/// every other.
pub(crate) struct Index {
    places: KVVec<Option<Place>>,
    /// How many places are taken.
    taken: usize,
    /// How often it was filled. There is one fill in each pass, mostly with nothing, for
    /// which all the places would have to be cleared.
    fills: u64,
}

/// Where the entries about a queue are.
#[derive(Clone)]
struct Place {
    key: QueueKey,
    from: u32,
    to: u32,
    /// The fill that it is of. One of an earlier fill is free.
    fill: u64,
}

impl Index {
    /// Room for so many queues.
    pub(crate) fn new(most: usize) -> Result<Self> {
        let places = most.saturating_mul(2).max(1).next_power_of_two();
        Ok(Self {
            places: KVVec::from_elem(None, places, GFP_KERNEL)?,
            taken: 0,
            fills: 0,
        })
    }

    /// Forgets all queues, and takes the keys of a list in which those of a queue come
    /// together.
    pub(crate) fn fill(&mut self, keys: impl Iterator<Item = QueueKey>) {
        self.fills = self.fills.wrapping_add(1);
        self.taken = 0;
        let mut last: Option<usize> = None;
        for (at, key) in (0u32..).zip(keys) {
            let same = last.and_then(|last| self.places.get_mut(last)?.as_mut());
            match same.filter(|place| place.key == key) {
                Some(place) => place.to = at.saturating_add(1),
                None => last = self.insert(key, at),
            }
        }
    }

    /// What is at a place, unless it is free.
    fn at(&self, place: usize) -> Option<&Place> {
        let place = self.places.get(place)?.as_ref()?;
        (place.fill == self.fills).then_some(place)
    }

    fn insert(&mut self, key: QueueKey, at: u32) -> Option<usize> {
        if self.taken >= self.places.len() / 2 {
            return None;
        }
        let free = self.from(key).find(|&place| self.at(place).is_none())?;
        *self.places.get_mut(free)? = Some(Place {
            key,
            from: at,
            to: at.saturating_add(1),
            fill: self.fills,
        });
        self.taken = self.taken.saturating_add(1);
        Some(free)
    }

    /// Where the entries about a queue are.
    pub(crate) fn of(&self, key: QueueKey) -> Range<usize> {
        for place in self.from(key) {
            LOOKS.add();
            match self.at(place) {
                Some(found) if found.key == key => return wide(found.from)..wide(found.to),
                Some(_) => {}
                None => break,
            }
        }
        0..0
    }

    /// The places where a queue may be, the first one by its address. The upper bits of
    /// the product spread addresses well that lie at equal distances.
    fn from(&self, key: QueueKey) -> impl Iterator<Item = usize> {
        const GOLDEN: usize = 0x9e37_79b9_7f4a_7c15;
        let mask = self.places.len().wrapping_sub(1);
        let product = key.queue.wrapping_mul(GOLDEN);
        let first = product.checked_shr(mask.leading_zeros()).unwrap_or(0);
        (0..self.places.len()).map(move |step| first.wrapping_add(step) & mask)
    }
}

fn wide(at: u32) -> usize {
    usize::try_from(at).unwrap_or(0)
}
