// SPDX-License-Identifier: GPL-2.0-only
//! Queues that do nothing between a start and the next stop, such as one with an
//! illegal packet at its head, on which the hardware gives up at each start.
//!
//! To stop such a queue gains nothing. After a few stops in a row it is left alone,
//! for longer each time. A kernel that runs for seconds does not move the read
//! pointer either, but it has waves: a stop counts only where it is known that the
//! queue had none, and a wave or a moved pointer ends everything at once. What was
//! saved decides; waves that were counted before the stop need not be all. A queue
//! without a backlog was stopped along with others, which says nothing about it.

use crate::settings::limits::Limits;
use crate::terms::observation::Waves;
use crate::terms::time::Nanos;

/// How many stops in a row cost nothing: beside long kernels a sound queue may get
/// no compute unit for a while.
const FREE: u32 = 7;

/// What the stops of one queue have led to since it last showed life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Patience {
    /// It is known that the stop that lasts found no waves.
    empty: bool,
    /// There was nothing to do when that stop was decided.
    idle: bool,
    /// How many such stops there were in a row.
    times: u32,
    /// It is left alone until then.
    until: Nanos,
}

impl Patience {
    /// It is left alone.
    #[inline]
    pub(crate) fn is_alone(&self, now: Nanos) -> bool {
        now < self.until
    }

    /// A stop is decided of a queue with these waves, and with a backlog or without.
    pub(crate) fn begin_stop(&mut self, waves: Waves, backlog: bool) {
        self.idle = !backlog;
        self.empty = backlog && waves == Waves::Known(0);
    }

    /// It is stopped with these waves saved.
    pub(crate) fn see_stopped(&mut self, saved: Waves) {
        match saved {
            Waves::Known(0) => self.empty = !self.idle,
            Waves::Known(_) => self.see_life(),
            Waves::Unknown => {}
        }
    }

    /// The stop was not carried out.
    pub(crate) fn forget_stop(&mut self) {
        self.empty = false;
    }

    /// It runs again.
    pub(crate) fn resume(&mut self, now: Nanos, limits: &Limits) {
        if !core::mem::take(&mut self.empty) {
            return;
        }
        if let Some(paid) = self.times.checked_sub(FREE) {
            let pause = limits.cool_down.doubled(paid, limits.cool_down_max);
            self.until = now.after(pause);
        }
        self.times = self.times.saturating_add(1);
    }

    /// Its read pointer moved, or it has waves, be they saved.
    #[inline]
    pub(crate) fn see_life(&mut self) {
        *self = Patience::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::Config;

    const NOW: Nanos = Nanos(5_000_000_000);
    const NONE: Waves = Waves::Known(0);

    fn limits() -> Limits {
        Limits::new(&Config::new())
    }

    /// Stops it so often in a row, each time with nothing to save.
    fn stopped_in_vain(times: u32) -> Patience {
        let mut patience = Patience::default();
        for _ in 0..times {
            patience.begin_stop(NONE, true);
            patience.resume(NOW, &limits());
        }
        patience
    }

    #[test]
    fn a_few_stops_are_free_and_then_each_pause_is_twice_as_long() {
        let first = limits().cool_down;
        assert!(!stopped_in_vain(7).is_alone(NOW));
        for (times, factor) in [(8, 1), (9, 2), (10, 4), (11, 8)] {
            let patience = stopped_in_vain(times);
            let end = NOW.after(first.times(factor));
            assert!(patience.is_alone(Nanos(end.0 - 1)), "{times}");
            assert!(!patience.is_alone(end), "{times}");
        }
    }

    #[test]
    fn the_pause_has_a_longest() {
        let end = NOW.after(limits().cool_down_max);
        for times in [30, 200] {
            let patience = stopped_in_vain(times);
            assert!(patience.is_alone(Nanos(end.0 - 1)));
            assert!(!patience.is_alone(end));
        }
    }

    #[test]
    fn only_a_stop_that_is_known_to_have_found_nothing_counts() {
        for waves in [Waves::Unknown, Waves::Known(1)] {
            let mut patience = stopped_in_vain(7);
            patience.begin_stop(waves, true);
            patience.resume(NOW, &limits());
            assert!(!patience.is_alone(NOW), "{waves:?}");
        }
        let mut patience = stopped_in_vain(7);
        patience.begin_stop(NONE, true);
        patience.forget_stop();
        patience.resume(NOW, &limits());
        assert!(!patience.is_alone(NOW));
        // What was saved tells as well, whenever it is known.
        patience.begin_stop(Waves::Unknown, true);
        patience.see_stopped(NONE);
        patience.see_stopped(Waves::Unknown);
        patience.resume(NOW, &limits());
        assert!(patience.is_alone(NOW));
    }

    #[test]
    fn waves_that_are_saved_count_for_more_than_none_that_were_counted() {
        let mut patience = stopped_in_vain(7);
        patience.begin_stop(NONE, true);
        patience.see_stopped(Waves::Known(1));
        assert_eq!(patience, Patience::default());
        patience.see_stopped(Waves::Unknown);
        patience.resume(NOW, &limits());
        assert!(!patience.is_alone(NOW));
    }

    #[test]
    fn a_stop_of_a_queue_without_a_backlog_does_not_count() {
        let mut patience = stopped_in_vain(7);
        patience.begin_stop(NONE, false);
        patience.see_stopped(NONE);
        patience.resume(NOW, &limits());
        assert!(!patience.is_alone(NOW));
        // The next one with a backlog does.
        patience.begin_stop(Waves::Unknown, true);
        patience.see_stopped(NONE);
        patience.resume(NOW, &limits());
        assert!(patience.is_alone(NOW));
    }

    #[test]
    fn a_sign_of_life_forgets_everything() {
        let mut patience = stopped_in_vain(20);
        assert!(patience.is_alone(NOW));
        patience.see_life();
        assert_eq!(patience, Patience::default());
    }
}
