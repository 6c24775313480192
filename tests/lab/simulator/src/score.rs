// SPDX-License-Identifier: GPL-2.0-only

//! The judgement: how far each contender is from the two goals, on each load.
//!
//! docs/simulation says what the goals are and why.

mod report;

use crate::gpu::Gpu;
use crate::policies::{runs_by_plan, Effort, Policy};
use crate::reference::{Foresight, Plan};
use crate::simulation::{ClientResult, RunResult};
use crate::summary::percentile;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

pub use report::{text, totals};

/// What a look may add to a request, in microseconds.
const LOOK_US: f64 = 60.0;
/// From so long on, a request may take a hundredth more.
const LONG_US: f64 = 10_000.0;
const LONG_SHARE: f64 = 0.01;
/// The share of the reference's best effort that is to be kept.
const KEPT: f64 = 0.95;
/// Latencies so close are the same: urgent requests that overlap share the units a little
/// differently after any delay.
const SAME: f64 = 1.002;

/// Those that are run where nobody is named.
pub const CONTENDERS: [&str; 4] = ["classes", "user-1ms", "user-100us", "strict"];

pub const NODES: [&str; 4] = [
    "mi300x-spx",
    "mi300x-cpx",
    "mi300x-spx-direct",
    "mi300x-cpx-direct",
];

/// Three percentiles of a latency, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

impl Percentiles {
    fn of(mut latencies: Vec<u64>) -> Self {
        latencies.sort_unstable();
        let at = |percent| percentile(&latencies, percent) as f64 / 1e3;
        Self {
            p50: at(50.0),
            p99: at(99.0),
            p999: at(99.9),
        }
    }

    fn is_within(&self, limit: fn(f64) -> f64, of: &Self) -> bool {
        self.p50 <= limit(of.p50) && self.p99 <= limit(of.p99)
    }
}

/// The most that a percentile may be, by that of `blind`.
fn limit(blind: f64) -> f64 {
    let long = if blind > LONG_US {
        LONG_SHARE * blind
    } else {
        0.0
    };
    blind + LOOK_US + long
}

/// What one contender did to one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub contender: String,
    /// The plan, of a reference.
    pub plan: Option<String>,
    pub latency: Percentiles,
    /// Latency beyond that of the same request without the lower clients, in microseconds.
    pub added_p50: Option<f64>,
    pub added_p99: Option<f64>,
    /// Shares of the node that clients below the urgent ones had, by priority.
    pub below: BTreeMap<u8, f64>,
    /// The p99 of clients with rules between the urgent and the lower ones.
    pub middle_p99: Option<f64>,
    pub transactions_per_second: f64,
}

impl Outcome {
    pub fn best_effort(&self) -> f64 {
        self.below.values().fold(0.0, |sum, share| sum + share)
    }

    /// The share that is kept of what another one leaves: of all together, and of the
    /// level in the middle that fares worst.
    fn kept_of(&self, other: &Self) -> f64 {
        let of = |own: f64, other: f64| if other > 0.0 { own / other } else { 1.0 };
        let lowest = other.below.keys().next();
        let middle = other
            .below
            .iter()
            .filter(|(level, _)| Some(*level) != lowest);
        middle
            .map(|(level, share)| of(self.below.get(level).copied().unwrap_or(0.0), *share))
            .fold(of(self.best_effort(), other.best_effort()), f64::min)
    }
}

/// From runs to what is judged; `alone` are the same seeds without the lower clients.
fn outcome(
    contender: &str,
    plan: Option<Plan>,
    runs: &[RunResult],
    alone: &[RunResult],
) -> Outcome {
    let clients = |of: fn(&ClientResult) -> bool| {
        let all = runs.iter().flat_map(|run| &run.clients);
        all.filter(move |client| of(client))
    };
    let urgent = clients(|client| client.urgent).flat_map(ClientResult::counted);
    let middle = clients(|client| client.ruled && !client.urgent).flat_map(ClientResult::counted);
    let middle: Vec<u64> = middle.collect();
    let mut added: Vec<i64> = runs
        .iter()
        .zip(alone)
        .flat_map(|(run, alone)| pairs(run, alone))
        .collect();
    added.sort_unstable();
    let added_at = |percent: f64| {
        let rank = (percent / 100.0 * added.len() as f64).ceil() as usize;
        let nanos = added.get(rank.saturating_sub(1))?;
        Some(*nanos as f64 / 1e3)
    };
    let time: u64 = runs.iter().map(|run| run.duration).sum();
    let mut below = BTreeMap::new();
    for client in clients(|client| !client.urgent) {
        *below.entry(client.priority).or_insert(0.0) += client.node_time as f64 / time as f64;
    }
    let transactions: u64 = runs.iter().map(|run| run.transactions).sum();
    Outcome {
        contender: contender.into(),
        plan: plan.map(|plan| plan.to_string()),
        latency: Percentiles::of(urgent.collect()),
        added_p50: added_at(50.0),
        added_p99: added_at(99.0),
        below,
        middle_p99: (!middle.is_empty()).then(|| Percentiles::of(middle).p99),
        transactions_per_second: transactions as f64 / (time as f64 / 1e9),
    }
}

