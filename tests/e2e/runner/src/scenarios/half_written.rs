// SPDX-License-Identifier: GPL-2.0-only
//! Packets that are not written yet when firmware maps their queue: it may read one in
//! halves, while it is written, and execute what comes of it.
//!
//! The loads write the same packets in each round of the ring, so that they notice nothing
//! of what the GPU counts.

use anyhow::{ensure, Result};
use serde_json::{json, Value};
use vgpu_model::Faults;

use super::contention::armed;
use super::direct::DIRECT;
use super::preemption::{gets_through, heavy, PATIENCE, UNBOUNDED};
use crate::guest::Guest;
use crate::load::{queue, run, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "a packet that is half written when KFD maps its queue is executed so",
        needs: Needs::ONCE,
        run: by_kfd_alone,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a transaction waits for packets that are being written",
        needs: Needs::ANY,
        run: |guest| waits(guest, ""),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a transaction waits for packets that are being written with transaction=direct",
        needs: Needs {
            driver: DIRECT,
            ..Needs::ANY
        },
        run: |guest| waits(guest, "transaction=direct"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "who never writes a packet holds up nobody",
        needs: Needs::ONCE,
        run: never_written,
    },
];

/// Dispatches of a request, of which several fill the ring exactly.
const DISPATCHES: u32 = 16;
const RING: u32 = 128;
/// For how long a request's packets are not all written, by the GPU's clock. In the middle of
/// this time the first ones are, so that the module has a reason to stop others while the last
/// ones are not. It waits for as long as four transactions take, on whichever clock, and for a
/// sixteenth of all time, which the pauses between requests leave room for.
const UNWRITTEN_GPU_NS: u64 = 200_000;
const THINK_GPU_NS: u64 = 4_000_000;

/// Requests whose packets are written some time after their places were taken, as those of
/// a graph in HIP.
fn graphs(priority: u32, unwritten_guest_ns: u64) -> Value {
    queue(
        "graphs",
        1,
        10_000,
        json!({"group": "graphs", "priority": priority, "requests": 1_000_000,
            "arrival": {"closed_loop": {"think_ns": THINK_GPU_NS}},
            "ring_packets": RING, "dispatches_per_request": DISPATCHES,
            "unwritten_guest_ns": unwritten_guest_ns}),
    )
}

/// Waits until so many more requests are complete.
fn wait_for(guest: &mut Guest, load: &Load, requests: u64) -> Result<()> {
    let before = load.completed(guest, "graphs")?;
    guest.wait_until("requests complete", PATIENCE, |guest| {
        Ok(load.completed(guest, "graphs")? >= before + requests)
    })
}

/// From now on the GPU reads packets in halves, of which the ring has the second one of an
/// equal packet in each place. Returns how often that has made a difference.
fn read_in_halves(guest: &mut Guest, load: &Load) -> Result<u64> {
    wait_for(guest, load, u64::from(2 * RING / DISPATCHES))?;
    guest.device.set_faults(Faults {
        packets_in_halves: true,
        ..Faults::default()
    })?;
    Ok(guest.device.state()?.struck)
}

fn by_kfd_alone(guest: &mut Guest) -> Result<()> {
    let load = Load::start(guest, json!({"queues": [graphs(15, 5_000_000)]}))?;
    let before = read_in_halves(guest, &load)?;
    guest.wait_until("one is read in halves", PATIENCE, |guest| {
        // Each queue that is created or destroyed has all others mapped anew.
        let other = queue("other", 1, 10_000, json!({"requests": 1}));
        run(guest, json!({"queues": [other]}))?;
        Ok(guest.device.state()?.struck > before)
    })?;
    guest.device.set_faults(Faults::default())?;
    load.stop(guest)?;
    load.finish(guest).map(drop)
}

/// The queue that is urgent has most of its packets written when the heavy one is started
/// for it, or stopped.
fn waits(guest: &mut Guest, parameters: &str) -> Result<()> {
    const TRANSACTIONS: u64 = 60;
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {parameters}"))?;
    let late = u64::from(guest.image.clock.dilation()) * UNWRITTEN_GPU_NS;
    let queues = json!([heavy(guest, 1_000_000), graphs(15, late)]);
    let load = Load::start(guest, json!({"queues": queues}))?;
    read_in_halves(guest, &load)?;
    let before = Table::Stats.sum(guest, "transactions")?;
    guest.wait_until("transactions wait and are sent", PATIENCE, |guest| {
        let waited = Table::Stats.sum(guest, "waited_for")?;
        let sent = Table::Stats.sum(guest, "transactions")? - before;
        Ok(waited > 0 && sent > TRANSACTIONS)
    })?;
    guest.device.set_faults(Faults::default())?;
    armed(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

fn never_written(guest: &mut Guest) -> Result<()> {
    const NEVER: u64 = 1_000_000_000_000;
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, json!({"queues": [graphs(0, NEVER)]}))?;
    gets_through(guest)?;
    gets_through(guest)?;
    let unwritten = Table::Stats.sum(guest, "unwritten")?;
    ensure!(unwritten > 0, "no packet was found unwritten");
    armed(guest)?;
    load.kill(guest)?;
    module.unload(guest)
}
