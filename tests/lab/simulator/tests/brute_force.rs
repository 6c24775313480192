// SPDX-License-Identifier: GPL-2.0-only

//! The references against brute force: of all ways to stop and to start the lower queues
//! at the moments that matter of some small cases, none is better.

use gpreempt_simulator::controller::{Act, Controller, Doorbell, Look, Next, QueueInfo};
use gpreempt_simulator::engine::{Engine, QueueIndex};
use gpreempt_simulator::gpu::{Gpu, Nanos, TransactionCost};
use gpreempt_simulator::reference::{Foresight, Promise, Reference};
use gpreempt_simulator::services::{alone, Model};
use gpreempt_simulator::simulation::{self, RunResult};
use gpreempt_simulator::workload::{Arrivals, Client, Workload, BEST_EFFORT, SECOND, URGENT};

/// Urgent requests of a case. A p99 of so few is their maximum.
const REQUESTS: usize = 3;
/// What the firmware needs for a packet: so much a script may gain by chance, because
/// a workgroup ends just before its stop.
const HAIR: Nanos = 5_000;

/// An urgent client at a fixed rate beside one that always has work.
struct Case {
    urgent: Model,
    hertz: f64,
    lower: Model,
}

impl Case {
    const ALL: [Self; 4] = [
        Self::new(Model::Token, 100.0, Model::Training),
        Self::new(Model::Token, 400.0, Model::Training),
        Self::new(Model::Small, 400.0, Model::Longkernel),
        // Together they fill half of the node, so nothing has to be stopped.
        Self::new(Model::Small, 400.0, Model::Small),
    ];

    const fn new(urgent: Model, hertz: f64, lower: Model) -> Self {
        Self {
            urgent,
            hertz,
            lower,
        }
    }

    fn workload(&self) -> Workload {
        let client = |model: Model, priority, arrivals| {
            let name = format!("{} of priority {priority}", model.name());
            Client::new(name, model, priority, arrivals)
        };
        let periodic = Arrivals::Periodic { hertz: self.hertz };
        Workload::new(
            format!("{} beside {}", self.urgent.name(), self.lower.name()),
            vec![
                client(self.urgent, URGENT, periodic),
                client(self.lower, BEST_EFFORT, Arrivals::Continuous),
            ],
        )
    }

    fn run(&self, gpu: &Gpu, controller: &mut dyn Controller, span: Nanos) -> RunResult {
        simulation::run(gpu, &self.workload(), controller, 1, 0, span)
    }

    /// The doorbells of the case, and when it ends: before one more rings.
    fn doorbells(&self, gpu: &Gpu) -> (Vec<Nanos>, Nanos) {
        let mut script = Script::new(Vec::new());
        let period = (SECOND as f64 / self.hertz) as Nanos;
        self.run(gpu, &mut script, (REQUESTS as Nanos + 2) * period);
        let end = script.doorbells[REQUESTS] - 1;
        script.doorbells.truncate(REQUESTS);
        (script.doorbells, end)
    }

    /// The moments that matter of each request: just in time to be off when its
    /// doorbell rings, the doorbell, its end, and the middle of the pause after it.
    fn moments(&self, gpu: &Gpu, doorbells: &[Nanos], end: Nanos) -> Vec<Nanos> {
        let cost = TransactionCost::new(gpu, gpu.state_bytes(), 0);
        let whole = cost.command + cost.standstill();
        let time = alone(gpu, &self.urgent.program(gpu));
        let following = doorbells.iter().skip(1).chain([&end]);
        doorbells
            .iter()
            .zip(following)
            .flat_map(|(&at, &next)| {
                let done = at + time + 1;
                [at.saturating_sub(whole), at, done, (done + next) / 2]
            })
            .collect()
    }
}

/// Stops and starts all lower queues in turn, at given times.
struct Script {
    switches: Vec<Nanos>,
    done: usize,
    doorbells: Vec<Nanos>,
    /// A stop came when no urgent request waited, which a reactive reference may not do.
    foresees: bool,
}

impl Script {
    fn new(switches: Vec<Nanos>) -> Self {
        Self {
            switches,
            done: 0,
            doorbells: Vec::new(),
            foresees: false,
        }
    }
}

