// SPDX-License-Identifier: GPL-2.0-only
//! What is decided when there is no room: for queues in the table, for decisions in
//! the output, and for time between two looks after a failure.

use gpreempt_host_tests::cases::idle;
use gpreempt_host_tests::Vectors;
use gpreempt_policy::{
    Action, Config, Decision, FailureKind, Head, Mode, Nanos, Observation, Outcome, QueueId,
    QueueState, Report, Scheduler, Step, Waves,
};

const START: Nanos = Nanos(10_000_000_000);

/// A node with room for so many queues and decisions.
struct Node {
    scheduler: Scheduler<Vectors>,
    config: Config,
    output: usize,
    now: Nanos,
}

impl Node {
    fn new(queues: usize, output: usize) -> Node {
        let mut config = Config::new();
        config.mode = Mode::Enforce;
        config.numbers.grace_us = 0;
        Node {
            scheduler: Scheduler::new(Vectors::new(queues)),
            config,
            output,
            now: START,
        }
    }

    /// A look after a millisecond; says what was decided.
    fn look(&mut self, seen: &[Observation], outcomes: &[Outcome]) -> (Step, Vec<(Action, u64)>) {
        self.now = self.now.after(Nanos::from_millis(1));
        let mut out = [Decision::default(); 8];
        let out = &mut out[..self.output];
        let step = self
            .scheduler
            .step(self.now, &self.config, seen, outcomes, out);
        let made = out[..step.decisions].iter();
        (step, made.map(|made| (made.action, made.queue.0)).collect())
    }
}

fn runs(queue: u64, process: u64, level: u32) -> Observation {
    Observation {
        backlog: Some(4),
        progress: 1,
        waves: Waves::Known(64),
        head: Head::Runnable,
        ..idle(queue, process, level)
    }
}

fn waits(queue: u64, process: u64, level: u32) -> Observation {
    Observation {
        waves: Waves::Known(0),
        progress: 0,
        ..runs(queue, process, level)
    }
}

fn stopped(queue: u64) -> Observation {
    Observation {
        state: QueueState::StoppedByUs,
        ..idle(queue, queue, 7)
    }
}

fn broken(queue: &Observation) -> Outcome {
    Outcome {
        queue: queue.queue,
        report: Report::Failed(FailureKind::Broken),
    }
}

#[test]
fn a_queue_without_a_place_is_counted_and_only_ever_started() {
    let mut node = Node::new(1, 8);
    let known = idle(1, 1, 7);
    let (step, made) = node.look(&[known, idle(2, 2, 7)], &[]);
    assert_eq!((step.untracked, step.stopped, made.len()), (1, 0, 0));
    let left = stopped(2);
    let (step, made) = node.look(&[known, left], &[]);
    assert_eq!((step.untracked, step.stopped), (1, 1));
    assert_eq!(made, [(Action::Start, 2)]);
    // However often it is named.
    let (step, made) = node.look(&[known, left, left], &[]);
    assert_eq!((step.untracked, made.len()), (2, 1));
}

#[test]
fn a_queue_without_a_place_is_not_started_before_the_pause_is_over() {
    let mut node = Node::new(1, 8);
    let (known, left) = (idle(1, 1, 7), stopped(2));
    let (_, made) = node.look(&[known, left], &[]);
    assert_eq!(made, [(Action::Start, 2)]);
    assert!(node.scheduler.may_retry(node.now));
    let (step, made) = node.look(&[known, left], &[broken(&left)]);
    assert_eq!((step.stopped, made.len()), (1, 0));
    let end = node.now.after(Nanos::from_millis(10));
    assert!(!node.scheduler.may_retry(Nanos(end.0 - 1)));
    assert!(node.scheduler.may_retry(end));
    node.now = Nanos(end.0 - 1_000_001);
    assert_eq!(node.look(&[known, left], &[]).1, []);
    node.now = Nanos(end.0 - 1_000_000);
    assert_eq!(node.look(&[known, left], &[]).1, [(Action::Start, 2)]);
}

#[test]
fn what_does_not_fit_is_decided_in_a_look_at_once() {
    let mut node = Node::new(8, 2);
    let all = [stopped(1), stopped(2), stopped(3)];
    let (step, made) = node.look(&all, &[]);
    assert_eq!(made, [(Action::Start, 1), (Action::Start, 2)]);
    assert!(step.truncated);
    assert_eq!(step.next_look, Some(node.now));
    let all = [idle(1, 1, 7), idle(2, 2, 7), stopped(3)];
    let (step, made) = node.look(&all, &[]);
    assert_eq!(made, [(Action::Start, 3)]);
    assert!(!step.truncated);
}

