// SPDX-License-Identifier: GPL-2.0-only
//! Who wants something at a level.
//!
//! A queue is never stopped for its own process, so the first two processes are enough to
//! know whether another one wants something: no list, and nothing that could be filled up.

use crate::queue::phase::Who;
use crate::terms::{Nanos, ProcessId};

/// The first queues of two different processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Two {
    pub(crate) first: Option<Who>,
    pub(crate) second: Option<Who>,
}

impl Two {
    pub(crate) fn add(&mut self, who: Who) {
        match (self.first, self.second) {
            (None, _) => self.first = Some(who),
            (Some(first), None) if first.process != who.process => {
                self.second = Some(who);
            }
            _ => {}
        }
    }

    /// The first that is not of this process.
    pub(crate) fn other_than(&self, process: ProcessId) -> Option<Who> {
        let other = |who: &Who| who.process != process;
        self.first.filter(other).or(self.second.filter(other))
    }
}

/// What waits at a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    pub(crate) who: Two,
    /// A rule gave one of them its level.
    pub(crate) ruled: bool,
    /// The most packets that one has.
    pub(crate) packets: u32,
    /// Since when the first has waited.
    pub(crate) since: Nanos,
}

/// A queue of a process that takes turns at a level and wants something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Taker {
    pub(crate) who: Who,
    /// Since when a packet of it has waited.
    pub(crate) waits_since: Option<Nanos>,
    pub(crate) timeslice: Nanos,
    /// Nothing of it is on the compute units.
    pub(crate) off: bool,
    /// It waits, or is stopped for another's turn.
    pub(crate) matters: bool,
    /// When its process had the last turn.
    pub(crate) last: Nanos,
}

/// Who takes turns at a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Takers {
    pub(crate) all: Two,
    /// One of them matters.
    pub(crate) matter: bool,
    /// Who has the turn.
    pub(crate) holder: Option<Taker>,
    /// Who has had none for longest; of those whoever runs, so that the first turn costs
    /// nothing.
    pub(crate) next: Option<Taker>,
}

impl Takers {
    pub(crate) fn add(&mut self, taker: Taker) {
        self.all.add(taker.who);
        self.matter |= taker.matters;
        let order = |taker: &Taker| (taker.last, taker.off, taker.who.process);
        if self.next.is_none_or(|next| order(&taker) < order(&next)) {
            self.next = Some(taker);
        }
    }
}

/// What is wanted at a level in one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Demand {
    /// Who wants something.
    pub(crate) wants: Two,
    /// A rule gave one of those its level.
    pub(crate) ruled: bool,
    /// Who waits.
    pub(crate) waits: Option<Waiting>,
    /// Who has launched something of which it is not known whether it is all placed.
    pub(crate) fresh: Two,
    pub(crate) takers: Takers,
    /// Somebody wants something and may have nothing stopped for it: its tenant has spent
    /// its budget, or it makes no progress.
    pub(crate) spent: bool,
    pub(crate) stuck: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Priority, QueueId};

    fn who(queue: u64, process: u64) -> Who {
        Who {
            queue: QueueId(queue),
            process: ProcessId(process),
            level: Priority::NORMAL,
            at: 0,
            process_at: 0,
        }
    }

    #[test]
    fn nobody_is_other_than_oneself_and_everybody_else_is() {
        let mut two = Two::default();
        assert!(two.first.is_none() && two.other_than(ProcessId(1)).is_none());
        two.add(who(10, 1));
        two.add(who(11, 1));
        assert_eq!(two.other_than(ProcessId(1)), None);
        assert_eq!(two.other_than(ProcessId(2)), Some(who(10, 1)));
        for process in 2..100 {
            two.add(who(process, process));
        }
        assert_eq!(two.other_than(ProcessId(1)), Some(who(2, 2)));
        assert_eq!(two.other_than(ProcessId(2)), Some(who(10, 1)));
        assert_eq!(two.first, Some(who(10, 1)));
    }

    #[test]
    fn of_the_queues_of_a_process_the_first_has_its_turn() {
        let taker = |queue, process, last| Taker {
            who: who(queue, process),
            waits_since: None,
            timeslice: Nanos::ZERO,
            off: false,
            matters: false,
            last: Nanos(last),
        };
        let mut takers = Takers::default();
        for each in [taker(10, 1, 7), taker(11, 1, 7), taker(12, 2, 9)] {
            takers.add(each);
        }
        assert_eq!(takers.next, Some(taker(10, 1, 7)));
        takers.add(taker(13, 3, 5));
        assert_eq!(takers.next, Some(taker(13, 3, 5)));
    }
}
