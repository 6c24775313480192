// SPDX-License-Identifier: GPL-2.0
//! The decisions of a step, as far as the caller's buffer reaches.

use crate::decision::Decision;

/// The caller's buffer.
pub(crate) struct Output<'o> {
    places: &'o mut [Decision],
    len: usize,
    truncated: bool,
}

impl<'o> Output<'o> {
    pub(crate) fn new(places: &'o mut [Decision]) -> Output<'o> {
        Output {
            places,
            len: 0,
            truncated: false,
        }
    }

    /// Whether this many more decisions fit; remembers when they do not.
    pub(crate) fn fits(&mut self, count: usize) -> bool {
        let fits = self.places.len().saturating_sub(self.len) >= count;
        self.truncated |= !fits;
        fits
    }

    /// Adds a decision. `false`: there is no room, and it is not made.
    pub(crate) fn push(&mut self, decision: Decision) -> bool {
        match self.places.get_mut(self.len) {
            Some(place) => {
                *place = decision;
                self.len = self.len.saturating_add(1);
                true
            }
            None => {
                self.truncated = true;
                false
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn truncated(&self) -> bool {
        self.truncated
    }
}
