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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::rating::Rating;
    use crate::settings::config::Config;
    use crate::settings::limits::Limits;
    use crate::terms::priority::Priority;

    fn context(now: u64) -> Context {
        Context {
            now: Nanos(now),
            virtual_floor: Nanos::ZERO,
            fair_slice: Nanos::ZERO,
        }
    }

    fn reserved(period: u64, budget: u64) -> Queue {
        Queue::rated(Rating::reserved(Reservation {
            period: Nanos(period),
            budget: Nanos(budget),
        }))
    }

    #[test]
    fn a_period_begins_on_waking_and_not_again_within_it() {
        let mut queue = reserved(100, 40);
        Deadline.wakes(&context(1_000), &mut queue);
        assert_eq!(queue.account().deadline(), Nanos(1_100));
        Deadline.charge(&context(1_030), &mut queue, Nanos(30));
        assert_eq!(queue.account().left(), Nanos(10));
        // 10 of 40 left: usable up to a quarter of the period before its end.
        Deadline.wakes(&context(1_075), &mut queue);
        assert_eq!(queue.account().deadline(), Nanos(1_100));
        Deadline.wakes(&context(1_076), &mut queue);
        assert_eq!(queue.account().deadline(), Nanos(1_176));
        assert_eq!(queue.account().left(), Nanos(40));
    }

    #[test]
    fn using_up_the_budget_postpones_the_deadline() {
        let mut queue = reserved(100, 40);
        Deadline.wakes(&context(1_000), &mut queue);
        Deadline.charge(&context(1_040), &mut queue, Nanos(40));
        assert_eq!(queue.account().deadline(), Nanos(1_200));
        assert_eq!(queue.account().left(), Nanos(40));
    }

    #[test]
    fn without_a_reservation_it_comes_last() {
        let plain = Queue::default();
        let mut urgent = reserved(100, 40);
        Deadline.wakes(&context(1_000), &mut urgent);
        let pressed = context(1_099);
        assert_eq!(
            Deadline.claims(&pressed, &urgent, &plain),
            Some(Reason::Deadline)
        );
        assert_eq!(Deadline.claims(&pressed, &plain, &urgent), None);
    }

    #[test]
    fn it_presses_when_half_its_period_has_gone_or_little_time_is_left() {
        // All of its budget is left: twice that is four fifths of its period.
        let mut queue = reserved(100, 40);
        Deadline.wakes(&context(1_000), &mut queue);
        assert!(!pressed(Nanos(1_019), &queue));
        assert!(pressed(Nanos(1_020), &queue));
        // Hardly any is left: half of its period decides.
        Deadline.charge(&context(1_010), &mut queue, Nanos(39));
        assert!(!pressed(Nanos(1_049), &queue));
        assert!(pressed(Nanos(1_050), &queue));
    }

    #[test]
    fn of_equal_deadlines_neither_comes_first() {
        let (mut one, mut other) = (reserved(100, 40), reserved(100, 40));
        Deadline.wakes(&context(1_000), &mut one);
        Deadline.wakes(&context(1_000), &mut other);
        let pressed = context(1_099);
        assert_eq!(Deadline.claims(&pressed, &one, &other), None);
        let stop = Stop::new(Nanos(1_050), Reason::Deadline);
        let keep = Deadline.keeps(&pressed, &one, &other, &stop);
        assert_eq!(keep, Keep::TurnOver);
    }

    #[test]
    fn only_a_stop_for_a_deadline_ends_with_the_turn_of_an_equal() {
        let (one, other) = (Queue::default(), Queue::default());
        for (reason, keep) in [
            (Reason::Deadline, Keep::TurnOver),
            (Reason::Inversion, Keep::No),
        ] {
            let stop = Stop::new(Nanos(1_000), reason);
            let kept = Deadline.keeps(&context(1_001), &one, &other, &stop);
            assert_eq!(kept, keep, "{reason:?}");
        }
    }

    #[test]
    fn a_reservation_contests_equals_and_those_below() {
        let limits = Limits::new(&Config::new());
        let reserved = Standing::of(&reserved(100, 40), &limits);
        let plain = reserved.plain_at(Priority::NORMAL);
        for (other, running, contests) in [
            (reserved, plain, true),
            (plain, plain, false),
            (reserved, plain.plain_at(Priority::LOWEST), true),
            (reserved, plain.plain_at(Priority::HIGHEST), false),
            (plain, plain.plain_at(Priority::LOWEST), true),
        ] {
            assert_eq!(
                Deadline.contests(&other, &running),
                contests,
                "{other:?} {running:?}"
            );
        }
    }
}
