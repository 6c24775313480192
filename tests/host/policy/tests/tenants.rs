// SPDX-License-Identifier: GPL-2.0-only
//! What tenants without a rule can do to a client that a rule raises: whatever they show,
//! it is served within a bound, and as if nobody else had been there but for what they
//! run. The GPU is a model with one launch at a time, in which the highest level that has
//! work and is not stopped comes first whenever a launch ends or is saved.

use gpreempt_host_tests::random::Random;
use gpreempt_host_tests::Vectors;
use gpreempt_policy::*;

const MICRO: u64 = 1_000;

/// How long a transaction takes.
const TRANSACTION: u64 = 150 * MICRO;

/// The client's request: how long it runs, and how far apart requests are.
const REQUEST: u64 = 200 * MICRO;
const EVERY: u64 = 5_000 * MICRO;

/// How long each launch of the victim, which always has work, runs.
const VICTIM: u64 = 20_000 * MICRO;

/// A request waits no longer than this for its first workgroup: three looks at the
/// interval of many queues, the grace, and a transaction that has just begun and the one
/// that stops the victim.
const BOUND: u64 = 2 * TRANSACTION + 250 * MICRO;

/// No longer than this where the victim has its launches look short: eight times what a stop
/// has to save, twice that where its waves were counted just before, and the transaction.
const FORGED_BOUND: u64 = 16 * 2 * (TRANSACTION + 40 * MICRO) + BOUND;

/// What the queues of an attacker show.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// A packet that is never taken.
    Stuck,
    /// A packet, and a read pointer that moves with each look.
    Moving,
    /// A packet for 100 us of each 1,000.
    Blinking,
    /// A read pointer that goes back at each twentieth look.
    GoingBack,
    /// Numbers that tell of requests, and no work.
    Hinting,
    /// Anything.
    Random,
}

const ATTACKS: [Attack; 6] = [
    Attack::Stuck,
    Attack::Moving,
    Attack::Blinking,
    Attack::GoingBack,
    Attack::Hinting,
    Attack::Random,
];

impl Attack {
    fn show(self, random: &mut Random, now: u64, look: u64, seen: &mut Observation) {
        seen.head = Head::Runnable;
        seen.backlog = Some(1);
        match self {
            Attack::Stuck => {}
            Attack::Moving => seen.progress = look,
            Attack::Blinking if now % (1_000 * MICRO) < 100 * MICRO => seen.progress = 7,
            Attack::Blinking | Attack::Hinting => {
                seen.backlog = Some(0);
                seen.hint = matches!(self, Attack::Hinting).then_some(look as u32);
            }
            Attack::GoingBack => seen.progress = look % 20,
            Attack::Random => {
                seen.progress = random.next() % 3 * look;
                seen.backlog = Some(random.below(3) as u32);
                seen.hint = Some(random.below(2) as u32);
                seen.head = [Head::Runnable, Head::Invalid, Head::Barrier][random.below(3)];
            }
        }
    }
}

/// A queue of the model that has work of its own.
#[derive(Clone, Copy, Default)]
struct Worker {
    submitted: u64,
    taken: u64,
    /// What is left of a launch that runs or is saved.
    left: u64,
    stopped: bool,
}

/// The GPU, with the client's queue and the victim's.
struct Gpu {
    client: Worker,
    victim: Worker,
    since: u64,
    longest: u64,
    requests: u32,
}

impl Gpu {
    /// Time passes: whoever runs goes on to its end, then the next one begins.
    fn pass(&mut self, from: u64, to: u64) {
        let mut now = from;
        while now < to {
            let due = now / EVERY * EVERY + EVERY;
            if self.client.submitted < now / EVERY + 1 {
                if self.client.taken == self.client.submitted {
                    self.since = now;
                }
                self.client.submitted = now / EVERY + 1;
            }
            // A launch that was begun keeps the GPU until it ends or is saved.
            let victim_runs = self.victim.left > 0 && !self.victim.stopped;
            let waits = self.client.taken < self.client.submitted;
            if self.client.left == 0 && waits && !victim_runs {
                self.client.taken += 1;
                self.client.left = REQUEST;
                self.longest = self.longest.max(now - self.since);
                self.requests += 1;
            }
            if self.client.left == 0 && self.victim.left == 0 && !self.victim.stopped {
                self.victim.taken += 1;
                self.victim.left = VICTIM;
            }
            let running = match self.client.left {
                0 if self.victim.stopped => None,
                0 => Some(&mut self.victim),
                _ => Some(&mut self.client),
            };
            let end = to.min(due);
            let ran = running
                .as_ref()
                .map_or(end - now, |one| one.left.min(end - now));
            if let Some(one) = running {
                one.left -= ran;
            }
            now += ran.max(1);
        }
    }
}

