// SPDX-License-Identifier: GPL-2.0-only
//! The decisions of a step, as far as the caller's buffer reaches.

use crate::terms::decision::Decision;
use crate::terms::observation::QueueId;

/// The caller's buffer.
pub(crate) struct Output<'o> {
    places: &'o mut [Decision],
    len: usize,
    /// How many decisions were promised a place, those that are made included.
    promised: usize,
    truncated: bool,
}

impl<'o> Output<'o> {
    pub(crate) fn new(places: &'o mut [Decision]) -> Output<'o> {
        Output {
            places,
            len: 0,
            promised: 0,
            truncated: false,
        }
    }

    /// Promises places to decisions that belong together. `false`: they do not
    /// all fit.
    pub(crate) fn promise(&mut self, count: usize) -> bool {
        let promised = self.promised.max(self.len).saturating_add(count);
        let fits = promised <= self.places.len();
        if fits {
            self.promised = promised;
        }
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

    /// Whether there is a decision about the queue.
    pub(crate) fn names(&self, queue: QueueId) -> bool {
        let made = self.places.get(..self.len).unwrap_or_default();
        made.iter().any(|decision| decision.queue == queue)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn truncated(&self) -> bool {
        self.truncated
    }
}
