// SPDX-License-Identifier: GPL-2.0-only

//! The oracles against brute force: no order to stop and to start that fits the same
//! rules serves better, and no contender is ahead of the one that knows the future.

use gpreempt_simulator::controller::{Act, Controller, Look, Next, QueueInfo};
use gpreempt_simulator::engine::{Engine, QueueIndex};
use gpreempt_simulator::gpu::{Gpu, Nanos, TransactionCost};
use gpreempt_simulator::oracle::{Foresight, Oracle, Plan, Promise};
use gpreempt_simulator::policies::{measure, Effort, Policy};
use gpreempt_simulator::simulation::{self, RunResult};
use gpreempt_simulator::workload::{Workload, SECOND};

/// Two urgent requests and the pause between them.
const SPAN: Nanos = 105_000_000;
const SEED: u64 = 1;

/// Stops and starts all lower queues in turn, at given times.
struct Script {
    switches: Vec<Nanos>,
    done: usize,
    doorbells: Vec<Nanos>,
}

impl Controller for Script {
    fn foretell(&mut self, doorbells: Vec<Nanos>) {
        self.doorbells = doorbells;
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
        let lower: Vec<QueueIndex> = (0..queues.len()).filter(|&q| !queues[q].urgent).collect();
        let (stop, start) = match self.done % 2 {
            0 => (lower, Vec::new()),
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

/// What counts of a run: the slowest urgent request, and what the lower queue got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Served {
    slowest: Nanos,
    lower: Nanos,
}

fn served(run: &RunResult) -> Served {
    assert_eq!(run.unfinished, 0, "the span is long enough");
    let urgent = run.clients.iter().filter(|client| client.urgent);
    Served {
        slowest: urgent
            .flat_map(|client| client.latencies.iter().copied())
            .max()
            .expect("there are urgent requests"),
        lower: run
            .clients
            .iter()
            .filter(|client| !client.urgent)
            .map(|client| client.service)
            .sum(),
    }
}

fn run(gpu: &Gpu, controller: &mut dyn Controller) -> RunResult {
    let workload = Workload::by_name("L").unwrap();
    simulation::run(gpu, &workload, controller, SEED, 0, SPAN)
}

/// The best of an oracle's plans.
fn oracle(gpu: &Gpu, foresight: Foresight) -> Served {
    let promise = Promise {
        bound: SECOND,
        least: 1_000_000,
    };
    let plans = foresight.plans().iter();
    let served = plans.map(|&plan| served(&run(gpu, &mut Oracle::new(foresight, plan, promise))));
    served
        .min_by_key(|served| (served.slowest, Nanos::MAX - served.lower))
        .unwrap()
}

fn doorbells(gpu: &Gpu) -> Vec<Nanos> {
    let mut script = Script {
        switches: Vec::new(),
        done: 0,
        doorbells: Vec::new(),
    };
    run(gpu, &mut script);
    assert_eq!(script.doorbells.len(), 2, "{:?}", script.doorbells);
    script.doorbells
}

/// Times worth trying around each request: a grid, and what an oracle may think of.
fn times(gpu: &Gpu, doorbells: &[Nanos], from: i64, to: i64) -> Vec<Nanos> {
    const STEPS: i64 = 10;
    let cost = TransactionCost::new(gpu, gpu.state_bytes(), 0);
    let whole = (cost.command + cost.standstill()) as i64;
    let mut times = Vec::new();
    for &doorbell in doorbells {
        let grid = (0..=STEPS).map(|step| from + (to - from) * step / STEPS);
        let near = [-whole, -whole / 2, 0];
        let near = near.into_iter().filter(|&at| at >= from);
        times.extend(grid.chain(near).map(|at| doorbell.saturating_add_signed(at)));
    }
    times.sort_unstable();
    times.dedup();
    times
}

/// Calls a function with every script of up to two stops, each with or without a
/// start, at the given times.
fn each_script(stops: &[Nanos], starts: &[Nanos], mut f: impl FnMut(Vec<Nanos>)) {
    let after = |times: &[Nanos], than: Nanos| -> Vec<Nanos> {
        times.iter().copied().filter(|&at| at > than).collect()
    };
    for &first in stops {
        f(vec![first]);
        for start in after(starts, first) {
            f(vec![first, start]);
            for second in after(stops, start) {
                f(vec![first, start, second]);
                for end in after(starts, second) {
                    f(vec![first, start, second, end]);
                }
            }
        }
    }
}

/// Runs every script, and compares each with what the oracle reached.
fn no_script_beats(gpu: &Gpu, foresight: Foresight, stops: &[Nanos], starts: &[Nanos]) {
    /// What a grid of such steps can make up for by luck.
    const HAIR: Nanos = 2_000;
    let best = oracle(gpu, foresight);
    let mut scripts = 0;
    let mut level = 0;
    each_script(stops, starts, |switches| {
        let mut script = Script {
            switches: switches.clone(),
            done: 0,
            doorbells: Vec::new(),
        };
        let result = run(gpu, &mut script);
        if result.unfinished > 0 {
            return;
        }
        scripts += 1;
        let served = served(&result);
        assert!(
            served.slowest + HAIR >= best.slowest,
            "{foresight:?} {best:?} is beaten by {switches:?}: {served:?}"
        );
        if served.slowest <= best.slowest + HAIR {
            level += 1;
            assert!(
                served.lower as f64 <= best.lower as f64 * 1.01,
                "{foresight:?} {best:?} leaves less than {switches:?}: {served:?}"
            );
        }
    });
    assert!(scripts > 1_000, "{scripts} scripts were tried");
    assert!(level > 0, "no script is level with {foresight:?} {best:?}");
}

#[test]
fn no_script_beats_the_clairvoyant_oracle() {
    let gpu = Gpu::mi300x_cpx();
    let doorbells = doorbells(&gpu);
    let times = times(&gpu, &doorbells, -2_000_000, 8_000_000);
    no_script_beats(&gpu, Foresight::Clairvoyant, &times, &times);
}

#[test]
fn no_script_that_waits_for_the_doorbell_beats_the_reactive_oracle() {
    let gpu = Gpu::mi300x_cpx();
    let doorbells = doorbells(&gpu);
    let stops = times(&gpu, &doorbells, 0, 4_000_000);
    let starts = times(&gpu, &doorbells, 0, 8_000_000);
    no_script_beats(&gpu, Foresight::Reactive, &stops, &starts);
}

/// Under a load that never pauses, the lower queues get what was promised, and the
/// oracle takes no more than that.
#[test]
fn an_oracle_keeps_its_promise() {
    let gpu = Gpu::mi300x_cpx();
    let promise = Promise {
        bound: 20_000_000,
        least: 2_000_000,
    };
    let mut workload = Workload::by_name("B").unwrap();
    workload.clients[0].arrivals = gpreempt_simulator::workload::Arrivals::Periodic { hertz: 400.0 };
    for foresight in [Foresight::Reactive, Foresight::Clairvoyant] {
        let mut oracle = Oracle::new(foresight, Plan::Pauses(1_000), promise);
        let run = simulation::run(&gpu, &workload, &mut oracle, SEED, 0, SECOND);
        let longest = run.longest_stop as f64 / 1e6;
        assert!(run.stops > 20, "{foresight:?} stops {} times", run.stops);
        assert!(
            longest < 20.5,
            "{foresight:?} keeps a queue stopped for {longest} ms"
        );
        let ran = SECOND - run.stopped;
        assert!(
            ran > SECOND / 13,
            "{foresight:?} lets the lower queues run for {ran} ns of a second"
        );
    }
}

/// In every load: who neither loses work nor breaks the promise cannot be ahead of
/// the oracle that knows the future.
#[test]
fn no_contender_is_ahead_of_the_clairvoyant_oracle() {
    let effort = Effort::new(1, 0.5);
    for gpu in [Gpu::mi300x_spx(), Gpu::mi300x_cpx()] {
        for name in Workload::names() {
            let workload = Workload::by_name(name).unwrap();
            let p99 = |policy: &str| {
                let policy = Policy::by_name(policy, &[]).unwrap();
                measure(&gpu, &workload, &policy, effort).urgent.p99_us
            };
            let clairvoyant = p99("clairvoyant");
            let reactive = p99("reactive");
            for contender in ["none", "classes", "user-1ms", "strict", "strict-memory", "reactive"] {
                let p99 = p99(contender);
                assert!(
                    clairvoyant <= p99 * 1.002,
                    "{} {name}: clairvoyant {clairvoyant}, {contender} {p99}",
                    gpu.name
                );
            }
            for contender in ["none", "classes", "strict", "strict-memory"] {
                let p99 = p99(contender);
                assert!(
                    reactive <= p99 * 1.01,
                    "{} {name}: reactive {reactive}, {contender} {p99}",
                    gpu.name
                );
            }
        }
    }
}