/// What each urgent request of a run took beyond the same one alone.
fn pairs<'a>(run: &'a RunResult, alone: &'a RunResult) -> impl Iterator<Item = i64> + 'a {
    let urgent = run.clients.iter().filter(|client| client.urgent);
    urgent.zip(&alone.clients).flat_map(|(client, alone)| {
        let done = alone.requests.iter().filter(|request| request.done);
        let latencies: HashMap<u64, u64> = done.map(|one| (one.number, one.latency)).collect();
        let counted = client.requests.iter().filter(|request| request.counts());
        counted.filter_map(move |request| {
            let alone = *latencies.get(&request.number)?;
            Some(request.latency as i64 - alone as i64)
        })
    })
}

/// Whether the goals are met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// p50 and p99 are hardly more than those of who is told and has no foresight.
    pub latency: bool,
    /// Of what the reference leaves to lower clients, hardly less is left.
    pub best_effort: bool,
    /// The percentiles that are more than without a module: there should be none.
    pub worse: Vec<&'static str>,
}

impl Verdict {
    pub fn both(&self) -> bool {
        self.latency && self.best_effort
    }
}

/// All outcomes of one load on one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    pub load: String,
    pub node: String,
    pub alone: Outcome,
    pub none: Outcome,
    pub blind: Outcome,
    /// The reactive one: of the plans within the goal of latency, the one that leaves most.
    pub reference: Outcome,
    pub contenders: Vec<Outcome>,
}

