// SPDX-License-Identifier: GPL-2.0-only
//! Deadlines: levels are strict; within a level the earliest deadline comes
//! first. A rule reserves a budget of GPU time in each period for a queue; a
//! queue that uses it up gets the next period's budget and deadline early, so
//! that it falls behind the others instead of being throttled (a constant
//! bandwidth server). Queues without a reservation come after those with one
//! and take turns as under `strict`.
//!
//! No queue is stopped for a distant deadline: equals share the GPU until one of
//! them is pressed for time.
//!
//! Properties: those of `strict` between levels; within a level a queue is
//! stopped only for one with an earlier deadline.

use crate::algorithm::algorithm::Algorithm;
use crate::algorithm::algorithm::Context;
use crate::algorithm::algorithm::Keep;
use crate::algorithm::standing::Rank;
use crate::algorithm::standing::Standing;
use crate::algorithm::strict::Strict;
use crate::memory::queue::Queue;
use crate::memory::stop::Stop;
use crate::terms::decision::Reason;
use crate::terms::rule::Reservation;
use crate::terms::time::Nanos;

/// Deadlines within levels.
pub(crate) struct Deadline;

/// The deadline that counts.
fn deadline(queue: &Queue) -> Nanos {
    match queue.rating().reservation() {
        Some(_) => queue.account().deadline(),
        None => Nanos::NEVER,
    }
}

/// Whether it may miss its deadline unless others make room: half of its period
/// has gone, or the time to the deadline is not twice what it was promised.
/// Until then equals share the GPU, which costs no transaction.
fn pressed(now: Nanos, queue: &Queue) -> bool {
    queue.rating().reservation().is_some_and(|reserved| {
        let remaining = queue.account().deadline().since(now).times(2);
        remaining <= reserved.period || remaining <= queue.account().left().times(4)
    })
}

impl Algorithm for Deadline {
    /// The higher level, then the earlier deadline.
    fn rank(&self, queue: &Queue) -> Rank {
        Rank(
            u64::from(queue.effective().level()),
            u64::MAX.saturating_sub(deadline(queue).0),
        )
    }

    fn claims(&self, context: &Context, waiting: &Queue, running: &Queue) -> Option<Reason> {
        if waiting.effective() == running.effective() {
            if deadline(waiting) < deadline(running) && pressed(context.now, waiting) {
                return Some(Reason::Deadline);
            }
            if running.rating().reservation().is_some() {
                return None;
            }
        }
        Strict.claims(context, waiting, running)
    }

    fn keeps(&self, context: &Context, wanting: &Queue, stopped: &Queue, stop: &Stop) -> Keep {
        if wanting.effective() == stopped.effective() {
            if deadline(wanting) < deadline(stopped) {
                return Keep::Yes;
            }
            if stop.reason() == Reason::Deadline {
                return Keep::TurnOver;
            }
        }
        Strict.keeps(context, wanting, stopped, stop)
    }

    fn contests(&self, other: &Standing, running: &Standing) -> bool {
        Strict.contests(other, running) || (other.level() == running.level() && other.is_reserved())
    }

    fn promises(&self, queue: &Queue) -> Option<Reservation> {
        queue.rating().reservation()
    }

    /// A new period begins, unless what is left of the old budget may still be
    /// used before the old deadline without exceeding the reserved share.
    fn wakes(&self, context: &Context, queue: &mut Queue) {
        let Some(reserved) = queue.rating().reservation() else {
            return;
        };
        let remaining = queue.account().deadline().since(context.now);
        let wanted = product(queue.account().left(), reserved.period);
        let allowed = product(remaining, reserved.budget);
        if remaining == Nanos::ZERO || wanted > allowed {
            queue.account_mut().begin_period(context.now, reserved);
        }
    }

    fn charge(&self, context: &Context, queue: &mut Queue, ran: Nanos) {
        let Some(reserved) = queue.rating().reservation() else {
            return;
        };
        queue.account_mut().spend(ran);
        if queue.account().left() == Nanos::ZERO {
            let start = queue.account().deadline().max(context.now);
            queue.account_mut().begin_period(start, reserved);
        }
    }
}

/// The product of two durations, which need not fit in 64 bits.
fn product(a: Nanos, b: Nanos) -> u128 {
    u128::from(a.0).wrapping_mul(u128::from(b.0))
}
