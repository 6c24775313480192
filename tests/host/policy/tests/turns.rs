// SPDX-License-Identifier: GPL-2.0-only
//! How long an inversion is left to pass by itself where there are more queues than the
//! hardware has places for, so that each has to wait for its turn.

use gpreempt_host_tests::cases::idle;
use gpreempt_host_tests::Vectors;
use gpreempt_policy::{
    Action, Config, Decision, Head, Mode, Nanos, Number, Observation, QueueState, Scheduler, Waves,
};

/// How many queues the hardware has places for.
const PLACES: u64 = 24;
/// How far apart looks are.
const LOOK: u32 = 100;
/// How long an inversion is left among queues that have places.
const BRIEF: u32 = 1_000;
/// Numbers of queues in a crowd, and how many times as long it is left there.
const CROWDS: [(u64, u32); 5] = [
    (PLACES + 1, 1),
    (2 * PLACES - 1, 1),
    (2 * PLACES, 2),
    (6 * PLACES, 6),
    (8 * PLACES, 6),
];

/// A node on which queue 1 is low and queue 2 is high; all others are idle.
struct Node {
    scheduler: Scheduler<Vectors>,
    config: Config<'static>,
    seen: Vec<Observation>,
    now: Nanos,
}

impl Node {
    fn new(queues: u64) -> Node {
        let mut config = Config::new();
        config.mode = Mode::Enforce;
        // A brief inversion lasts for BRIEF, which is the least.
        for (number, value) in [(Number::Grace, 0), (Number::SwitchCost, 0)] {
            assert_eq!(config.set(number, value), Ok(()));
        }
        let level = |queue| if queue == 1 { 3 } else { 9 };
        let mut node = Node {
            scheduler: Scheduler::new(Vectors::new(256, 256)),
            config,
            seen: (1..=queues).map(|q| idle(q, q, level(q))).collect(),
            now: Nanos(10_000_000_000),
        };
        assert_eq!(node.look(), []);
        node
    }

    fn look(&mut self) -> Vec<(Action, u64)> {
        self.now = self.now.after(Nanos::from_micros(LOOK));
        let mut out = [Decision::NONE; 64];
        let step = self
            .scheduler
            .step(self.now, &self.config, &self.seen, &[], &mut out);
        let made = out[..step.decisions].iter();
        made.map(|made| (made.action, made.queue.0)).collect()
    }

    fn quiet(&mut self, micros: u32) {
        for _ in 0..micros / LOOK {
            assert_eq!(self.look(), []);
        }
    }

    /// Queue 1 begins to run.
    fn run(&mut self) {
        let low = &mut self.seen[0];
        low.progress += 1;
        low.waves = Waves::Known(64);
        low.backlog = Some(4);
        low.head = Head::Runnable;
    }

    /// Queue 1 has finished everything.
    fn rest(&mut self) {
        let low = &mut self.seen[0];
        low.waves = Waves::Known(0);
        low.backlog = Some(0);
    }

    /// Queue 2 gets work that does not run.
    fn wait(&mut self) {
        let high = &mut self.seen[1];
        high.backlog = Some(1);
        high.head = Head::Runnable;
    }

    /// For how long queue 1 runs on beside queue 2 from the look on that sees the latter.
    fn lasts(&mut self) -> u32 {
        for looks in 0..400 {
            let made = self.look();
            if made.contains(&(Action::Stop, 1)) {
                return looks * LOOK;
            }
            assert_eq!(made, []);
        }
        panic!("queue 1 is never stopped");
    }
}

#[test]
fn of_queues_that_are_not_known_only_those_in_a_crowd_are_taken_to_be_brief() {
    let crowds = CROWDS.map(|(queues, times)| (queues, times * BRIEF));
    for (queues, lasts) in [(2, LOOK), (PLACES, LOOK)].into_iter().chain(crowds) {
        let mut node = Node::new(queues);
        node.run();
        node.wait();
        assert_eq!(node.lasts(), lasts, "{queues}");
    }
}