/// The longest that a request of a client with a rule of this level waits for the GPU.
/// `forges`: the victim moves its own read pointer with each look, and two more queues of its
/// program, one level above it, do in turn.
fn longest_wait(level: u32, attackers: u64, attack: Attack, seed: u64, forges: bool) -> u64 {
    let rule = RuleEffect {
        priority: Priority::new(level),
        ..RuleEffect::default()
    };
    let mut config = Config::new();
    config.highest_rule = rule.priority;
    config.mode = Mode::Enforce;
    let mut scheduler = Scheduler::new(Vectors::new(64));
    let mut random = Random::new(seed);
    let mut gpu = Gpu {
        client: Worker::default(),
        victim: Worker::default(),
        since: 0,
        longest: 0,
        requests: 0,
    };
    // Learns how long the victim's launches are before anything counts.
    let (begin, end) = (100_000 * MICRO, 500_000 * MICRO);
    let (mut now, mut look, mut asked) = (MICRO, 0, false);
    let mut outcomes: Vec<Outcome> = Vec::new();
    while now < end {
        look += 1;
        let worker = |id: u64, worker: &Worker, asked: bool| {
            let runs = !worker.stopped && worker.left > 0;
            Observation {
                progress: worker.taken,
                backlog: Some((worker.submitted.saturating_sub(worker.taken)) as u32),
                head: Head::Runnable,
                waves: match (asked || worker.stopped, runs || worker.left > 0) {
                    (false, _) => Waves::Unknown,
                    (true, any) => Waves::Known(u32::from(any) * 64),
                },
                state: match worker.stopped {
                    true => QueueState::StoppedByUs,
                    false => QueueState::Active,
                },
                ..Observation::new(QueueId(id), ProcessId(id))
            }
        };
        gpu.victim.submitted = gpu.victim.taken + 2;
        let mut seen = vec![worker(1, &gpu.client, asked), worker(2, &gpu.victim, asked)];
        seen[0].rule = Some(rule);
        seen[1].kfd = Priority::LOWEST;
        // What those show who have nothing on the GPU.
        let none = match asked {
            true => Waves::Known(0),
            false => Waves::Unknown,
        };
        if forges {
            (seen[1].progress, seen[1].backlog) = (50 * look, Some(10));
            for turn in [0, 1] {
                seen.push(Observation {
                    progress: 50 * ((look + turn) / 2),
                    backlog: Some(1),
                    head: Head::Runnable,
                    kfd: Priority::new(1).unwrap(),
                    waves: none,
                    ..Observation::new(QueueId(3 + turn), ProcessId(2))
                });
            }
        }
        for attacker in 0..attackers {
            let mut queue = Observation::new(QueueId(10 + attacker), ProcessId(10 + attacker));
            queue.kfd = Priority::HIGHEST;
            queue.waves = none;
            attack.show(&mut random, now, look, &mut queue);
            seen.push(queue);
        }
        let mut out = vec![Decision::default(); seen.len()];
        let step = scheduler.step(Nanos(now), &config, &seen, &outcomes, &mut out);
        asked = step.ask_waves;
        outcomes.clear();
        let before = now;
        let (mut stops, mut starts) = (false, false);
        for decision in &out[..step.decisions] {
            let done = decision.queue == QueueId(2);
            stops |= done && decision.action == Action::Stop;
            starts |= done && decision.action == Action::Start;
            // Attackers have nothing that could be stopped.
            outcomes.push(Outcome {
                queue: decision.queue,
                report: match done {
                    true => Report::Done,
                    false => Report::NothingToDo,
                },
            });
        }
        if step.decisions > 0 {
            now += TRANSACTION;
            scheduler.transaction_took(Nanos(TRANSACTION));
        }
        gpu.pass(before, now);
        gpu.victim.stopped = (gpu.victim.stopped || stops) && !starts;
        let next = step.next_look.map_or(now + 1_000 * MICRO, |at| at.0);
        let next = next.max(now + 5 * MICRO);
        gpu.pass(now, next);
        now = next;
        if now < begin {
            gpu.longest = 0;
        }
    }
    assert!(
        gpu.requests > 80,
        "{level} {attack:?}: {} requests",
        gpu.requests
    );
    gpu.longest
}

#[test]
fn nobody_without_a_rule_delays_a_ruled_client_beyond_the_bound() {
    for level in [8, 15] {
        let alone = longest_wait(level, 0, Attack::Stuck, 1, false);
        assert!(alone <= BOUND, "alone, level {level}: {} us", alone / MICRO);
        for (attack, seed) in ATTACKS.into_iter().zip(1..) {
            for attackers in [1, 40] {
                let wait = longest_wait(level, attackers, attack, seed, false);
                assert!(
                    wait <= BOUND,
                    "{attackers} x {attack:?}, level {level}: {} us, alone {} us",
                    wait / MICRO,
                    alone / MICRO
                );
            }
        }
    }
}

#[test]
fn who_moves_its_own_pointers_is_stopped_for_a_ruled_client_all_the_same() {
    let wait = longest_wait(15, 0, Attack::Stuck, 1, true);
    assert!(wait <= FORGED_BOUND, "{} us", wait / MICRO);
}
