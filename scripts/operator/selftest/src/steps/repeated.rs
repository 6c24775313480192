// SPDX-License-Identifier: GPL-2.0-only
//! Step 3: a load of its own is stopped and started again and again, with states of
//! several sizes. Each workgroup must run exactly once.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

use super::{free_rule, in_words, Extent, Found};
use crate::load::{heavy, state_bytes, urgent, Load, HEAVY, HIGHEST, LOWEST, REGISTERS, URGENT};
use crate::module::Parts;
use crate::session::Session;

const HEAVY_NS: u64 = 4_000_000;
const PERIOD_NS: u64 = 20_000_000;
const SIZES: [u32; 3] = [8, 24, REGISTERS];

pub fn run(session: &mut Session, extent: &Extent, found: &mut Found) -> Result<()> {
    session.module.set("mode", "enforce")?;
    let mut all = Vec::new();
    for registers in SIZES {
        all.push(with_state(session, extent.cycles, registers, found)?);
    }
    session.module.set("mode", "observe")?;
    found.data = all.into();
    Ok(())
}

fn with_state(
    session: &mut Session,
    cycles: u64,
    registers: u32,
    found: &mut Found,
) -> Result<Value> {
    let (units, dilation) = (session.gpu.units, session.machine.dilation);
    let spec = session.machine.run(vec![
        heavy(units, registers, HEAVY_NS),
        urgent(units, PERIOD_NS, HEAVY_NS),
    ]);
    // Before anything of the load can be stopped: each stop has its start after it.
    let before = session.stats()?;
    let times = session.module.latency(&before)?;
    let load = session.start(&spec)?;
    let rule = make_urgent(session, &load)?;
    session.wait_until("the load was stopped as often as it should be", |session| {
        Ok(session.stats()?.stops >= before.stops + cycles)
    })?;
    load.stop()?;
    let report = session.finish(load)?;
    session.module.delete_rule(rule)?;
    let after = session.stats()?;
    let parts = Parts::between(&times, &session.module.latency(&after)?);
    let (stops, starts) = (after.stops - before.stops, after.starts - before.starts);
    ensure!(
        stops == starts,
        "{stops} queues were stopped and {starts} started"
    );
    let workgroups: u64 = report
        .queues
        .iter()
        .map(|queue| queue.workgroups.executed)
        .sum();
    let bytes = state_bytes(units, registers);
    found.line(format!(
        "{:.1} MiB of state, {stops} stops: off {}, back {}; {workgroups} workgroups, each once",
        bytes as f64 / f64::from(1 << 20),
        in_words(&parts.unmap, dilation),
        in_words(&parts.map, dilation),
    ));
    let latency = report
        .queues
        .iter()
        .find(|queue| queue.identity.name == URGENT)
        .and_then(|queue| queue.latency_gpu_ns);
    Ok(json!({
        "state_bytes": bytes, "stops": stops, "workgroups": workgroups,
        "transactions": after.transactions - before.transactions,
        "times": parts, "urgent_latency_gpu_ns": latency,
    }))
}

/// A rule for the urgent process, without which a budget would end its stops. Returns the
/// rule's number once it is in force.
fn make_urgent(session: &mut Session, load: &Load) -> Result<u32> {
    let (pid, low) = (load.identity(URGENT)?.pid, load.identity(HEAVY)?.pid);
    let number = free_rule(&session.module)?;
    session
        .module
        .add_rule(&format!("{number} pid={pid} prio={HIGHEST}"))?;
    let gpu_id = session.gpu.gpu_id;
    let mut levels = None;
    let seen = session.wait_until("the self test's queues have their priorities", |session| {
        let rows = session.module.queues(gpu_id)?;
        let level = |pid: u32| {
            let row = rows
                .iter()
                .find(|row| row.pid == i64::from(pid) && row.contends && !row.internal);
            row.map(|row| row.eff_prio)
        };
        levels = level(low).zip(level(pid));
        Ok(levels == Some((LOWEST.into(), HIGHEST.into())))
    });
    seen.with_context(|| {
        format!(
            "the priorities are {levels:?}: does a rule of yours name the self test's processes?"
        )
    })?;
    Ok(number)
}