#[test]
fn after_a_failure_it_looks_when_the_pause_is_over_unless_something_is_stopped() {
    let mut node = Node::new(8, 8);
    let all = [runs(1, 1, 3), waits(2, 2, 9)];
    let mut made = Vec::new();
    while made.is_empty() {
        made = node.look(&all, &[]).1;
    }
    assert_eq!(made, [(Action::Stop, 1)]);
    let (step, made) = node.look(&all, &[broken(&all[0])]);
    let end = node.now.after(Nanos::from_millis(10));
    // The stop was not carried out, so that all run and nothing is to be done.
    assert_eq!((step.stopped, made.len()), (0, 0));
    assert_eq!(step.next_look, Some(end));
    let (step, made) = node.look(&[stopped(1), all[1]], &[]);
    assert_eq!((step.stopped, made.len()), (1, 1));
    // An urgent request has just come.
    let poll = Nanos::from_micros(node.config.numbers.poll_interval_us);
    assert_eq!(step.next_look, Some(node.now.after(Nanos(poll.0 / 5))));
}

#[test]
fn a_disarmed_node_sleeps_once_everything_runs() {
    let mut node = Node::new(8, 8);
    node.config.numbers.disarm_after = 1;
    let orphan = stopped(1);
    assert_eq!(node.look(&[orphan], &[]).1, [(Action::Start, 1)]);
    let (step, _) = node.look(&[orphan], &[broken(&orphan)]);
    assert_eq!(step.stopped, 1);
    assert!(step.next_look.is_some());
    let (step, _) = node.look(&[idle(1, 1, 7)], &[]);
    assert_eq!((step.stopped, step.next_look), (0, None));
}

#[test]
fn processes_that_have_gone_leave_their_places_to_others() {
    let mut node = Node::new(2, 8);
    for first in [1, 3, 5] {
        let all = [idle(first, first, 7), idle(first + 1, first + 1, 7)];
        for _ in 0..3 {
            assert_eq!(node.look(&all, &[]).1, []);
        }
        let views: Vec<_> = node.scheduler.queues().collect();
        assert!(views.iter().all(|view| view.contends), "{views:?}");
    }
}

#[test]
fn processes_that_are_gone_with_their_false_hints_leave_room_for_others() {
    let mut node = Node::new(16, 8);
    let liars = |number| -> Vec<Observation> {
        let hints = |id| Observation {
            hint: Some(number),
            ..idle(id, id, 3)
        };
        (1..=10).map(hints).collect()
    };
    // Each is beyond its limit when the next one comes, and their pauses grow.
    node.config.numbers.hint_limit_us = 2_000;
    for number in 0..100 {
        for _ in 0..4 {
            let (step, _) = node.look(&liars(number), &[]);
            assert_eq!((step.untracked, step.decisions), (0, 0));
        }
    }
    let mut crowd: Vec<Observation> = (21..=34).map(|id| idle(id, id, 3)).collect();
    crowd.extend([runs(40, 40, 3), waits(41, 41, 9)]);
    let made: Vec<_> = (0..5).flat_map(|_| node.look(&crowd, &[]).1).collect();
    assert!(made.contains(&(Action::Stop, 40)), "{made:?}");
}

#[test]
fn a_tenant_that_has_spent_and_gone_leaves_its_place_when_its_second_is_over() {
    let mut node = Node::new(2, 8);
    let (victim, urgent) = (runs(1, 1, 3), waits(2, 2, 9));
    let mut made = Vec::new();
    while made.is_empty() {
        made = node.look(&[victim, urgent], &[]).1;
    }
    assert_eq!(made, [(Action::Stop, 1)]);
    let end = node.now.after(Nanos::SECOND);
    assert_eq!(node.look(&[stopped(1), urgent], &[]).1, []);
    assert_eq!(node.look(&[victim], &[]).1, []);
    // There is room for two tenants, and what one has spent is remembered for so long.
    while node.now < end {
        assert_eq!(node.look(&[victim, idle(3, 3, 9)], &[]).1, []);
        let new = node.scheduler.queue(QueueId(3));
        assert_eq!(new.map(|view| view.contends), Some(node.now >= end));
    }
    let views: Vec<_> = node.scheduler.queues().collect();
    assert!(views.iter().all(|view| view.contends), "{views:?}");
}