impl Score {
    pub fn verdict(&self, own: &Outcome) -> Verdict {
        let (latency, none) = (&own.latency, &self.none.latency);
        let percentiles = [
            ("p50", latency.p50, none.p50),
            ("p99", latency.p99, none.p99),
            ("p99.9", latency.p999, none.p999),
        ];
        let worse = percentiles
            .iter()
            .filter(|(_, own, none)| *own > none * SAME);
        Verdict {
            latency: latency.is_within(limit, &self.blind.latency),
            best_effort: own.kept_of(&self.reference) >= KEPT,
            worse: worse.map(|(name, ..)| *name).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Outcome> {
        [&self.alone, &self.none, &self.blind, &self.reference]
            .into_iter()
            .chain(&self.contenders)
    }
}

/// In hindsight the best of the outcomes of some plans: of those within the goal of
/// latency, the one that leaves most to the lower clients.
fn best(outcomes: Vec<Outcome>, blind: &Outcome) -> Outcome {
    let (within, beyond): (Vec<_>, Vec<_>) = outcomes
        .into_iter()
        .partition(|one| one.latency.is_within(limit, &blind.latency));
    let most = within
        .into_iter()
        .max_by(|one, other| one.best_effort().total_cmp(&other.best_effort()));
    let least = |one: &Outcome, other: &Outcome| one.latency.p99.total_cmp(&other.latency.p99);
    most.or_else(|| beyond.into_iter().min_by(least))
        .expect("there is at least one plan")
}

/// Runs all that a verdict on these contenders needs.
pub fn score(gpu: &Gpu, workload: &Workload, contenders: &[Policy], effort: Effort) -> Score {
    let effort = effort.enough_for(workload);
    let run = |policy: &Policy| runs_by_plan(gpu, workload, policy, effort);
    let alone = run(&Policy::Alone).swap_remove(0).1;
    let of = |policy: &Policy| -> Vec<Outcome> {
        let reference = matches!(policy, Policy::Reference(_));
        let runs = run(policy).into_iter();
        runs.map(|(plan, runs)| outcome(policy.name(), reference.then_some(plan), &runs, &alone))
            .collect()
    };
    let one = |policy: &Policy| of(policy).swap_remove(0);
    let blind = one(&Policy::Reference(Foresight::Blind));
    let choose = |policy: &Policy| best(of(policy), &blind);
    Score {
        load: workload.name.clone(),
        node: gpu.name.clone(),
        alone: outcome("alone", None, &alone, &alone),
        none: one(&Policy::None),
        reference: choose(&Policy::Reference(Foresight::Reactive)),
        contenders: contenders.iter().map(choose).collect(),
        blind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Request;

    pub(super) fn outcome_of(p50: f64, p99: f64, below: &[(u8, f64)]) -> Outcome {
        Outcome {
            latency: Percentiles {
                p50,
                p99,
                p999: p99,
            },
            below: below.iter().copied().collect(),
            ..Outcome::default()
        }
    }

    pub(super) fn scored(blind: Outcome, reference: Outcome, none: Outcome) -> Score {
        Score {
            load: "A".into(),
            node: "node".into(),
            alone: Outcome::default(),
            none,
            blind,
            reference,
            contenders: Vec::new(),
        }
    }

    #[test]
    fn the_latency_goal_is_blind_and_a_look_and_a_hundredth_of_what_is_long() {
        let blind = outcome_of(1_000.0, 20_000.0, &[(0, 0.5)]);
        let none = outcome_of(1e6, 1e6, &[(0, 0.9)]);
        let score = scored(blind.clone(), blind, none);
        let met = |p50, p99| score.verdict(&outcome_of(p50, p99, &[(0, 0.5)])).latency;
        assert!(met(1_060.0, 20_260.0));
        assert!(!met(1_060.1, 20_260.0));
        assert!(!met(1_060.0, 20_260.1));
        assert!(met(0.0, 0.0));
    }

    #[test]
    fn best_effort_is_judged_as_a_whole_and_for_each_level_in_the_middle() {
        let reference = outcome_of(1.0, 1.0, &[(0, 0.5), (9, 0.2)]);
        let score = scored(reference.clone(), reference.clone(), reference);
        let met = |low, middle| {
            let own = outcome_of(1.0, 1.0, &[(0, low), (9, middle)]);
            score.verdict(&own).best_effort
        };
        assert!(met(0.5, 0.2));
        assert!(met(0.47, 0.2));
        assert!(!met(0.46, 0.2));
        // The middle one starves, though all together have as much.
        assert!(!met(0.6, 0.1));
        // The lowest has less, but all together have not.
        assert!(met(0.3, 0.4));
    }

    #[test]
    fn no_percentile_may_be_worse_than_without_a_module() {
        let none = outcome_of(100.0, 1_000.0, &[]);
        let score = scored(none.clone(), none.clone(), none.clone());
        let worse = |own: &Outcome| score.verdict(own).worse;
        assert!(worse(&none).is_empty());
        assert_eq!(worse(&outcome_of(101.0, 1_000.0, &[])), ["p50"]);
        assert_eq!(worse(&outcome_of(100.0, 1_010.0, &[])), ["p99", "p99.9"]);
        let mut tail = none.clone();
        tail.latency.p999 = 1_010.0;
        assert_eq!(worse(&tail), ["p99.9"]);
    }

    #[test]
    fn who_leaves_nothing_where_nothing_is_left_keeps_all_of_it() {
        let nothing = outcome_of(1.0, 1.0, &[]);
        assert_eq!(nothing.kept_of(&nothing), 1.0);
        let some = outcome_of(1.0, 1.0, &[(0, 0.5)]);
        assert_eq!(nothing.kept_of(&some), 0.0);
    }

    #[test]
    fn hindsight_takes_what_leaves_most_of_what_is_within_the_goal() {
        let blind = outcome_of(100.0, 1_000.0, &[(0, 0.4)]);
        let slow = outcome_of(100.0, 1_061.0, &[(0, 0.9)]);
        let fast = outcome_of(90.0, 900.0, &[(0, 0.1)]);
        let good = outcome_of(100.0, 1_050.0, &[(0, 0.5)]);
        let chosen = best(vec![slow.clone(), fast, good.clone()], &blind);
        assert_eq!(chosen, good);
        // If none is within, the fastest.
        let slower = outcome_of(100.0, 2_000.0, &[(0, 1.0)]);
        assert_eq!(best(vec![slower, slow.clone()], &blind), slow);
    }

    fn request(number: u64, latency: u64, done: bool) -> Request {
        Request {
            number,
            measured: number > 0,
            doorbell: 0,
            latency,
            done,
            alone: 10_000,
        }
    }

    fn run_of(requests: Vec<Request>) -> RunResult {
        RunResult {
            clients: vec![ClientResult {
                urgent: true,
                ruled: true,
                requests,
                ..ClientResult::default()
            }],
            duration: 1_000_000_000,
            ..RunResult::default()
        }
    }

    #[test]
    fn requests_are_paired_by_their_numbers_and_unfinished_ones_count_by_age() {
        let alone = run_of(vec![
            request(0, 10_000, true),
            request(1, 10_000, true),
            request(2, 20_000, true),
            request(3, 10_000, true),
            request(4, 10_000, true),
        ]);
        // In another order, one that is overdue, one that is not, one that has no
        // pair, and one of the warm-up.
        let run = run_of(vec![
            request(0, 70_000, true),
            request(2, 15_000, true),
            request(1, 40_000, true),
            request(3, 900_000, false),
            request(4, 9_000, false),
            request(9, 10_000, true),
        ]);
        let mut added: Vec<i64> = pairs(&run, &alone).collect();
        added.sort_unstable();
        assert_eq!(added, [-5_000, 30_000, 890_000]);
        let outcome = outcome("one", None, &[run], &[alone]);
        assert_eq!(
            (outcome.added_p50, outcome.added_p99),
            (Some(30.0), Some(890.0))
        );
        assert_eq!(outcome.latency.p50, 15.0);
        assert_eq!(outcome.latency.p99, 900.0);
    }
}
