// SPDX-License-Identifier: GPL-2.0-only

//! The references against the contenders: on these loads none of those that pay for the
//! same transactions and keep the same promise is ahead of the one that knows the future,
//! and no reference is behind what it contains.

use gpreempt_simulator::documented::nodes;
use gpreempt_simulator::gpu::Gpu;
use gpreempt_simulator::loads;
use gpreempt_simulator::policies::{measure, Effort, Policy};
use gpreempt_simulator::reference::{Foresight, Manner, Plan, Promise, Reference, HOLD};
use gpreempt_simulator::report::Comparison;
use gpreempt_simulator::score::{self, Outcome};
use gpreempt_simulator::services::{alone, Model};
use gpreempt_simulator::simulation;
use gpreempt_simulator::summary::Summary;
use gpreempt_simulator::workload::{Arrivals, Client, Workload, BEST_EFFORT, SECOND, URGENT};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// Latencies so close are the same, eight microseconds of a VGG: urgent requests that
/// overlap share the units a little differently after any delay, also a shorter one.
const SAME_LATENCY: f64 = 1.002;
/// Throughputs so close are the same: a reference knows when urgent requests come, but
/// not when those of the lower queues do, and which of these are missed is chance.
const SAME_THROUGHPUT: f64 = 1.01;

/// How a contender is ahead of a reference, if it is: its urgent p99 is lower, or it is
/// the same and the best-effort clients get more. Of each of them, one request may be
/// done just before or just after the end of a run.
fn ahead(contender: &Summary, reference: &Summary, seconds: f64) -> Option<String> {
    let (own, best) = (contender.urgent.p99_us, reference.urgent.p99_us);
    if own * SAME_LATENCY < best {
        return Some(format!("p99 {own:.0} us, not {best:.0}"));
    }
    let clients = contender.clients.iter().filter(|client| !client.urgent);
    let chance = clients.count() as f64 / seconds;
    let rate = |summary: &Summary| summary.best_effort_per_second;
    if own <= best * SAME_LATENCY && rate(contender) > rate(reference) * SAME_THROUGHPUT + chance {
        return Some(format!(
            "p99 {own:.0} us as {best:.0}, and {:.1} requests a second, not {:.1}",
            rate(contender),
            rate(reference)
        ));
    }
    None
}

/// Whether a contender does no more than the references may: it pays for each stop, and
/// keeps nobody stopped beyond the bound, but for a look and a transaction.
fn keeps_the_rules(contender: &Summary) -> bool {
    contender.workgroups_lost == 0 && contender.longest_stop_ms < 102.0
}

fn policy(name: &str) -> Policy {
    Policy::by_name(name, &[]).unwrap()
}

/// One to three clients of some models, which together take a share of the time.
fn clients(
    random: &mut ChaCha8Rng,
    gpu: &Gpu,
    models: &[Model],
    priority: u8,
    share: f64,
) -> Vec<Client> {
    let count = random.random_range(1..=3);
    (0..count)
        .map(|index| {
            let model = *models.choose(random).unwrap();
            let time = alone(gpu, &model.program(gpu)) as f64;
            let hertz = share / f64::from(count) * SECOND as f64 / time;
            let arrivals = [
                Arrivals::Periodic { hertz },
                Arrivals::Poisson { hertz },
                Arrivals::HeavyTailed { hertz },
            ];
            let name = format!("{index} of priority {priority}");
            let arrivals = arrivals.choose(random).unwrap().clone();
            let preparation = *[0, 200_000].choose(random).unwrap();
            Client::new(name, model, priority, arrivals).prepared_in(preparation)
        })
        .collect()
}

fn small_workload(seed: u64, gpu: &Gpu) -> Workload {
    use Model::{Bert, Longkernel, Small, Token, Training, Vgg};
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let share = random.random_range(0.05..0.6);
    let mut all = clients(random, gpu, &[Small, Token, Bert, Vgg], URGENT, share);
    let share = random.random_range(0.1..1.5);
    let lower = [Small, Token, Bert, Training, Longkernel];
    all.extend(clients(random, gpu, &lower, BEST_EFFORT, share));
    Workload::new(format!("small workload {seed}"), all)
}

