// SPDX-License-Identifier: GPL-2.0-only
//! A heavy queue that the module has stopped for an urgent one: what the
//! scenarios begin with that disturb it, and what must hold at their end.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

use super::preemption::{endless, PATIENCE, UNBOUNDED};
use crate::guest::Guest;
use crate::load::{extend, queue, Load};
use crate::module::{Module, Table};
pub(super) use crate::run_list::accounts;

pub(super) struct Contention {
    pub module: Module,
    pub load: Load,
}

impl Contention {
    /// Starts both loads, and returns when the heavy queue is stopped. `more`
    /// is said of the heavy queue.
    pub fn start(guest: &mut Guest, parameters: &str, more: Value) -> Result<Contention> {
        let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {parameters}"))?;
        let load = start_load(guest, 0, more)?;
        let contention = Contention { module, load };
        contention.wait_until_stopped_again(guest, 0)?;
        Ok(contention)
    }

    /// The module's account of the heavy queue, while it exists.
    pub fn heavy(&self, guest: &mut Guest) -> Result<Option<Value>> {
        heavy(guest, &self.load)
    }

    /// How often the heavy queue was stopped. A new queue begins at 0.
    pub fn stops(&self, guest: &mut Guest) -> Result<u64> {
        let row = self.heavy(guest)?.context("the heavy queue is gone")?;
        row["stops"].as_u64().context("no number of stops")
    }

    /// Waits until the heavy queue has been stopped more often than before, and
    /// is off the hardware.
    pub fn wait_until_stopped_again(&self, guest: &mut Guest, before: u64) -> Result<()> {
        wait_until_stopped(guest, &self.load, before)
    }

    /// Does something to the heavy queue from within its process.
    pub fn control(&self, guest: &mut Guest, arguments: &[&str]) -> Result<Value> {
        self.load.control(guest, "heavy", arguments)
    }

    /// Does something, upon which the driver has the heavy queue run of its own
    /// accord, and the module finds that and stops it again.
    pub fn disturb(
        &self,
        guest: &mut Guest,
        what: impl FnOnce(&mut Guest) -> Result<()>,
    ) -> Result<()> {
        let before = self.stops(guest)?;
        what(guest)?;
        self.wait_until_stopped_again(guest, before)
    }

    /// Ends what runs still, and checks what must hold after every disturbance:
    /// the module is armed and nothing has failed, KFD's counters are right, all
    /// queues are mapped once the module is gone, and each workgroup ran once.
    pub fn finish(self, guest: &mut Guest) -> Result<()> {
        let Contention { module, load } = self;
        armed(guest)?;
        module.unload(guest)?;
        accounts(guest)?;
        load.stop(guest)?;
        load.finish(guest).map(|_| ())
    }

    /// For loads that the disturbance has ended: the module is armed, and stops
    /// the next heavy queue for an urgent one.
    pub fn start_over(self, guest: &mut Guest) -> Result<()> {
        ready_again(guest)?;
        self.module.unload(guest)
    }
}

/// Both loads, on one of the guest's GPUs.
pub(super) fn start_load(guest: &mut Guest, gpu: u32, more: Value) -> Result<Load> {
    let queues = json!([heavy_queue(guest, more), endless(guest)]);
    // No request is given up while others of several loads begin.
    let timeout = PATIENCE.as_millis() as u64;
    let load = json!({"queues": queues, "gpu": gpu, "request_timeout_ms": timeout});
    Load::start(guest, load)
}

/// A queue of the lowest priority whose requests fill the GPU several times.
pub(super) fn heavy_queue(guest: &Guest, more: Value) -> Value {
    let mut heavy = json!({"group": "heavy", "priority": 0, "requests": 1_000_000});
    extend(&mut heavy, &more);
    queue("heavy", heavy_grid(guest), 20_000_000, heavy)
}

/// Workgroups of each of the heavy queue's requests, which no other queue's have.
pub(super) fn heavy_grid(guest: &Guest) -> u32 {
    3 * guest.shape.full()
}

/// The module's account of the heavy queue of a load, while it exists.
pub(super) fn heavy(guest: &mut Guest, load: &Load) -> Result<Option<Value>> {
    // ROCr's internal queue is of this level. The urgent queue may be one of the
    // same process, and it may have ended.
    const INTERNAL: u32 = 7;
    let pid = load.identity("heavy")?.pid;
    let urgent = load
        .identity("urgent")
        .ok()
        .map(|urgent| (urgent.pid, urgent.queue_id));
    let rows = Table::Queues.read(guest)?;
    Ok(rows.into_iter().find(|row| {
        row["pid"] == pid
            && row["prio"] != INTERNAL
            && !urgent.is_some_and(|urgent| urgent.0 == pid && row["queue"] == urgent.1)
    }))
}

/// Waits until a load's heavy queue has been stopped more often than `before`.
pub(super) fn wait_until_stopped(guest: &mut Guest, load: &Load, before: u64) -> Result<()> {
    guest.wait_until("the heavy queue is stopped", PATIENCE, |guest| {
        let row = heavy(guest, load)?;
        Ok(row.is_some_and(|row| {
            row["active"] == false
                && row["state"] == "stopped"
                && row["stops"].as_u64() > Some(before)
        }))
    })
}

/// Waits until the urgent queue of a load has completed more requests than by now.
pub(super) fn urgent_goes_on(guest: &mut Guest, load: &Load) -> Result<()> {
    let before = load.completed(guest, "urgent")?;
    urgent_goes_beyond(guest, load, before)
}

/// The same, more than it had completed before.
pub(super) fn urgent_goes_beyond(guest: &mut Guest, load: &Load, before: u64) -> Result<()> {
    guest.wait_until("the urgent queue goes on", PATIENCE, |guest| {
        Ok(load.completed(guest, "urgent")? > before)
    })
}

/// Checks that every node is armed and nothing has failed so far.
pub(super) fn armed(guest: &mut Guest) -> Result<()> {
    for node in Table::Stats.read(guest)? {
        ensure!(node["state"] == "armed" && node["failures"] == 0, "{node}");
    }
    Ok(())
}

/// Waits until the module is armed again, and checks that it still does its work.
pub(super) fn ready_again(guest: &mut Guest) -> Result<()> {
    guest.wait_until("the module is armed", PATIENCE, |guest| {
        let nodes = Table::Stats.read(guest)?;
        Ok(!nodes.is_empty() && nodes.iter().all(|node| node["state"] == "armed"))
    })?;
    let load = start_load(guest, 0, json!({}))?;
    wait_until_stopped(guest, &load, 0)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}
