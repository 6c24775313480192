// SPDX-License-Identifier: GPL-2.0-only
//! When something that led to nothing is tried again: later each time.

use crate::terms::time::Nanos;

/// How much longer the longest pause is than the first one.
const LONGEST: u64 = 64;

/// The stops or starts of a queue that led to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Backoff {
    /// Nothing is tried before this time.
    at: Nanos,
    /// How many there were in a row.
    times: u32,
}

impl Backoff {
    #[inline]
    pub(crate) fn at(&self) -> Nanos {
        self.at
    }

    /// Nothing is tried for a pause that doubles each time.
    pub(crate) fn put_off(&mut self, now: Nanos, pause: Nanos) {
        self.at = now.after(pause.doubled(self.times, pause.times(LONGEST)));
        self.times = self.times.saturating_add(1);
    }

    /// Nothing is tried before this time.
    pub(crate) fn wait_until(&mut self, time: Nanos) {
        self.at = time;
    }

    /// The next pause is the first one again.
    pub(crate) fn succeeded(&mut self) {
        self.times = 0;
    }

    /// As if nothing had failed.
    pub(crate) fn forget(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_until_something_succeeds() {
        let (now, pause) = (Nanos(1_000), Nanos(10));
        let mut backoff = Backoff::default();
        for factor in [1, 2, 4, 8, 16, 32, 64, 64] {
            backoff.put_off(now, pause);
            assert_eq!(backoff.at(), now.after(pause.times(factor)));
        }
        backoff.succeeded();
        assert_eq!(backoff.at(), now.after(pause.times(64)));
        backoff.put_off(now, pause);
        assert_eq!(backoff.at(), now.after(pause));
        backoff.wait_until(Nanos(5));
        assert_eq!(backoff.at(), Nanos(5));
        backoff.put_off(now, pause);
        assert_eq!(backoff.at(), now.after(pause.times(2)));
        backoff.forget();
        assert_eq!(backoff, Backoff::default());
    }
}