#[test]
fn no_contender_is_ahead_of_the_clairvoyant_reference_on_small_workloads() {
    const SECONDS: f64 = 0.4;
    let effort = Effort::new(1, SECONDS);
    let gpu = Gpu::mi300x_cpx();
    let mut compared = 0;
    for seed in 1..=16 {
        let workload = small_workload(seed, &gpu);
        let reference = measure(&gpu, &workload, &policy("clairvoyant"), effort);
        for name in Policy::NAMES {
            let contender = measure(&gpu, &workload, &policy(name), effort);
            if !keeps_the_rules(&contender) {
                continue;
            }
            compared += 1;
            let how = ahead(&contender, &reference, SECONDS);
            assert_eq!(how, None, "{name} is ahead on {workload:#?}");
        }
    }
    assert!(compared > 100, "{compared} were compared");
}

#[test]
fn no_contender_of_the_documented_tables_is_ahead_of_the_clairvoyant_reference() {
    let mut compared = 0;
    for gpu in nodes() {
        let file = format!("../../../docs/simulation/table-{}.json", gpu.name);
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let summaries = serde_json::from_str(&text).unwrap();
        for comparison in Comparison::of_all(summaries).unwrap() {
            let alone = &comparison.alone;
            let load = format!("{} on {}", alone.workload, gpu.name);
            let requests = alone.urgent.requests as f64;
            assert!(requests >= Workload::LEAST_REQUESTS, "{load}: {requests}");
            let seconds = requests / alone.per_second;
            let reference = comparison.of("clairvoyant").expect("it is in every table");
            for contender in comparison.all() {
                if contender.policy == "alone" || !keeps_the_rules(contender) {
                    continue;
                }
                compared += 1;
                let how = ahead(contender, reference, seconds);
                assert_eq!(how, None, "{} is ahead on {load}", contender.policy);
            }
        }
    }
    assert!(compared > 150, "{compared} were compared");
}

#[test]
fn who_is_faster_or_as_fast_and_leaves_more_is_ahead() {
    let summary = |p99_us: f64, best_effort_per_second: f64| {
        let mut summary = Summary {
            best_effort_per_second,
            ..Summary::default()
        };
        summary.urgent.p99_us = p99_us;
        summary
    };
    let reference = summary(1_000.0, 50.0);
    let ahead = |p99, rate| ahead(&summary(p99, rate), &reference, 1.0).is_some();
    assert!(ahead(990.0, 1.0));
    assert!(ahead(1_000.0, 51.0));
    assert!(!ahead(1_000.0, 50.0));
    assert!(!ahead(1_010.0, 100.0));
}

/// Under a load that never pauses, the lower queues get what was promised, and the
/// reference takes no more than that.
#[test]
fn a_reference_keeps_its_promise() {
    let gpu = Gpu::mi300x_cpx();
    let promise = Promise {
        bound: 20_000_000,
        least: 2_000_000,
    };
    let mut workload = Workload::by_name("B").unwrap();
    workload.clients[0].arrivals = Arrivals::Periodic { hertz: 400.0 };
    for ahead in [false, true] {
        let plan = Plan::Stop(Manner {
            ahead,
            idle_too: true,
            pause: 50_000,
            worth: 0,
        });
        let mut reference = Reference::new(Foresight::Clairvoyant, plan, promise);
        let run = simulation::run(&gpu, &workload, &mut reference, 1, 0, SECOND);
        let longest = run.longest_stop as f64 / 1e6;
        assert!(run.stops > 20, "{plan:?} stops {} times", run.stops);
        assert!(longest < 20.5, "{plan:?} keeps a queue for {longest} ms");
        let ran = SECOND - run.stopped;
        assert!(ran > SECOND / 13, "{plan:?} lets others run for {ran} ns");
    }
}

fn run_of(plan: Plan, workload: &Workload, gpu: &Gpu) -> simulation::RunResult {
    let mut reference = Reference::new(Foresight::Reactive, plan, Promise::USUAL);
    simulation::run(gpu, workload, &mut reference, 1, 100_000_000, SECOND)
}

