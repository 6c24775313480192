// SPDX-License-Identifier: GPL-2.0-only
//! Step 1: reading only. The module looks at queues that work, and sends nothing.

use std::time::Instant;

use anyhow::{ensure, Result};
use serde_json::json;

use super::{in_words, set_defaults, Extent, Found};
use crate::load::{a_few, heavy, urgent, Load, HEAVY, REGISTERS, URGENT};
use crate::module::{is_queue, Parts};
use crate::session::Session;

const REQUESTS: usize = 5;
/// So many looks are enough for a mean.
const PASSES: u64 = 200;

pub fn run(session: &mut Session, _: &Extent, found: &mut Found) -> Result<()> {
    let dilation = session.machine.dilation;
    session.module.set("mode", "observe")?;
    set_defaults(&session.module, dilation)?;
    let before = session.stats()?;
    pointers(session, found)?;
    let costs = looks(session, found)?;
    let decided = decisions(session)?;
    let after = session.stats()?;
    for (name, old, new) in [
        ("transactions", before.transactions, after.transactions),
        ("stops", before.stops, after.stops),
        ("starts", before.starts, after.starts),
        ("healed", before.healed, after.healed),
    ] {
        ensure!(
            old == new,
            "in the mode observe the counter {name} has gone from {old} to {new}"
        );
    }
    found.line(format!(
        "{decided} decisions, none carried out, and nothing sent"
    ));
    found.data = json!({ "costs": costs, "decisions": decided });
    Ok(())
}

/// The pointers of a queue that the module shows are those that its own process reads.
fn pointers(session: &mut Session, found: &mut Found) -> Result<()> {
    const QUEUE: &str = "few";
    let spec = session.machine.run(vec![a_few(REQUESTS)]);
    let load = session.start(&spec)?;
    let identity = load.identity(QUEUE)?.clone();
    let gpu_id = session.gpu.gpu_id;
    session.wait_until(
        "the module shows the pointers of a queue that its process reads",
        |session| {
            let own = load.indices(QUEUE)?;
            let shown = session.module.queues(gpu_id)?;
            let row = shown
                .iter()
                .find(|row| is_queue(row, identity.pid, identity.queue_id));
            // All requests are read by then, each of one packet or more.
            let all = own.0 == own.1 && own.1 >= REQUESTS as u64;
            Ok(all && row.is_some_and(|row| (row.rptr, row.wptr) == (Some(own.0), Some(own.1))))
        },
    )?;
    load.stop()?;
    session.finish(load)?;
    found.line("the pointers that the module shows are those of the queues".into());
    Ok(())
}

/// What a look and a pass cost with a queue under load, by either way of looking.
fn looks(session: &mut Session, found: &mut Found) -> Result<serde_json::Value> {
    let dilation = session.machine.dilation;
    let load = both(session, false)?;
    let mut costs = serde_json::Map::new();
    for sampler in ["memory", "mmio", "auto"] {
        session.module.set("sampler", sampler)?;
        let begin = session.stats()?;
        let (before, clock) = (session.module.latency(&begin)?, Instant::now());
        let thread = session.host.thread_time(&begin.gpu, begin.node);
        session.wait_until("the module has looked at the queues", |session| {
            Ok(session.stats()?.passes >= begin.passes + PASSES)
        })?;
        let took = Parts::between(&before, &session.module.latency(&begin)?);
        let elapsed = clock.elapsed().as_nanos() as f64;
        let thread = session
            .host
            .thread_time(&begin.gpu, begin.node)
            .zip(thread)
            .map(|(after, before)| 100.0 * after.saturating_sub(before) as f64 / elapsed);
        found.line(format!(
            "sampler={sampler}: a look takes {}, {} of a processor",
            in_words(&took.look, dilation),
            thread.map_or("an unknown part".into(), |share| format!("{share:.1} %"))
        ));
        costs.insert(
            sampler.into(),
            json!({"look": took.look, "pass": took.pass, "processor_percent": thread}),
        );
    }
    load.stop()?;
    session.finish(load)?;
    Ok(costs.into())
}

/// A heavy queue, and an urgent one above it.
fn both(session: &mut Session, with_urgent: bool) -> Result<Load> {
    const HEAVY_NS: u64 = 4_000_000;
    const PERIOD_NS: u64 = 20_000_000;
    let units = session.gpu.units;
    let mut queues = vec![heavy(units, REGISTERS, HEAVY_NS)];
    if with_urgent {
        queues.push(urgent(units, PERIOD_NS, HEAVY_NS));
    }
    let spec = session.machine.run(queues);
    session.start(&spec)
}

/// With an inversion the module decides, and touches nothing.
fn decisions(session: &mut Session) -> Result<u64> {
    const ENOUGH: u64 = 3;
    let before = session.stats()?.observed;
    let load = both(session, true)?;
    let gpu_id = session.gpu.gpu_id;
    let pids = [load.identity(HEAVY)?.pid, load.identity(URGENT)?.pid].map(i64::from);
    session.wait_until("the module has decided about an inversion", |session| {
        let shown = session.module.queues(gpu_id)?;
        let own = shown.iter().filter(|row| pids.contains(&row.pid));
        for row in own.filter(|row| row.contends) {
            ensure!(
                row.active,
                "queue {} of the self test is off the GPU in the mode observe",
                row.queue
            );
        }
        Ok(session.stats()?.observed >= before + ENOUGH)
    })?;
    load.stop()?;
    session.finish(load)?;
    Ok(session.stats()?.observed - before)
}
