// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a priority level from pass to pass, and who wants something there.

pub(crate) mod demand;

use crate::level::demand::Demand;
use crate::parts::lengths::Lengths;
use crate::settings::Limits;
use crate::terms::{Nanos, ProcessId};

/// Whose turn it is within a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Turn {
    pub(crate) process: ProcessId,
    pub(crate) since: Nanos,
    /// The others are stopped for it: not in the first one, which whoever runs has.
    pub(crate) exclusive: bool,
}

/// What is remembered of one level.
pub type LevelSlot = Level;

/// What is remembered of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Level {
    pub(crate) demand: Demand,
    /// Lower queues are stopped for it, and were when the pass began.
    pub(crate) holds: bool,
    pub(crate) held: bool,
    /// Somebody wanted something in the last pass.
    wanted: bool,
    /// When everybody ceased to, if anybody ever did.
    quiet_since: Option<Nanos>,
    /// Until when lower queues stay stopped for it though nobody wants anything.
    pub(crate) hold_until: Nanos,
    /// How long its pauses last.
    pauses: Lengths<6>,
    /// What transactions for those whom rules raised have cost, and for those who claimed it.
    rules: Tank,
    claims: Tank,
    /// Whose turn it is.
    pub(crate) turn: Option<Turn>,
}

impl Level {
    /// A pass begins: nobody has been seen yet.
    pub(crate) fn begin_pass(&mut self, elapsed: Nanos, limits: &Limits) {
        self.rules.refill(elapsed, limits.rule_overhead);
        self.claims.refill(elapsed, limits.claim_overhead);
        self.held = self.holds;
        self.demand = Demand::default();
    }

    /// All that want something have been seen: learns from pauses, and begins and ends the
    /// hold. A start takes `start`.
    pub(crate) fn follow(&mut self, now: Nanos, start: Nanos) {
        let wanted = self.demand.wants.first.is_some();
        if wanted {
            if let (false, Some(since)) = (self.wanted, self.quiet_since) {
                self.pauses.add(now.since(since));
            }
        } else if self.demand.spent || self.demand.stuck {
            // Somebody is refused what it wants: that is no pause.
            self.quiet_since = None;
            self.hold_until = now;
        } else if self.wanted {
            self.quiet_since = Some(now);
            self.hold_until = now.after(self.pauses.hold(start));
        }
        self.wanted = wanted;
        self.holds &= wanted || now < self.hold_until;
    }

    /// Whether somebody has wanted something within this time.
    pub(crate) fn is_lively(&self, now: Nanos, expect: Nanos) -> bool {
        self.wanted || self.quiet_since.is_some_and(|at| now.since(at) < expect)
    }

    /// The tank that somebody spends from.
    pub(crate) fn tank(&mut self, ruled: bool) -> &mut Tank {
        match ruled {
            true => &mut self.rules,
            false => &mut self.claims,
        }
    }
}

/// How many round trips of a stop and a start may be spent at once. With half as many or
/// twice as many the results are alike.
const ROUND_TRIPS: u64 = 8;

/// How many times as deep as that a level may be drawn into debt by those above it.
const DEEPEST: u64 = 2;

/// What has been spent and is not yet made up for.
///
/// A token bucket, kept as a debt: it fills by a share of the time, and holds no more than
/// a few round trips. So there is no cliff and no pause that doubles; who spends more than
/// its share only has to wait until the share has caught up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tank {
    debt: Nanos,
    /// How much of the time may be spent, in percent.
    percent: u64,
}

impl Tank {
    /// Time has passed, of which so many percent may be spent.
    pub(crate) fn refill(&mut self, elapsed: Nanos, percent: u64) {
        let share = Nanos(elapsed.times(percent).0 / 100);
        (self.debt, self.percent) = (self.debt.since(share), percent);
    }

    /// How long it takes until a round trip of this cost may be spent.
    pub(crate) fn wait(&self, cost: Nanos) -> Nanos {
        let over = self.debt.after(cost).since(cost.times(ROUND_TRIPS));
        let wait = over.times(100).0.checked_div(self.percent);
        Nanos(wait.unwrap_or(u64::MAX))
    }

    /// A round trip of this cost is spent, here or above.
    pub(crate) fn spend(&mut self, cost: Nanos) {
        let deepest = cost.times(ROUND_TRIPS).times(DEEPEST);
        self.debt = self.debt.after(cost).min(deepest.max(self.debt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::phase::Who;
    use crate::settings::Config;
    use crate::terms::{Priority, QueueId};

    const T: Nanos = Nanos(5_000_000_000);
    const START: Nanos = Nanos(100_000);

    fn somebody() -> Who {
        Who {
            queue: QueueId(1),
            process: ProcessId(1),
            level: Priority::HIGHEST,
            at: 0,
            process_at: 0,
        }
    }

    #[test]
    fn who_is_refused_what_it_wants_makes_no_pause() {
        let mut level = Level::default();
        for (at, wanted, refused, holds) in [
            (T, true, false, true),
            (T, false, false, true),
            (T, false, true, false),
            (T.after(Nanos::SECOND), true, false, false),
        ] {
            level.begin_pass(Nanos::ZERO, &Limits::new(&Config::new()));
            if wanted {
                level.demand.wants.add(somebody());
            }
            level.demand.stuck = refused;
            level.holds |= at == T;
            level.follow(at, START);
            assert_eq!(level.holds, holds);
        }
        assert_eq!(level.pauses.mean(), None);
    }

    const COST: Nanos = Nanos(500_000);

    #[test]
    fn so_many_round_trips_are_spent_at_once_and_then_a_share_of_the_time() {
        let mut tank = Tank::default();
        tank.refill(Nanos::ZERO, 50);
        for _ in 0..ROUND_TRIPS {
            assert_eq!(tank.wait(COST), Nanos::ZERO);
            tank.spend(COST);
        }
        assert_eq!(tank.wait(COST), COST.times(2));
        tank.refill(Nanos(COST.0 * 2 - 2), 50);
        assert_eq!(tank.wait(COST), Nanos(2));
        tank.refill(Nanos(2), 50);
        assert_eq!(tank.wait(COST), Nanos::ZERO);
        // A second that spends 50 % of the time at 3 % of it is not made up for.
        tank.refill(Nanos::NEVER, 100);
        assert_eq!(tank.debt, Nanos::ZERO);
    }
}