impl Controller for Script {
    fn foretell(&mut self, doorbells: Vec<Doorbell>) {
        self.doorbells = doorbells.iter().map(|bell| bell.at).collect();
    }

    fn is_punctual(&self) -> bool {
        true
    }

    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look {
        let Some(&at) = self.switches.get(self.done) else {
            return Look::default();
        };
        if at > engine.now() {
            return Look {
                next: Next::At(at),
                ..Look::default()
            };
        }
        let (urgent, lower): (Vec<QueueIndex>, Vec<_>) =
            (0..queues.len()).partition(|&q| queues[q].urgent);
        let (stop, start) = match self.done % 2 {
            0 => {
                self.foresees |= !urgent.iter().any(|&q| engine.busy(q));
                (lower, Vec::new())
            }
            _ => (Vec::new(), lower),
        };
        self.done += 1;
        Look {
            cost: 0,
            acts: vec![Act::Transaction {
                lead: 0,
                stop,
                start,
            }],
            next: Next::After(1),
        }
    }
}

/// What counts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Served {
    slowest: Nanos,
    /// How long all of the node was used. All urgent requests are done, so what
    /// differs is the lower queue's.
    used: Nanos,
}

/// Nothing where a request was not done in time.
fn served(run: &RunResult) -> Option<Served> {
    let urgent = run.clients.iter().filter(|client| client.urgent);
    let slowest = urgent.flat_map(|client| client.latencies.iter().copied());
    let slowest = slowest.max()?;
    (run.unfinished == 0).then_some(Served {
        slowest,
        used: (run.utilisation * run.duration as f64) as Nanos,
    })
}

/// The best of a reference's plans.
fn reference(case: &Case, gpu: &Gpu, foresight: Foresight, span: Nanos) -> Served {
    let promise = Promise {
        bound: SECOND,
        least: 1_000_000,
    };
    let plans = foresight.plans().into_iter();
    plans
        .filter_map(|plan| {
            served(&case.run(gpu, &mut Reference::new(foresight, plan, promise), span))
        })
        .min_by_key(|served| (served.slowest, Nanos::MAX - served.used))
        .expect("a plan serves all requests")
}

/// Every script that is stopped or not after each of the moments.
fn scripts(moments: &[Nanos]) -> impl Iterator<Item = Script> + '_ {
    (0_u32..1 << moments.len()).map(|pattern| {
        let stopped = |index: usize| pattern & (1 << index) != 0;
        let changes = |&index: &usize| stopped(index) != (index > 0 && stopped(index - 1));
        let switches = (0..moments.len()).filter(changes).map(|i| moments[i]);
        Script::new(switches.collect())
    })
}

#[test]
fn no_schedule_of_a_small_case_beats_the_references() {
    let gpu = Gpu::mi300x_cpx();
    for case in Case::ALL {
        let (doorbells, span) = case.doorbells(&gpu);
        let moments = case.moments(&gpu, &doorbells, span);
        let bests = [Foresight::Reactive, Foresight::Clairvoyant]
            .map(|foresight| (foresight, reference(&case, &gpu, foresight, span)));
        let mut level = [0, 0];
        for mut script in scripts(&moments) {
            let Some(own) = served(&case.run(&gpu, &mut script, span)) else {
                continue;
            };
            for ((foresight, best), level) in bests.iter().zip(&mut level) {
                if script.foresees && *foresight == Foresight::Reactive {
                    continue;
                }
                let what = format!(
                    "{}, {foresight:?} {best:?}, doorbells {doorbells:?}, switches {:?}: {own:?}",
                    case.workload().name,
                    script.switches
                );
                assert!(own.slowest + HAIR >= best.slowest, "{what}");
                if own.slowest <= best.slowest + HAIR {
                    *level += 1;
                    assert!(own.used <= best.used + HAIR * REQUESTS as Nanos, "{what}");
                }
            }
        }
        // The schedule of the reference is among them, or the comparison says nothing.
        assert!(level.iter().all(|&count| count > 0), "{level:?}");
    }
}
