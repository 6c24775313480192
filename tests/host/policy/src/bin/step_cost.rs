// SPDX-License-Identifier: GPL-2.0-only
//! One step at a given size, for callgrind to count: `step_cost QUEUES SHAPE`.
//!
//! `idle`: no queue has anything to do. `contended`: every second queue runs long
//! kernels at a low level, the others are idle, and one of the highest level has come to
//! wait; the step stops all that run. `held`: a step while they are stopped. The
//! instructions of `measured` are the cost of the step.
//!
//! Which look stops the others is not written down: the same life is lived twice, first to
//! find that look, and then to count it.

use std::hint::black_box;

use gpreempt_host_tests::cases::idle;
use gpreempt_host_tests::Vectors;
use gpreempt_policy::{
    Action, Config, Decision, Head, Mode, Nanos, Observation, Priority, ProcessId, QueueState,
    Scheduler, Step, Waves, QUEUE_SLOTS,
};

const USAGE: &str = "usage: step_cost QUEUES idle|contended|held";

/// How long a kernel takes: it outlasts a few looks, however many queues there are.
const KERNEL: Nanos = Nanos::from_millis(3);

/// The look from which on the urgent queue has work. Until then the others have run long
/// enough for it to be known how long their kernels take.
const COMES: usize = 200;

/// How many looks there are at most before the others are stopped.
const LOOKS: usize = 400;

/// What is counted. Not inlined, so that callgrind can tell it from the rest.
#[inline(never)]
fn measured(
    scheduler: &mut Scheduler<Vectors>,
    now: Nanos,
    config: &Config,
    seen: &[Observation],
    out: &mut [Decision],
) -> Step {
    scheduler.step(now, black_box(config), black_box(seen), &[], out)
}

/// A node, what is to be seen of it, and its scheduler.
struct Life {
    scheduler: Scheduler<Vectors>,
    config: Config,
    now: Nanos,
    looks: usize,
    seen: Vec<Observation>,
    out: Vec<Decision>,
    step: Step,
    /// All are idle.
    quiet: bool,
}

impl Life {
    fn new(queues: u64, quiet: bool) -> Life {
        let mut config = Config::new();
        config.mode = Mode::Enforce;
        // Four queues a process, as ROCm applications have.
        let queue = |n| idle(n + 1, n / 4 + 1, u32::from(n % 2 == 0) * 7);
        let mut seen: Vec<Observation> = (0..queues).map(queue).collect();
        if let (Some(urgent), false) = (seen.first_mut(), quiet) {
            urgent.kfd = Priority::HIGHEST;
        }
        Life {
            scheduler: Scheduler::new(Vectors::new(QUEUE_SLOTS)),
            config,
            now: Nanos::SECOND,
            looks: 0,
            seen,
            out: vec![Decision::default(); QUEUE_SLOTS],
            step: Step::default(),
            quiet,
        }
    }

    /// What is to be seen at the next look.
    fn go_on(&mut self) {
        let (now, looks, quiet, asked) = (self.now, self.looks, self.quiet, self.step.ask_waves);
        for queue in &mut self.seen {
            let number = queue.queue.0;
            let urgent = !quiet && number == 1 && looks >= COMES;
            let works = !quiet && number % 2 == 0;
            let active = queue.state == QueueState::Active;
            if works && active {
                // They do not begin together.
                let begun = now.after(Nanos(number * 700_001 % KERNEL.0));
                queue.progress = begun.0 / KERNEL.0;
            }
            if works || urgent {
                queue.backlog = Some(9);
                queue.head = Head::Runnable;
            }
            queue.waves = match asked {
                true => Waves::Known(u32::from(queue.progress > 0) * 8),
                false => Waves::Unknown,
            };
        }
    }

    /// A look when the scheduler wants it; says how many queues it stops.
    fn look(&mut self, counted: bool) -> usize {
        self.go_on();
        let (scheduler, config) = (&mut self.scheduler, &self.config);
        self.step = match counted {
            true => measured(scheduler, self.now, config, &self.seen, &mut self.out),
            false => scheduler.step(self.now, config, &self.seen, &[], &mut self.out),
        };
        self.looks += 1;
        self.now = self.step.next_look.expect("there are queues");
        let made = &self.out[..self.step.decisions];
        assert!(made.iter().all(|made| made.action == Action::Stop));
        made.len()
    }

    /// What was decided is carried out, and the queue that waited launches a kernel.
    fn obey(&mut self) {
        if let Some(urgent) = self.seen.first_mut() {
            urgent.progress += 1;
        }
        for made in &self.out[..self.step.decisions] {
            let mut queues = self.seen.iter_mut();
            let queue = queues.find(|queue| queue.queue == made.queue);
            queue.expect("the queue").state = QueueState::StoppedByUs;
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect(USAGE);
    let shape = arguments.next().expect(USAGE);
    let quiet = match shape.as_str() {
        "idle" => true,
        "contended" | "held" => false,
        _ => panic!("{USAGE}"),
    };
    let mut life = Life::new(count, quiet);
    let stops = (0..LOOKS).find(|_| life.look(false) > 0);
    // Those of the process that waits go on.
    let others = life
        .seen
        .iter()
        .filter(|queue| !quiet && queue.queue.0 % 2 == 0 && queue.process != ProcessId(1));
    assert_eq!(life.step.decisions, others.count());
    let stops = stops.unwrap_or(LOOKS - 1);
    let mut life = Life::new(count, quiet);
    for _ in 0..stops {
        assert_eq!(life.look(false), 0);
    }
    let stopped = life.look(shape != "held");
    if shape == "held" {
        life.obey();
        assert_eq!(life.look(false), 0);
        assert_eq!(life.look(true), 0);
        assert_eq!(life.step.stopped, stopped);
    }
}