#[test]
fn queues_of_short_work_are_left_for_longer_in_a_crowd() {
    let crowds = CROWDS.map(|(queues, times)| (queues, times * BRIEF));
    for (queues, lasts) in [(PLACES, BRIEF)].into_iter().chain(crowds) {
        let mut node = Node::new(queues);
        // Each of them has worked for a short time.
        node.run();
        node.seen[1].progress += 1;
        node.seen[1].waves = Waves::Known(64);
        node.quiet(200);
        node.rest();
        node.seen[1].waves = Waves::Known(0);
        node.quiet(200);
        node.run();
        node.wait();
        assert_eq!(node.lasts(), lasts, "{queues}");
    }
}

/// A transaction that costs much leaves an inversion for long by itself, and a crowd adds
/// nothing to it; one that costs less is left for no longer than this in a crowd.
#[test]
fn a_crowd_has_nothing_left_for_longer_than_eight_milliseconds() {
    for (cost, queues, lasts) in [
        (500, PLACES + 1, 2_000),
        (500, 3 * PLACES, 6_000),
        (500, 6 * PLACES, 8_000),
        (5_000, PLACES + 1, 20_000),
        (5_000, 6 * PLACES, 20_000),
    ] {
        let mut node = Node::new(queues);
        assert_eq!(node.config.set(Number::SwitchCost, cost), Ok(()));
        node.run();
        node.wait();
        assert_eq!(node.lasts(), lasts, "{cost} {queues}");
    }
}

#[test]
fn where_waves_are_not_counted_a_new_queue_is_stopped_at_once() {
    let mut node = Node::new(6 * PLACES);
    node.run();
    node.seen[0].waves = Waves::Unknown;
    node.wait();
    assert_eq!(node.lasts(), LOOK);
}

#[test]
fn each_launch_of_a_new_queue_is_not_a_beginning() {
    let mut node = Node::new(PLACES + 1);
    node.run();
    node.seen[0].backlog = Some(0);
    for _ in 0..BRIEF / LOOK {
        node.quiet(LOOK);
        node.seen[0].progress += 1;
    }
    node.wait();
    assert_eq!(node.lasts(), LOOK);
}

#[test]
fn what_was_stopped_is_known_to_have_run_for_as_long_as_it_had() {
    let mut node = Node::new(PLACES + 1);
    node.run();
    node.wait();
    assert_eq!(node.lasts(), BRIEF);
    // The urgent work is done, and the other one is started and comes to its end.
    node.seen[0].state = QueueState::StoppedByUs;
    node.quiet(LOOK);
    node.seen[1].backlog = Some(0);
    node.seen[1].progress += 1;
    while node.look() != [(Action::Start, 1)] {}
    node.seen[0].state = QueueState::Active;
    node.quiet(2 * LOOK);
    node.rest();
    // The urgent one has short work again, and then no guard keeps the next stop back.
    node.seen[1].progress += 1;
    node.seen[1].waves = Waves::Known(64);
    node.quiet(200);
    node.seen[1].waves = Waves::Known(0);
    node.quiet(10_000);
    node.run();
    node.wait();
    assert_eq!(node.lasts(), LOOK);
}

#[test]
fn what_has_run_for_long_is_stopped_at_once_in_a_crowd_too() {
    let mut node = Node::new(PLACES + 1);
    node.run();
    node.quiet(BRIEF);
    node.wait();
    assert_eq!(node.lasts(), LOOK);
}

#[test]
fn what_is_known_to_run_for_long_is_stopped_at_once_in_a_crowd_too() {
    let mut node = Node::new(PLACES + 1);
    node.run();
    node.quiet(BRIEF + LOOK);
    node.rest();
    node.quiet(500);
    node.run();
    node.wait();
    assert_eq!(node.lasts(), LOOK);
}
