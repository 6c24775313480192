// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of processes that are left alone for a while.
//!
//! When the beneficiaries of a stop make no progress, they may be waiting for the
//! stopped queues: a hidden dependency. All of those are started, and the pair of
//! processes cools down, each time for twice as long. A pair for which stopping
//! turns out to help is forgiven.

use crate::settings::limits::Limits;
use crate::terms::observation::ProcessId;
use crate::terms::time::Nanos;

/// One pair of processes that is left alone, or a free place for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PairSlot {
    pair: Option<Pair>,
}

/// A pair of processes that cools down or did so lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    beneficiary: ProcessId,
    victim: ProcessId,
    /// When it has cooled down.
    until: Nanos,
    /// How often it was blamed in a row.
    blamed: u32,
    /// When it was last blamed.
    at: Nanos,
}

/// The pairs of a node.
pub(crate) struct Pairs<'s> {
    slots: &'s mut [PairSlot],
    /// When the last of them has cooled down, so that a node without such
    /// pairs pays nothing.
    last_until: &'s mut Nanos,
}

impl<'s> Pairs<'s> {
    pub(crate) fn new(slots: &'s mut [PairSlot], last_until: &'s mut Nanos) -> Pairs<'s> {
        Pairs { slots, last_until }
    }

    fn find(&mut self, beneficiary: ProcessId, victim: ProcessId) -> Option<&mut PairSlot> {
        self.slots.iter_mut().find(|slot| {
            slot.pair
                .is_some_and(|pair| pair.beneficiary == beneficiary && pair.victim == victim)
        })
    }

    /// Whether nothing of `victim` may be stopped for `beneficiary`.
    pub(crate) fn cooling(&self, now: Nanos, beneficiary: ProcessId, victim: ProcessId) -> bool {
        now < *self.last_until
            && self.slots.iter().any(|slot| {
                slot.pair.is_some_and(|pair| {
                    pair.beneficiary == beneficiary && pair.victim == victim && now < pair.until
                })
            })
    }

    /// Whether the pair was blamed in this pass.
    pub(crate) fn just_blamed(
        &self,
        now: Nanos,
        beneficiary: ProcessId,
        victim: ProcessId,
    ) -> bool {
        self.slots.iter().any(|slot| {
            slot.pair.is_some_and(|pair| {
                pair.beneficiary == beneficiary && pair.victim == victim && pair.at == now
            })
        })
    }

    /// The pair made no progress. A blame in the pass of another one, or while
    /// it cools down already, is the same blame.
    pub(crate) fn blame(
        &mut self,
        now: Nanos,
        limits: &Limits,
        beneficiary: ProcessId,
        victim: ProcessId,
    ) {
        let mut blamed = 0u32;
        if let Some(slot) = self.find(beneficiary, victim) {
            if let Some(pair) = slot.pair.take() {
                if now < pair.until {
                    slot.pair = Some(pair);
                    return;
                }
                // What has gone well for the longest cool-down is forgotten.
                if now < pair.until.after(limits.cool_down_max) {
                    blamed = pair.blamed;
                }
            }
        }
        let until = now.after(limits.cool_down.doubled(blamed, limits.cool_down_max));
        let pair = Pair {
            beneficiary,
            victim,
            until,
            blamed: blamed.saturating_add(1),
            at: now,
        };
        // A free place first, then the one blamed longest ago.
        let place = self
            .slots
            .iter_mut()
            .min_by_key(|slot| slot.pair.map(|pair| pair.at));
        if let Some(place) = place {
            place.pair = Some(pair);
            *self.last_until = until.max(*self.last_until);
        }
    }

    /// Stopping `victim` helped `beneficiary`: no dependency. A pair that still
    /// cools down goes on doing so.
    pub(crate) fn forgive(&mut self, now: Nanos, beneficiary: ProcessId, victim: ProcessId) {
        if let Some(slot) = self.find(beneficiary, victim) {
            slot.pair = slot.pair.filter(|pair| now < pair.until);
        }
    }
}
