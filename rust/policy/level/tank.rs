// SPDX-License-Identifier: GPL-2.0-only
//! How much of the time transactions may take for the queues of one level.
//!
//! A token bucket, kept as a debt: it fills by a share of the time, and holds no more than
//! a few round trips. So there is no cliff and no pause that doubles; who spends more than
//! its share only has to wait until the share has caught up.

use crate::terms::Nanos;

/// How many round trips of a stop and a start may be spent at once. With half as many or
/// twice as many the results are alike.
const ROUND_TRIPS: u64 = 8;

/// How many times as deep as that a level may be drawn into debt by those above it.
const DEEPEST: u64 = 2;

/// What has been spent and is not yet made up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tank {
    debt: Nanos,
    /// How much of the time may be spent.
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
