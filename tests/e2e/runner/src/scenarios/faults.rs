// SPDX-License-Identifier: GPL-2.0-only
//! Faults on demand, while a guest runs: what the stock driver makes of each, and
//! that the other queues go on.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use serde_json::json;
use vgpu_model::{Faults, Fence, HiqAction};

use super::save::Victim;
use crate::guest::Guest;
use crate::load::{self, queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "a fence that comes late is waited for",
        needs: Needs::ANY,
        run: late,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "waves that never end are saved and restored",
        needs: Needs::ANY,
        run: endless,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "lost interrupts delay work and lose none",
        needs: Needs::ANY,
        run: interrupts,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "spoiled waves stop their queue and no other",
        needs: Needs::ANY,
        run: spoiled,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a queue that does not yield is reset and no other",
        needs: Needs::ANY,
        run: unyielding,
    },
];

const PATIENCE: Duration = Duration::from_secs(300);

/// A queue of another process that must go on whatever happens to the victim.
pub(super) fn bystander(guest: &mut Guest) -> Result<Load> {
    let more = json!({"requests": 1_000_000});
    Load::start(guest, json!({"queues": [queue("other", 1, 50_000, more)]}))
}

pub(super) fn goes_on(guest: &mut Guest, load: &Load, queue: &str) -> Result<()> {
    let completed = load.completed(guest, queue)?;
    guest.wait_until(&format!("{queue} goes on"), PATIENCE, |guest| {
        Ok(load.completed(guest, queue)? > completed)
    })
}

fn late(guest: &mut Guest) -> Result<()> {
    // More than a second of the guest's time; the driver waits for nine.
    const LATE_NS: u64 = 50_000_000;
    let victim = Victim::start(guest)?;
    let mark = guest.device.hiq_mark()?;
    guest.device.set_faults(Faults {
        fence: Fence::Late(LATE_NS),
        ..Faults::default()
    })?;
    victim.allow(guest, "0")?;
    guest.device.set_faults(Faults::default())?;
    let waits: Vec<u64> = guest
        .device
        .hiq(mark)?
        .iter()
        .filter(|record| matches!(record.action, HiqAction::QueryStatus { .. }))
        .filter_map(|record| Some(record.completed?.since(record.fetched)))
        .collect();
    ensure!(
        waits.iter().any(|wait| *wait >= LATE_NS),
        "the fences took {waits:?} ns"
    );
    victim.start_again(guest)?;
    victim.finish(guest)
}

fn endless(guest: &mut Guest) -> Result<()> {
    let victim = Victim::start(guest)?;
    let doorbell = victim.queue.doorbell;
    guest.device.set_faults(Faults {
        endless: [doorbell].into(),
        ..Faults::default()
    })?;
    for _ in 0..3 {
        let saved = victim.stop(guest)?;
        victim.allow(guest, "100")?;
        let back = victim.running(guest)?;
        // What is under way when the fault is set may still end.
        ensure!(
            back.workgroups_done == saved.workgroups_done,
            "{saved:?} became {back:?}"
        );
    }
    guest.device.set_faults(Faults::default())?;
    goes_on(guest, &victim.load, "victim")?;
    victim.finish(guest)
}

fn interrupts(guest: &mut Guest) -> Result<()> {
    let load = bystander(guest)?;
    guest.device.set_faults(Faults {
        interrupts_lost: true,
        ..Faults::default()
    })?;
    let raised = guest.device.state()?.interrupts;
    guest.wait_until("interrupts were due", PATIENCE, |guest| {
        Ok(guest.device.state()?.interrupts > raised)
    })?;
    guest.device.set_faults(Faults::default())?;
    goes_on(guest, &load, "other")?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// What the driver says of a fault in memory.
pub(super) const PAGE_FAULT: [&str; 5] = [
    "no-retry page fault (src_id:0",
    " Process workload pid ",
    // In the words of Linux 6.12.
    " for process workload pid ",
    "in page starting at address 0x0000000000000000 from IH client",
    "cookie node_id",
];

/// A wave that is not what was saved goes on anywhere, and so runs into a fault, of
/// which its process is told.
fn spoiled(guest: &mut Guest) -> Result<()> {
    PAGE_FAULT.iter().for_each(|text| guest.expect_log(text));
    let victim = Victim::start(guest)?;
    let doorbell = victim.queue.doorbell;
    let other = bystander(guest)?;
    guest.device.set_faults(Faults {
        corrupt_saves: [doorbell].into(),
        ..Faults::default()
    })?;
    victim.stop(guest)?;
    guest.device.set_faults(Faults::default())?;
    victim.allow(guest, "100")?;
    guest.wait_until("the damage is noticed", PATIENCE, |guest| {
        let queues = guest.device.queues()?;
        Ok(queues.iter().any(|queue| {
            let fault = queue.fault.as_deref().unwrap_or_default();
            queue.queue.doorbell == doorbell && fault.contains("checksum")
        }))
    })?;
    guest.wait_for_log("no-retry page fault (src_id:0", PATIENCE)?;
    let report = load::report(&victim.load.end(guest)?)?;
    let queue = report.queues.first().context("no queue is reported")?;
    let failure = queue.failure.as_deref().unwrap_or_default();
    ensure!(
        failure.contains("fault: memory fault at 0x0")
            && queue.workgroups.lost == 0
            && queue.workgroups.repeated == 0,
        "{queue:?}"
    );
    goes_on(guest, &other, "other")?;
    other.stop(guest)?;
    other.finish(guest).map(|_| ())
}

fn unyielding(guest: &mut Guest) -> Result<()> {
    for text in [
        "Queue preemption failed for queue",
        "is reset",
        "Queues reset on process workload",
    ] {
        guest.expect_log(text);
    }
    let victim = Victim::start(guest)?;
    let doorbell = victim.queue.doorbell;
    let other = bystander(guest)?;
    let resets = guest.device.state()?.resets;
    guest.device.set_faults(Faults {
        unyielding: [doorbell].into(),
        ..Faults::default()
    })?;
    let _ = victim.allow(guest, "0");
    guest.wait_for_log("Queue preemption failed for queue", PATIENCE)?;
    guest.wait_for_log("is reset", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    victim.load.kill(guest)?;
    goes_on(guest, &other, "other")?;
    ensure!(
        guest.device.state()?.resets == resets,
        "the whole GPU was reset for one queue"
    );
    other.stop(guest)?;
    other.finish(guest).map(|_| ())
}
