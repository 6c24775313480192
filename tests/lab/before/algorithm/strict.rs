// SPDX-License-Identifier: GPL-2.0-only
//! Strict priorities: a waiting queue preempts lower ones. Queues of one level
//! take turns where the level has a timeslice.
//!
//! Properties: a queue is stopped for `inversion` only for a higher one; for
//! `rotation` only for an equal one, after its timeslice, and where there is
//! one.

use crate::algorithm::algorithm::Algorithm;
use crate::algorithm::algorithm::Context;
use crate::algorithm::algorithm::Keep;
use crate::algorithm::standing::Rank;
use crate::algorithm::standing::Standing;
use crate::memory::queue::Queue;
use crate::memory::stop::Stop;
use crate::terms::decision::Reason;
use crate::terms::time::Nanos;

/// Strict priorities.
pub(crate) struct Strict;

impl Algorithm for Strict {
    /// The higher level, then the one that has waited longer.
    fn rank(&self, queue: &Queue) -> Rank {
        Rank(
            u64::from(queue.effective().level()),
            u64::MAX.saturating_sub(queue.wanting_since().0),
        )
    }

    fn claims(&self, context: &Context, waiting: &Queue, running: &Queue) -> Option<Reason> {
        if waiting.effective() > running.effective() {
            return Some(Reason::Inversion);
        }
        let turn = context.now.since(running.account().turn());
        let over =
            running.rating().timeslice() > Nanos::ZERO && turn >= running.rating().timeslice();
        if waiting.effective() == running.effective() && over {
            return Some(Reason::Rotation);
        }
        None
    }

    fn keeps(&self, context: &Context, wanting: &Queue, stopped: &Queue, stop: &Stop) -> Keep {
        if wanting.effective() > stopped.effective() {
            return Keep::Yes;
        }
        if wanting.effective() < stopped.effective() || stop.reason() != Reason::Rotation {
            return Keep::No;
        }
        if context.now.since(stop.since()) < wanting.rating().timeslice() {
            Keep::Yes
        } else {
            Keep::TurnOver
        }
    }

    fn contests(&self, other: &Standing, running: &Standing) -> bool {
        other.level() > running.level()
            || (other.level() == running.level() && running.takes_turns())
    }
}
