// SPDX-License-Identifier: GPL-2.0-only
//! Fair shares: each queue has a virtual time that runs slower the higher its
//! priority is. A queue that gets more than a slice ahead of a waiting one is
//! stopped until that one has caught up. The slice is real time at the level of
//! the waiting queue: equals take turns of that length at any level, and against
//! a low queue a high one needs only a small lead.
//!
//! Properties: a queue is stopped only for one with less virtual time; over
//! time, queues that always want the GPU get it in proportion to their weights;
//! a queue that slept gains no credit by it.

use crate::algorithm::algorithm::Algorithm;
use crate::algorithm::algorithm::Context;
use crate::algorithm::algorithm::Keep;
use crate::algorithm::standing::Rank;
use crate::algorithm::standing::Standing;
use crate::memory::queue::Queue;
use crate::memory::stop::Stop;
use crate::terms::decision::Reason;
use crate::terms::priority::Priority;
use crate::terms::priority::LEVELS;
use crate::terms::time::Nanos;

/// How much slower virtual time runs, by level: two levels up is twice the
/// share.
const WEIGHTS: [u64; LEVELS] = [
    2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
];

/// The weight of the normal level, whose virtual time is real time.
const NORMAL: u64 = 24;

/// Fair shares.
pub(crate) struct Fair;

/// The virtual time that a queue of a level gains in a stretch of real time.
fn virtual_time(level: Priority, ran: Nanos) -> Nanos {
    let weight = WEIGHTS.get(level.index()).copied().unwrap_or(NORMAL);
    let scaled = ran.0.saturating_mul(NORMAL);
    Nanos(scaled.checked_div(weight).unwrap_or(scaled))
}

impl Algorithm for Fair {
    /// The one that has had least, then the one that has waited longer.
    fn rank(&self, queue: &Queue) -> Rank {
        Rank(
            u64::MAX.saturating_sub(queue.account().virtual_time().0),
            u64::MAX.saturating_sub(queue.wanting_since().0),
        )
    }

    fn claims(&self, context: &Context, waiting: &Queue, running: &Queue) -> Option<Reason> {
        let slice = virtual_time(waiting.effective(), context.fair_slice);
        let allowed = waiting.account().virtual_time().after(slice);
        (running.account().virtual_time() > allowed).then_some(Reason::Share)
    }

    fn keeps(&self, _context: &Context, wanting: &Queue, stopped: &Queue, _stop: &Stop) -> Keep {
        if stopped.account().virtual_time() > wanting.account().virtual_time() {
            Keep::Yes
        } else {
            Keep::TurnOver
        }
    }

    fn contests(&self, _other: &Standing, _running: &Standing) -> bool {
        true
    }

    /// Sleeping gains no credit: it goes on from where the others are.
    fn wakes(&self, context: &Context, queue: &mut Queue) {
        queue.account_mut().catch_up(context.virtual_floor);
    }

    fn charge(&self, _context: &Context, queue: &mut Queue, ran: Nanos) {
        let gained = virtual_time(queue.effective(), ran);
        queue.account_mut().advance(gained);
    }
}
