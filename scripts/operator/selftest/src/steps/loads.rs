// SPDX-License-Identifier: GPL-2.0-only
//! Step 4: the benchmark's loads, in short, with and without the module.

use anyhow::{ensure, Context, Result};
use gpreempt_bench::contender::{Contender, STRICT};
use gpreempt_bench::measure::{only, urgent_clients};
use gpreempt_bench::measurement::{account, Measurement};
use gpreempt_bench::suite;
use gpreempt_simulator::workload::Workload;
use gpu_workload::report::QueueIdentity;
use gpu_workload::spec::RunSpec;
use serde_json::json;

use super::{free_rule, set_defaults, Extent, Found};
use crate::load::Machine;
use crate::session::Session;

/// Who schedules, the one that is compared with first.
const CONTENDERS: [Contender; 6] = [
    Contender::Alone,
    Contender::Nobody,
    Contender::Classes,
    Contender::Claimed,
    STRICT,
    Contender::Direct,
];
/// The backend that a contender with a transaction of its own needs.
const HARDWARE_SCHEDULER: &str = "hws";

pub fn run(session: &mut Session, extent: &Extent, found: &mut Found) -> Result<()> {
    let mut names: Vec<&str> = extent.loads.iter().map(String::as_str).collect();
    if names.is_empty() {
        names = Workload::names().to_vec();
    }
    let direct = session.stats()?.backend == HARDWARE_SCHEDULER;
    let mut runs = Vec::new();
    for name in names {
        let workload = Workload::by_name(name).context("a name that was checked")?;
        let spec = spec(&workload, extent, session.gpu.units, session.machine);
        let mut alone = None;
        for contender in CONTENDERS {
            if contender == Contender::Direct && !direct {
                continue;
            }
            let measured = one(session, &spec, contender)?;
            let latency = measured
                .latency()
                .context("no urgent request was answered")?;
            alone = alone.or(Some(latency.p99));
            let over = latency.p99 as f64 / alone.unwrap_or(latency.p99).max(1) as f64;
            let line = format!(
                "{name} {}: p99 {:.2} ms, {over:.2} of alone, of {} requests; {:.0} requests/s in all",
                contender.name(),
                latency.p99 as f64 / 1e6,
                latency.count,
                measured.throughput()
            );
            runs.push(json!({
                "load": name, "contender": contender.name(), "latency": latency,
                "over_alone": over, "rates": measured.rates, "executed": measured.executed,
            }));
            found.data = runs.clone().into();
            found.line(line);
        }
    }
    Ok(())
}

/// A load as this GPU runs it, for long enough.
fn spec(workload: &Workload, extent: &Extent, units: u32, machine: Machine) -> RunSpec {
    let share = extent.requests as f64 / Workload::LEAST_REQUESTS;
    let enough = (workload.long_enough() as f64 * share) as u64;
    let duration = enough.max(extent.millis * 1_000_000);
    let load = suite::spec(workload, &suite::node(units), duration, 1);
    machine.run(load.queues)
}

fn one(session: &mut Session, spec: &RunSpec, contender: Contender) -> Result<Measurement> {
    let module = session.module.clone();
    set_defaults(&module, session.machine.dilation)?;
    if contender == Contender::Direct {
        module.set("transaction", "direct")?;
    }
    let acts = contender.is_module();
    module.set("mode", if acts { "enforce" } else { "off" })?;
    let run = only(spec, contender);
    let load = match acts {
        true => session.start(&run)?,
        false => session.start_unseen(&run)?,
    };
    let rules = match contender.by_rule() {
        true => add_rules(session, &load.queues, spec)?,
        false => Vec::new(),
    };
    let before = session.stats()?;
    let lasts = run
        .queues
        .iter()
        .filter_map(|queue| queue.duration_ns)
        .max();
    session.patience += run.guest(lasts.unwrap_or(0));
    let report = session.finish(load)?;
    session.patience -= run.guest(lasts.unwrap_or(0));
    for rule in rules {
        module.delete_rule(rule)?;
    }
    module.set("mode", "observe")?;
    let after = session.stats()?;
    ensure!(
        acts || after.transactions == before.transactions,
        "in the mode off the module has sent something"
    );
    Ok(account(&report, &urgent_clients(spec)))
}

/// A rule for each process with an urgent queue; returns their numbers.
fn add_rules(session: &mut Session, queues: &[QueueIdentity], spec: &RunSpec) -> Result<Vec<u32>> {
    let clients = urgent_clients(spec);
    let mut numbers = Vec::new();
    for queue in queues.iter().filter(|queue| clients.contains(&queue.name)) {
        let number = free_rule(&session.module)?;
        let text = format!("{number} pid={} prio={}", queue.pid, queue.priority);
        session.module.add_rule(&text)?;
        numbers.push(number);
    }
    Ok(numbers)
}
