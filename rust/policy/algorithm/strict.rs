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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::rating::Rating;
    use crate::settings::config::Config;
    use crate::settings::limits::Limits;
    use crate::terms::observation::Observation;
    use crate::terms::observation::ProcessId;
    use crate::terms::observation::QueueId;
    use crate::terms::priority::Priority;

    /// A queue of the normal level, which takes turns if there is a timeslice.
    fn standing(timeslice: u32) -> Standing {
        let mut config = Config::new();
        assert_eq!(config.set_timeslices([timeslice; 16]), Ok(()));
        let mut rating = Rating::default();
        rating.update_timeslice(&config, &Observation::new(QueueId(1), ProcessId(1)));
        Standing::of(&Queue::rated(rating), &Limits::new(&config))
    }

    #[test]
    fn only_with_a_timeslice_do_equals_contest() {
        let (plain, turns) = (standing(0), standing(1));
        assert!(!plain.takes_turns());
        assert!(turns.takes_turns());
        assert!(!plain.is_reserved());
        for (other, running, contests) in [
            (plain.plain_at(Priority::HIGHEST), plain, true),
            (plain, plain, false),
            (plain, turns, true),
            (turns, plain, false),
            (plain.plain_at(Priority::LOWEST), turns, false),
        ] {
            assert_eq!(
                Strict.contests(&other, &running),
                contests,
                "{other:?} {running:?}"
            );
        }
    }
}
