// SPDX-License-Identifier: GPL-2.0-only
//! The few queues that matter most in a pass.
//!
//! Which queues a queue may preempt depends on its process: pairs, budgets and
//! the rule against stopping queues of the same process. So it is enough to know
//! the most urgent queue of each process, and a handful of processes: if all of
//! those are refused, nothing is stopped, which is the safe side.

use crate::algorithm::standing::Rank;
use crate::algorithm::standing::Side;
use crate::memory::queue::Queue;
use crate::settings::limits::Limits;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// How many processes are looked at.
pub(crate) const RIVALS: usize = 8;

/// One of the queues that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rival {
    pub(crate) side: Side,
    pub(crate) rank: Rank,
    /// Where the queue is in this pass.
    pub(crate) at: usize,
    pub(crate) id: QueueId,
    pub(crate) process: ProcessId,
    /// Where its process is in this pass.
    pub(crate) process_at: usize,
    pub(crate) effective: Priority,
    /// When it, or its equal of the same side, was last seen alive.
    pub(crate) alive: Nanos,
}

impl Rival {
    /// The queue at this place.
    pub(crate) fn new(queue: &Queue, at: usize, rank: Rank, limits: &Limits) -> Rival {
        Rival {
            side: Side::of(queue, limits),
            rank,
            at,
            id: queue.id(),
            process: queue.process(),
            process_at: queue.process_at(),
            effective: queue.effective(),
            alive: queue.work().alive(),
        }
    }

    /// Ties are broken by the queue's number, so that equal inputs give equal
    /// outputs.
    fn before(&self, other: &Rival) -> bool {
        (self.rank, other.id) > (other.rank, self.id)
    }
}

/// The queues that matter, the greatest first, one of each side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rivals {
    places: [Option<Rival>; RIVALS],
}

impl Rivals {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rival> {
        self.places.iter().flatten()
    }

    pub(crate) fn first(&self) -> Option<&Rival> {
        self.iter().next()
    }

    /// The rival of this rank, 0 for the greatest.
    pub(crate) fn get(&self, rank: usize) -> Option<Rival> {
        self.places.get(rank).copied().flatten()
    }

    /// Takes the rival in if it matters more than one that is in.
    pub(crate) fn offer(&mut self, mut new: Rival) {
        let same = self
            .places
            .iter_mut()
            .flatten()
            .find(|old| old.side == new.side);
        let Some(old) = same else {
            self.place(new);
            return;
        };
        if old.effective == new.effective {
            old.alive = old.alive.max(new.alive);
            new.alive = old.alive;
        }
        if new.before(old) {
            self.place(new);
        }
    }

    /// Puts the rival before the first one that matters less. Those after it move
    /// down, up to its equal of the same side, whose place it takes.
    fn place(&mut self, rival: Rival) {
        // On a crowded node nearly all matter less than the few that are in.
        if let [.., Some(last)] = &self.places {
            if !rival.before(last) {
                return;
            }
        }
        let mut carried = rival;
        for place in &mut self.places {
            match place {
                None => {
                    *place = Some(carried);
                    return;
                }
                Some(other) if carried.before(other) => {
                    core::mem::swap(other, &mut carried);
                    if carried.side == rival.side {
                        return;
                    }
                }
                Some(_) => {}
            }
        }
    }
}
