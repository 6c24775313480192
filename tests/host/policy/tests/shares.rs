// SPDX-License-Identifier: GPL-2.0-only
//! What `fair` and `deadline` promise over time, on a GPU that runs one queue
//! at a time and never takes it off by itself.

use gpreempt_host_tests::Vectors;
use gpreempt_policy::{
    Action, Config, Decision, Head, Mode, Nanos, Number, Observation, PolicyKind, Priority,
    ProcessId, QueueId, QueueState, Reservation, RuleEffect, RuleId, Scheduler, Waves,
};

const POLL: Nanos = Nanos(100_000);

/// A GPU that one queue has for itself until it is stopped or has finished.
struct Gpu {
    scheduler: Scheduler<Vectors>,
    config: Config<'static>,
    now: Nanos,
    queues: Vec<Observation>,
    /// What each queue has to do, and had of the GPU, in looks.
    wanted: Vec<u64>,
    had: Vec<u64>,
    running: usize,
}

impl Gpu {
    fn new(policy: PolicyKind, rules: &'static [RuleEffect], levels: &[u32]) -> Gpu {
        let mut config = Config::new().with_rules(rules);
        config.mode = Mode::Enforce;
        config.policy = policy;
        config.set(Number::StopBudget, 1_000).expect("in range");
        config.set(Number::MaxStop, 1_000).expect("in range");
        let queue = |(at, &level): (usize, &u32)| {
            let id = at as u64 + 1;
            let mut queue = Observation::new(QueueId(id), ProcessId(id));
            queue.kfd = Priority::new(level).expect("a level");
            queue
        };
        Gpu {
            scheduler: Scheduler::new(Vectors::new(8, 8)),
            config,
            now: Nanos::SECOND,
            queues: levels.iter().enumerate().map(queue).collect(),
            wanted: vec![0; levels.len()],
            had: vec![0; levels.len()],
            running: 0,
        }
    }

    /// One poll interval passes; the queue that has the GPU works.
    fn pass(&mut self) {
        let can =
            |gpu: &Gpu, at: usize| gpu.wanted[at] > 0 && gpu.queues[at].state == QueueState::Active;
        if !can(self, self.running) {
            let next = (0..self.queues.len()).find(|&at| can(self, at));
            self.running = next.unwrap_or(self.running);
        }
        for at in 0..self.queues.len() {
            let runs = at == self.running && can(self, at);
            let queue = &mut self.queues[at];
            queue.waves = Waves::Known(if runs { 64 } else { 0 });
            queue.head = Head::Runnable;
            if runs {
                queue.progress += 1;
                self.had[at] += 1;
                self.wanted[at] -= 1;
            }
            queue.backlog = Some(self.wanted[at].min(9) as u32);
        }
        self.now = self.now.after(POLL);
        let mut out = [Decision::NONE; 8];
        let step = self
            .scheduler
            .step(self.now, &self.config, &self.queues, &[], &mut out);
        for decision in &out[..step.decisions] {
            let mut queues = self.queues.iter_mut();
            if let Some(queue) = queues.find(|queue| queue.queue == decision.queue) {
                queue.state = match decision.action {
                    Action::Stop => QueueState::StoppedByUs,
                    Action::Start => QueueState::Active,
                };
            }
        }
    }
}

/// The part that the first of two queues that always want the GPU gets.
fn share(levels: [u32; 2]) -> f64 {
    let mut gpu = Gpu::new(PolicyKind::Fair, &[], &levels);
    gpu.wanted = vec![u64::MAX, u64::MAX];
    for _ in 0..100_000 {
        gpu.pass();
    }
    let [first, second] = [gpu.had[0] as f64, gpu.had[1] as f64];
    first / (first + second)
}

#[test]
fn fair_gives_equals_the_same() {
    assert!((share([7, 7]) - 0.5).abs() < 0.03, "{}", share([7, 7]));
}

#[test]
fn fair_gives_two_levels_up_twice_as_much() {
    for levels in [[9, 7], [7, 5], [15, 13], [2, 0]] {
        let got = share(levels);
        assert!((got - 2.0 / 3.0).abs() < 0.04, "{levels:?}: {got}");
        let [high, low] = levels;
        let got = share([low, high]);
        assert!((got - 1.0 / 3.0).abs() < 0.04, "{levels:?}: {got}");
    }
}

#[test]
fn deadline_gives_each_period_its_budget_against_a_heavy_equal() {
    const RULES: &[RuleEffect] = &[RuleEffect {
        reservation: Some(Reservation {
            period: Nanos(10_000_000),
            budget: Nanos(4_000_000),
        }),
        ..RuleEffect::new(RuleId(1))
    }];
    let mut gpu = Gpu::new(PolicyKind::Deadline, RULES, &[7, 7]);
    gpu.queues[1].rule = Some(RuleId(1));
    gpu.wanted[0] = u64::MAX;
    for period in 0..500 {
        // Work for 4 of every 10 ms arrives at the beginning of a period.
        gpu.wanted[1] += 40;
        for _ in 0..100 {
            gpu.pass();
        }
        assert_eq!(gpu.wanted[1], 0, "period {period} missed its deadline");
    }
    // The heavy one has the rest, less the time that switching takes.
    assert!(gpu.had[0] > 500 * 50, "{}", gpu.had[0]);
}
