// SPDX-License-Identifier: GPL-2.0-only
//! The same requests in the simulator: what the policy is judged by, held against the
//! stock driver on the virtual GPU.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use gpreempt_simulator::gpu::Nanos;
use gpreempt_simulator::loads;
use gpreempt_simulator::policies::Policy;
use gpreempt_simulator::simulation::RunResult;
use gpreempt_simulator::workload::Workload;

use crate::contender::{Contender, STRICT};
use crate::part::Part;
use crate::results::{Results, Simulated};
use crate::statistics::percentile;
use crate::suite::{self, WARM_UP};

/// Those that are simulated, too.
pub const CONTENDERS: [Contender; 4] = [
    Contender::Alone,
    Contender::Classes,
    STRICT,
    Contender::Direct,
];

/// Simulates what the results have of the loads, with the same seeds and for as long.
pub fn simulate(results: &mut Results, compute_units: u32) -> Result<()> {
    let mut simulated = Vec::new();
    for (load, contender) in suite::names().flat_map(|load| CONTENDERS.map(|one| (load, one))) {
        let runs: BTreeSet<(u64, Nanos)> = results
            .of(Part::Loads.name(), load, contender.name())
            .map(|(seed, run)| (seed, run.duration_ns))
            .collect();
        simulated.extend(of(load, contender, compute_units, &runs)?);
    }
    results.simulated = simulated;
    Ok(())
}

/// Nothing without runs.
fn of(
    load: &str,
    contender: Contender,
    compute_units: u32,
    runs: &BTreeSet<(u64, Nanos)>,
) -> Result<Option<Simulated>> {
    let workload = loads::by_name(load).with_context(|| format!("there is no load {load}"))?;
    let node = suite::node(compute_units);
    let workload = suite::as_launched(&workload, &node);
    let (node, policy) = match contender {
        Contender::Direct => (node.direct(), "strict"),
        _ => (node, contender.name()),
    };
    let policy = Policy::by_name(policy, &[])?;
    let runs: Vec<RunResult> = runs
        .iter()
        .map(|&(seed, duration)| policy.run(&node, &workload, seed, WARM_UP, duration))
        .collect();
    let latencies: Vec<Vec<Nanos>> = runs.iter().map(|run| latencies(run, &workload)).collect();
    let at = |permille| percentile(&latencies, permille, |time| time as f64);
    let (Some(p50), Some(p99)) = (at(500), at(990)) else {
        return Ok(None);
    };
    Ok(Some(Simulated {
        load: load.into(),
        contender: contender.name().into(),
        p50_ns: p50.value as u64,
        p99_ns: p99.value as u64,
        transaction_ns: transaction(&runs),
    }))
}

/// Those of the urgent requests, with their preparation: the simulator counts from the
/// doorbell on.
fn latencies(run: &RunResult, workload: &Workload) -> Vec<Nanos> {
    let preparation = |name: &str| {
        let client = workload.clients.iter().find(|client| client.name == name);
        client.map_or(0, |client| client.preparation)
    };
    run.clients
        .iter()
        .filter(|client| client.urgent)
        .flat_map(|client| {
            let more = preparation(&client.name);
            client.counted().map(move |latency| latency + more)
        })
        .collect()
}

fn transaction(runs: &[RunResult]) -> Option<u64> {
    let sum = |of: fn(&RunResult) -> u64| runs.iter().map(of).sum::<u64>();
    let time = sum(|run| {
        let cost = &run.split.cost;
        cost.command + cost.save + cost.fence + cost.registers + cost.map
    });
    time.checked_div(sum(|run| run.split.transactions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_simulated_with_its_seeds() {
        let runs = BTreeSet::from([(1, 200_000_000)]);
        let alone = of("A", Contender::Alone, 40, &runs).unwrap().unwrap();
        let direct = of("A", Contender::Direct, 40, &runs).unwrap().unwrap();
        assert!(alone.p50_ns > 4_000_000, "{alone:?}");
        assert!(alone.transaction_ns.is_none(), "{alone:?}");
        assert!(direct.p99_ns > alone.p99_ns, "{direct:?}");
        assert!(direct.transaction_ns.is_some(), "{direct:?}");
        let other = BTreeSet::from([(2, 200_000_000)]);
        assert_ne!(
            of("A", Contender::Classes, 40, &runs).unwrap(),
            of("A", Contender::Classes, 40, &other).unwrap()
        );
    }
}
