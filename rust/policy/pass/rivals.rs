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

#[cfg(test)]
mod tests {
    use super::*;

    fn rival(process: u64, queue: u64, rank: u64, alive: u64) -> Rival {
        Rival {
            side: Side(process),
            rank: Rank(rank, 0),
            at: 0,
            id: QueueId(queue),
            process: ProcessId(process),
            process_at: 0,
            effective: Priority::NORMAL,
            alive: Nanos(alive),
        }
    }

    fn ids(rivals: &Rivals) -> Vec<u64> {
        rivals.iter().map(|rival| rival.id.0).collect()
    }

    #[test]
    fn the_greatest_come_first_and_the_rest_is_dropped() {
        let mut rivals = Rivals::default();
        for n in [5, 3, 9, 1, 7, 2, 8, 6, 4, 10] {
            rivals.offer(rival(n, n, n, 0));
        }
        assert_eq!(ids(&rivals), [10, 9, 8, 7, 6, 5, 4, 3]);
        assert_eq!(rivals.first().unwrap().id.0, 10);
    }

    #[test]
    fn ties_go_to_the_older_queue() {
        let mut rivals = Rivals::default();
        for n in [2, 1, 3] {
            rivals.offer(rival(n, n, 0, 0));
        }
        assert_eq!(ids(&rivals), [1, 2, 3]);
    }

    #[test]
    fn one_of_each_side_the_best_and_the_latest_life() {
        let mut rivals = Rivals::default();
        rivals.offer(rival(1, 10, 1, 50));
        rivals.offer(rival(2, 20, 2, 0));
        rivals.offer(rival(1, 11, 3, 40));
        rivals.offer(rival(1, 12, 0, 60));
        assert_eq!(ids(&rivals), [11, 20]);
        assert_eq!(rivals.first().unwrap().alive, Nanos(60));
    }

    #[test]
    fn where_all_places_are_taken_a_better_one_of_a_side_moves_up() {
        let mut rivals = Rivals::default();
        for n in 1..=8 {
            rivals.offer(rival(n, n, n, 0));
        }
        rivals.offer(rival(1, 11, 9, 0));
        assert_eq!(ids(&rivals), [11, 8, 7, 6, 5, 4, 3, 2]);
        // A worse one of a side that is in changes nothing but its life.
        rivals.offer(rival(2, 12, 1, 70));
        assert_eq!(ids(&rivals), [11, 8, 7, 6, 5, 4, 3, 2]);
        assert_eq!(rivals.get(7).unwrap().alive, Nanos(70));
    }

    #[test]
    fn the_better_one_of_a_side_takes_over_its_life() {
        let mut rivals = Rivals::default();
        rivals.offer(rival(1, 10, 1, 50));
        rivals.offer(rival(1, 11, 3, 40));
        assert_eq!(ids(&rivals), [11]);
        assert_eq!(rivals.first().unwrap().alive, Nanos(50));
    }
}
