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

#[test]
fn a_queue_that_something_else_held_runs_anew() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = Queue::new(NOW, 1, Nanos::ZERO, &seen(QueueState::Held));
    queue.take_in(NOW, &config, &limits, &seen(QueueState::Held));
    assert!(!queue.take_in(LATER, &config, &limits, &seen(QueueState::Active)));
    assert_eq!(queue.account().turn(), LATER);
    assert_eq!(queue.tenure().length(LATER), Nanos::ZERO);
}

/// A queue that has a packet to run and no waves.
fn starving(state: QueueState) -> Observation {
    Observation {
        backlog: Some(1),
        ..seen(state)
    }
}

#[test]
fn a_stop_that_was_not_carried_out_was_not_in_vain() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let ends: [fn(&mut Queue); 2] = [
        |queue| queue.refuse_stop(LATER, Nanos(1)),
        |queue| queue.forget_stop(LATER),
    ];
    for end in ends {
        let active = starving(QueueState::Active);
        let mut queue = Queue::new(NOW, 1, Nanos::ZERO, &active);
        for _ in 0..20 {
            queue.take_in(LATER, &config, &limits, &active);
            queue.begin_stop(Stop::new(LATER, Reason::Inversion));
            end(&mut queue);
            // Something else holds it and lets it run.
            queue.take_in(LATER, &config, &limits, &starving(QueueState::Held));
        }
        queue.take_in(LATER, &config, &limits, &active);
        assert!(!queue.patience().is_alone(LATER));
    }
}

/// An orphan that was stopped in `mode=observe`.
fn orphan(config: &Config<'_>, limits: &Limits) -> Queue {
    let mut queue = Queue::new(NOW, 1, Nanos::ZERO, &seen(QueueState::Active));
    queue.begin_stop(Stop::new(NOW, Reason::Inversion).dry(true));
    queue.take_in(NOW, config, limits, &seen(QueueState::StoppedByUs));
    assert!(queue.phase().is_orphan());
    queue
}

#[test]
fn the_start_of_an_orphan_ends_the_stop_that_it_was_in() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = orphan(&config, &limits);
    queue.begin_start(LATER, &limits, Reason::Orphan);
    assert_eq!(queue.view().stopped, Nanos(1_000));
    assert_eq!(queue.account().turn(), LATER);
}

#[test]
fn each_stop_that_ends_has_its_start_tried_again_after_the_first_pause() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let mut queue = orphan(&config, &limits);
    for _ in 0..3 {
        queue.begin_start(LATER, &limits, Reason::Orphan);
        assert_eq!(queue.retry_at(), LATER.after(limits.retry));
        // A reset, after which it is found stopped once more.
        queue.forget_stop(LATER);
        queue.take_in(LATER, &config, &limits, &seen(QueueState::StoppedByUs));
    }
}

#[test]
fn a_start_in_observe_begins_the_grace_anew() {
    let config = Config::new();
    let limits = Limits::new(&config);
    let active = starving(QueueState::Active);
    let mut queue = Queue::new(NOW, 1, Nanos::ZERO, &active);
    queue.take_in(NOW, &config, &limits, &active);
    queue.begin_stop(Stop::new(NOW, Reason::Inversion).dry(true));
    queue.take_in(LATER, &config, &limits, &active);
    queue.begin_start(LATER, &limits, Reason::Calm);
    let end = LATER.after(limits.grace);
    queue.take_in(end, &config, &limits, &active);
    assert!(queue.phase().is_free() && queue.wants() && !queue.waits());
    assert_eq!(queue.wanting_since(), end);
}

#[test]
fn a_queue_that_stays_stopped_does_so_for_the_queue_that_wants_it_now() {
    let config = Config::new();
    let mut queue = stopped(&config, &Limits::new(&config));
    queue.stay_stopped_for(QueueId(3), ProcessId(4));
    let stop = queue.phase().stop().unwrap();
    assert_eq!(stop.beneficiary(), Some(QueueId(3)));
    assert_eq!(stop.process(), ProcessId(4));
    assert_eq!(stop.wanted(), NOW);
    assert_eq!(queue.renew_stop(LATER), None);
    assert_eq!(queue.phase().stop().unwrap().wanted(), LATER);
    queue.calm_stop();
    let end = LATER.after(Nanos(7));
    assert_eq!(queue.renew_stop(end), Some(Nanos(7)));
    assert_eq!(queue.renew_stop(end), None);
}
