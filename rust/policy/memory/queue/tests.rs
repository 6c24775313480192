// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `queue.rs`.

use super::*;
use crate::terms::observation::Waves;

const NOW: Nanos = Nanos(5_000_000_000);
const LATER: Nanos = Nanos(5_000_001_000);

fn seen(state: QueueState) -> Observation {
    Observation {
        state,
        waves: Waves::Known(0),
        ..Observation::new(QueueId(1), ProcessId(1))
    }
}

/// A queue that is idle, and stopped for nobody.
fn stopped(config: &Config<'_>, limits: &Limits) -> Queue {
    let active = seen(QueueState::Active);
    let mut queue = Queue::new(NOW, 1, Nanos::ZERO, &active);
    queue.take_in(NOW, config, limits, &active);
    queue.begin_stop(Stop::new(NOW, Reason::Inversion));
    queue
}

#[test]
fn what_is_done_to_an_idle_queue_has_it_looked_at_closely() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let active = seen(QueueState::Active);
    let mut queue = stopped(&config, &limits);
    assert!(!queue.stays_idle(&active));
    let mut forgotten = queue;
    forgotten.take_in(NOW, &config, &limits, &seen(QueueState::StoppedByUs));
    forgotten.forget_stop(LATER);
    assert_eq!(forgotten.view().stopped, Nanos(1_000));
    assert!(!forgotten.stays_idle(&active));
    queue.refuse_stop(LATER, limits.retry);
    assert!(queue.phase().is_free());
    assert_eq!(queue.retry_at(), LATER.after(limits.retry));
    assert!(!queue.stays_idle(&active));
    queue.refuse_stop(LATER, limits.retry);
    assert_eq!(queue.retry_at(), LATER.after(limits.retry));
    queue.take_in(LATER, &config, &limits, &active);
    let mut uncounted = active;
    uncounted.waves = Waves::Unknown;
    assert!(queue.stays_idle(&uncounted));
    assert_eq!(queue.work().waves(), Waves::Unknown);
}

#[test]
fn a_turn_begins_when_something_else_ends_a_stop() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = stopped(&config, &limits);
    queue.take_in(NOW, &config, &limits, &seen(QueueState::StoppedByUs));
    assert!(queue.take_in(LATER, &config, &limits, &seen(QueueState::Active)));
    assert_eq!(queue.account().turn(), LATER);
    assert_eq!(queue.tenure().length(LATER), Nanos::ZERO);
}

#[test]
fn without_an_account_of_its_process_it_takes_no_part() {
    let mut queue = Queue::default();
    queue.meet(1, &Config::new(), &seen(QueueState::Active));
    queue.join(0);
    assert!(queue.contends());
    queue.join(usize::MAX);
    assert!(!queue.contends());
}
