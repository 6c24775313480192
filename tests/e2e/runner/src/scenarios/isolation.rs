// SPDX-License-Identifier: GPL-2.0-only
//! Process isolation (`enforce_isolation`): the run list has one process at a time, and
//! while the kernel's own rings run, none.

use std::collections::BTreeSet;

use anyhow::{ensure, Result};
use serde_json::json;

use super::contention::{accounts, armed, Contention};
use super::preemption::{gets_through, PATIENCE, UNBOUNDED};
use super::probe::rings;
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

/// What drivers have that can be told so while they run.
const ISOLATION: &[&str] = &["amdgpu_gfx_set_enforce_isolation"];

const NEEDS: Needs = Needs {
    driver: ISOLATION,
    ..Needs::ANY
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "tenants are preempted under process isolation",
        needs: NEEDS,
        run: tenants,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the kernel's rings halt KFD under process isolation",
        // The test goes through the rings of each die, a quarter of a second for each.
        needs: Needs {
            one_die: true,
            ..NEEDS
        },
        run: halted,
    },
];

const FILE: &str = "/sys/bus/pci/devices/0000:01:00.0/enforce_isolation";

/// Does something with isolation on, which the driver wants to be told for each partition.
fn isolated(guest: &mut Guest, run: impl FnOnce(&mut Guest) -> Result<()>) -> Result<()> {
    let set = |guest: &mut Guest, value: &str| {
        let all = vec![value; guest.shape.nodes() as usize];
        guest.agent().write_file(FILE, &all.join(" "))
    };
    set(guest, "1")?;
    run(guest)?;
    set(guest, "0")
}

/// What the driver says when it cannot put KFD's queues back, which is while the test of
/// the rings keeps resets away. It does so at the end of the next halt.
const LATER: &str = "Error in starting scheduler";

/// Has the kernel use its rings, for which KFD is halted: once for each, for a time slice.
fn use_rings(guest: &mut Guest) -> Result<()> {
    rings(guest)?;
    guest.agent().shell("sleep 1").map(drop)
}

/// How many processes have queues mapped.
fn mapped(guest: &mut Guest) -> Result<usize> {
    let queues = guest.device.mapped()?;
    let processes: BTreeSet<_> = queues.iter().map(|queue| queue.queue.pasid).collect();
    Ok(processes.len())
}

fn tenants(guest: &mut Guest) -> Result<()> {
    isolated(guest, |guest| {
        let names = ["one", "two", "three"];
        let more = |name| json!({"group": name, "requests": 1_000_000});
        let queues = names.map(|name| queue(name, 32, 100_000, more(name)));
        let load = Load::start(guest, json!({"queues": queues}))?;
        let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
        for name in names {
            for _ in 0..3 {
                let processes = mapped(guest)?;
                ensure!(processes <= 1, "{processes} processes are mapped");
            }
            let before = load.completed(guest, name)?;
            guest.wait_until("each has its turn", PATIENCE, |guest| {
                Ok(load.completed(guest, name)? > before)
            })?;
        }
        load.stop(guest)?;
        load.finish(guest)?;
        gets_through(guest)?;
        ensure!(Table::Stats.sum(guest, "stops")? > 0);
        armed(guest)?;
        module.unload(guest)?;
        accounts(guest)
    })
}

fn halted(guest: &mut Guest) -> Result<()> {
    isolated(guest, |guest| {
        guest.expect_log(LATER);
        let contention = Contention::start(guest, "", json!({}))?;
        for _ in 0..3 {
            let before = contention.load.completed(guest, "urgent")?;
            guest.wait_until("the urgent queue goes on", PATIENCE, |guest| {
                use_rings(guest)?;
                Ok(contention.load.completed(guest, "urgent")? > before)
            })?;
        }
        // What is stopped is started at the end of the halt that lasts then.
        use_rings(guest)?;
        end(guest, contention)
    })
}

/// Ends what runs still, and checks what must hold. That the GPU has all queues mapped is
/// not to be expected.
fn end(guest: &mut Guest, contention: Contention) -> Result<()> {
    let Contention { module, load } = contention;
    armed(guest)?;
    module.unload(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    accounts(guest)
}