/// Hindsight may choose any of a reference's plans, and who sees more has those of who
/// sees less.
#[test]
fn no_reference_is_slower_than_what_it_contains() {
    let gpu = Gpu::mi300x_spx().direct();
    let effort = Effort::new(1, 0.5);
    for name in ["H1", "H9", "N1", "N3", "N4"] {
        let workload = loads::by_name(name).unwrap();
        let p99 = |name: &str| {
            measure(&gpu, &workload, &policy(name), effort)
                .urgent
                .p99_us
        };
        let all = ["classes", "blind", "reactive", "clairvoyant"].map(p99);
        let [classes, blind, reactive, clairvoyant] = all;
        // Of those within a thousandth it is the one that leaves most.
        assert!(reactive <= 1.001 * blind.min(classes), "{name}: {all:?}");
        assert!(clairvoyant <= 1.001 * reactive, "{name}: {all:?}");
    }
}

/// The verdict's reference leaves as much as blind, wherever blind is within the goal of
/// latency, as it always is.
#[test]
fn the_reference_of_a_verdict_leaves_what_blind_leaves_at_least() {
    let effort = Effort::new(1, 0.5);
    for name in ["H5", "H9", "H17", "N1", "N3"] {
        let workload = loads::by_name(name).unwrap();
        let score = score::score(&Gpu::mi300x_spx(), &workload, &[], effort);
        let [reference, blind] = [&score.reference, &score.blind].map(Outcome::best_effort);
        assert!(reference >= blind, "{name}: {reference} {blind}");
        assert!(score.verdict(&score.reference).both(), "{name}");
        assert!(score.verdict(&score.blind).latency, "{name}");
    }
}

#[test]
fn a_reference_serves_the_middle_before_the_lowest_and_the_highest_before_both() {
    let gpu = Gpu::mi300x_spx().direct();
    let workload = loads::by_name("N1").unwrap();
    let slowest = |plan, client: usize| {
        let run = run_of(plan, &workload, &gpu);
        run.clients[client].counted().max().unwrap()
    };
    let at_once = Plan::Stop(Manner::AT_ONCE);
    // 600 us alone, and 4 ms, behind kernels of 8 ms.
    assert!(slowest(at_once, 0) < 2_500_000);
    assert!(slowest(at_once, 1) < 30_000_000);
    assert!(slowest(Plan::LetBe, 1) > 2 * slowest(at_once, 1));
}

#[test]
fn a_plan_that_holds_starts_nobody_before_the_promise_falls_due() {
    let gpu = Gpu::mi300x_spx();
    let workload = loads::by_name("H9").unwrap();
    let hold = Plan::Stop(Manner {
        pause: HOLD,
        ..Manner::AT_ONCE
    });
    let run = run_of(hold, &workload, &gpu);
    assert!((9..=12).contains(&run.stops), "{}", run.stops);
    assert!(run.longest_stop > 99_000_000, "{}", run.longest_stop);
    let at_once = run_of(Plan::Stop(Manner::AT_ONCE), &workload, &gpu);
    assert!(at_once.stops > 60, "{}", at_once.stops);
}

/// Where all that runs is shorter than two transactions, nothing is worth a stop.
#[test]
fn a_plan_that_stops_what_is_worth_it_stops_less() {
    let gpu = Gpu::mi300x_spx();
    let transactions = |name: &str, worth| {
        let plan = Plan::Stop(Manner {
            worth,
            ..Manner::AT_ONCE
        });
        run_of(plan, &loads::by_name(name).unwrap(), &gpu).transactions
    };
    assert_eq!(transactions("N2", 2), 0);
    assert!(transactions("N2", 0) > 100);
    let (always, worth) = (transactions("H9", 0), transactions("H9", 2));
    assert!(worth > always * 3 / 4, "{worth} of {always}");
}

/// The doorbells of a loop are known as soon as the request before it has ended.
#[test]
fn foresight_does_not_start_into_a_pause_of_a_loop_that_is_too_short() {
    let gpu = Gpu::mi300x_spx();
    let workload = loads::by_name("N3").unwrap();
    let pauses = |pause| {
        let plan = Plan::Stop(Manner {
            pause,
            ..Manner::AT_ONCE
        });
        run_of(plan, &workload, &gpu).transactions
    };
    assert!(pauses(1_000_000) < pauses(0) / 5);
}
