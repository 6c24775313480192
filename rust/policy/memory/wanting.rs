// SPDX-License-Identifier: GPL-2.0-only
//! Whether a queue wants the GPU: because it has work, or because its process has
//! announced some.

use crate::memory::queue::Queue;
use crate::terms::time::Nanos;

impl Queue {
    /// It wants the GPU, waiting or not, or is about to.
    #[inline]
    pub(crate) fn wants(&self) -> bool {
        self.work().wants() || self.plan().prepares().is_some()
    }

    /// It waits for the GPU, or is taken to.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.work().is_waiting() || self.plan().prepares().is_some()
    }

    /// Since when it has wanted the GPU without a break.
    pub(crate) fn wanting_since(&self) -> Nanos {
        let announced = self.plan().prepares();
        announced.unwrap_or(self.work().pending_since())
    }

    /// It has nothing to do, and would run if it had.
    pub(crate) fn is_at_rest(&self) -> bool {
        let work = self.work();
        self.phase().is_free()
            && work.is_active()
            && work.backlog() == 0
            && !work.wants()
            && !work.is_busy()
    }

    /// It has had nothing to do until this time, and has something now.
    pub(crate) fn has_new_work(&self, since: Nanos) -> bool {
        let work = self.work();
        (work.is_busy() && work.busy_since() >= since)
            || (work.is_pending() && work.pending_since() >= since)
    }

    /// It has done something since this time, or has something to do.
    pub(crate) fn is_alive_since(&self, since: Nanos) -> bool {
        let work = self.work();
        work.wants() || work.is_busy() || work.alive() >= since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::Config;
    use crate::settings::limits::Limits;
    use crate::terms::observation::Head;
    use crate::terms::observation::Observation;
    use crate::terms::observation::ProcessId;
    use crate::terms::observation::QueueId;
    use crate::terms::observation::QueueState;
    use crate::terms::observation::Waves;

    const T: Nanos = Nanos(5_000_000_000);
    const BEFORE: Nanos = Nanos(T.0 - 1);
    const AFTER: Nanos = Nanos(T.0 + 1);

    const IDLE: Observation = Observation {
        waves: Waves::Known(0),
        ..Observation::new(QueueId(1), ProcessId(1))
    };

    /// A queue that was idle when it came, and is seen so at `T`.
    fn queue(seen: Observation) -> Queue {
        let config = Config::new();
        let mut queue = Queue::new(BEFORE, 1, Nanos::ZERO, &IDLE);
        queue.take_in(T, &config, &Limits::new(&config), &seen);
        queue
    }

    /// Its last launch shows no waves: it is pending, and not busy.
    fn doubtful() -> Queue {
        let doubtful = queue(Observation {
            progress: 1,
            ..IDLE
        });
        assert!(doubtful.work().is_pending() && !doubtful.work().is_busy());
        doubtful
    }

    #[test]
    fn only_an_active_queue_with_nothing_to_do_is_at_rest() {
        assert!(queue(IDLE).is_at_rest());
        let untold = Observation {
            state: QueueState::Unknown,
            ..IDLE
        };
        assert!(queue(untold).phase().is_free() && !queue(untold).is_at_rest());
        assert!(!doubtful().is_at_rest());
    }

    #[test]
    fn what_begins_at_the_time_itself_is_new_work() {
        let busy = queue(Observation {
            waves: Waves::Known(1),
            ..IDLE
        });
        assert!(busy.work().is_busy() && !busy.work().is_pending());
        for worker in [busy, doubtful()] {
            assert!(worker.has_new_work(T));
            assert!(!worker.has_new_work(AFTER));
        }
        assert!(!queue(IDLE).has_new_work(BEFORE));
    }

    #[test]
    fn a_queue_that_was_seen_alive_or_has_something_to_do_is_alive() {
        // It was alive when it came.
        assert!(queue(IDLE).is_alive_since(BEFORE));
        assert!(!queue(IDLE).is_alive_since(T));
        // It is busy, and wants nothing.
        let barrier = queue(Observation {
            backlog: Some(1),
            head: Head::Barrier,
            ..IDLE
        });
        assert!(!barrier.wants() && barrier.is_alive_since(AFTER));
        assert!(doubtful().is_alive_since(AFTER));
    }
}
