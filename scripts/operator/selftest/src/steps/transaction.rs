// SPDX-License-Identifier: GPL-2.0-only
//! Step 2: the driver's own call on idle queues, and then one preemption of the module's
//! with as little state as there can be.

use std::time::Instant;

use anyhow::{ensure, Result};
use serde_json::json;

use super::{in_words, micros, Extent, Found};
use crate::load::{holder, idle, waiter};
use crate::module::Parts;
use crate::session::Session;

const IDLE: &str = "idle";
const OTHER: &str = "idle too";
/// A queue is taken off and put back so often by the driver's own call.
const CALLS: u64 = 20;

pub fn run(session: &mut Session, _: &Extent, found: &mut Found) -> Result<()> {
    let calls_ns = driver_s_own(session, found)?;
    let parts = one(session, found)?;
    found.data = json!({ "driver_off_and_on_ns": calls_ns, "parts": parts });
    Ok(())
}

/// No work, and no module: the mode is still observe.
fn driver_s_own(session: &mut Session, found: &mut Found) -> Result<u64> {
    let spec = session.machine.run(vec![idle(IDLE), idle(OTHER)]);
    let load = session.start(&spec)?;
    let begin = Instant::now();
    for _ in 0..CALLS {
        load.off_and_on(IDLE)?;
    }
    let each = begin.elapsed().as_nanos() as u64 / CALLS;
    session.check()?;
    load.stop()?;
    session.finish(load)?;
    found.line(format!(
        "the driver takes an idle queue off and puts it back in {} at most",
        micros(each, session.machine.dilation)
    ));
    Ok(each)
}

/// One kernel holds every unit, one waits for a unit, and idle queues are there.
fn one(session: &mut Session, found: &mut Found) -> Result<serde_json::Value> {
    const HOLD_NS: u64 = 50_000_000;
    const WAIT_NS: u64 = 10_000_000;
    let dilation = session.machine.dilation;
    session.module.set("mode", "enforce")?;
    let before = session.stats()?;
    let times = session.module.latency(&before)?;
    let spec = session
        .machine
        .run(vec![holder(session.gpu.units, HOLD_NS), waiter(WAIT_NS)]);
    let load = session.start(&spec)?;
    session.finish(load)?;
    session.module.set("mode", "observe")?;
    let after = session.stats()?;
    let parts = Parts::between(&times, &session.module.latency(&after)?);
    let (stops, starts) = (after.stops - before.stops, after.starts - before.starts);
    ensure!(
        stops > 0,
        "no queue was stopped although an urgent one found every unit taken"
    );
    ensure!(
        stops == starts,
        "{stops} queues were stopped and {starts} started"
    );
    let transactions = after.transactions - before.transactions;
    found.line(format!(
        "{stops} stops in {transactions} transactions, and no workgroup lost or repeated"
    ));
    found.line(format!(
        "queues off the GPU: {}",
        in_words(&parts.unmap, dilation)
    ));
    found.line(format!(
        "queues back on it: {}",
        in_words(&parts.map, dilation)
    ));
    Ok(json!({ "stops": stops, "transactions": transactions, "times": parts }))
}
