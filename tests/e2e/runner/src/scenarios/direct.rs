// SPDX-License-Identifier: GPL-2.0-only
//! `transaction=direct`: the module takes queues off the GPU by packets of its own, and
//! leaves to the driver what it does not expect.

use anyhow::{ensure, Result};
use serde_json::json;
use vgpu_model::{Faults, Fence, HiqAction};

use super::contention::{heavy, start_load, wait_until_stopped, Contention};
use super::failure::{never_answers, survives_unyielding};
use super::preemption::{gets_through, PATIENCE, UNBOUNDED};
use super::refusal::{is_armed, is_refused, reload};
use super::repetition::preempted_again_and_again;
use crate::driver_file::{self, Name, CHANGED};
use crate::guest::Guest;
use crate::image::AMDGPU;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

/// What the module needs of the driver for it and that of Linux 6.12 lacks, which never
/// looked at copy engines while it took queues off.
pub(super) const DIRECT: &[&str] = &["pm_config_dequeue_wait_counts"];

const ANY: Needs = Needs {
    driver: DIRECT,
    ..Needs::ANY
};

const ONCE: Needs = Needs {
    driver: DIRECT,
    ..Needs::ONCE
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "queues are taken off the GPU with transaction=direct",
        needs: ANY,
        run: direct,
    },
    Scenario {
        suite: Suite::E2e,
        name: "heavy queues survive hundreds of preemptions with transaction=direct",
        needs: Needs {
            one_die: true,
            ..ANY
        },
        run: hundreds,
    },
    Scenario {
        suite: Suite::E2e,
        name: "an answer that is late with transaction=direct is left to the driver",
        needs: ANY,
        run: late,
    },
    Scenario {
        suite: Suite::E2e,
        name: "firmware never answers with transaction=direct",
        needs: ONCE,
        run: never,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a queue does not yield with transaction=direct",
        needs: Needs {
            one_die: true,
            ..ANY
        },
        run: unyielding,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a driver that transaction=direct does not know is refused in words",
        needs: Needs {
            spoils: true,
            bare_metal: true,
            ..ONCE
        },
        run: refused,
    },
];

/// The upper half of the numbers that the module has the firmware write, by which its
/// packets are known.
const OURS: u64 = 0x6770_7265;

/// How often the firmware was asked to write a number of the module's, and another one.
fn asked(guest: &mut Guest, mark: u64) -> Result<(usize, usize)> {
    let numbers = guest.device.hiq(mark)?.into_iter().filter_map(|record| {
        let HiqAction::QueryStatus { value, .. } = record.action else {
            return None;
        };
        Some(value >> 32 == OURS)
    });
    let (ours, others): (Vec<bool>, Vec<bool>) = numbers.partition(|&ours| ours);
    Ok((ours.len(), others.len()))
}

fn direct(guest: &mut Guest) -> Result<()> {
    let module = Module::load(
        guest,
        &format!("mode=enforce transaction=direct {UNBOUNDED}"),
    )?;
    gets_through(guest)?;
    let load = start_load(guest, 0, json!({}))?;
    wait_until_stopped(guest, &load, 0)?;
    // The programs have begun, so that only the module sends anything. It may do so between
    // two of these readings, whenever the urgent queue is empty for a moment.
    let before = Table::Stats.sum(guest, "transactions")?;
    let mark = guest.device.hiq_mark()?;
    let counted_from = Table::Stats.sum(guest, "transactions")?;
    for _ in 0..4 {
        starts_and_stops(guest, &module, &load)?;
    }
    let counted_to = Table::Stats.sum(guest, "transactions")?;
    let (ours, others) = asked(guest, mark)?;
    let after = Table::Stats.sum(guest, "transactions")?;
    // One that is sent and not counted yet is in one of the readings alone. The queue may
    // have been started already when the first time began.
    let counted = counted_to - counted_from;
    let least = counted.saturating_sub(1);
    let most = after - before + 1;
    ensure!(
        (least..=most).contains(&(ours as u64)) && counted >= 7 && others == 0,
        "{least} to {most} transactions, {ours} answers asked for by the module, {others} by the driver"
    );
    ensure!(Table::Stats.sum(guest, "handed_over")? == 0);

    // What the other way has stopped is started first, and then nothing goes that way.
    let before = stops(guest, &load)?;
    module.set(guest, "transaction", "driver")?;
    is_armed(guest)?;
    wait_until_stopped(guest, &load, before)?;
    let mark = guest.device.hiq_mark()?;
    for _ in 0..2 {
        starts_and_stops(guest, &module, &load)?;
    }
    let (ours, others) = asked(guest, mark)?;
    ensure!(
        ours == 0 && others >= 3,
        "{ours} answers asked for by the module, {others} by the driver"
    );
    Contention { module, load }.finish(guest)
}

/// How often the heavy queue was stopped.
fn stops(guest: &mut Guest, load: &Load) -> Result<u64> {
    let row = heavy(guest, load)?.unwrap_or_default();
    Ok(row["stops"].as_u64().unwrap_or(0))
}

/// Has everything started, and waits until the heavy queue is stopped again.
fn starts_and_stops(guest: &mut Guest, module: &Module, load: &Load) -> Result<()> {
    let before = stops(guest, load)?;
    module.set(guest, "mode", "observe")?;
    guest.wait_until("nothing is stopped", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "stopped")? == 0)
    })?;
    module.set(guest, "mode", "enforce")?;
    wait_until_stopped(guest, load, before)
}

fn hundreds(guest: &mut Guest) -> Result<()> {
    preempted_again_and_again(guest, "transaction=direct").map(drop)
}

/// What the module says once of whatever it has left to the driver.
const LEFT: &str = "the driver's own unmapping followed";

/// The answer takes longer than saving waves ever does, and less than the driver waits.
fn late(guest: &mut Guest) -> Result<()> {
    const LATE_NS: u64 = 60_000_000;
    guest.expect_log(LEFT);
    let contention = Contention::start(guest, "transaction=direct", json!({}))?;
    ensure!(Table::Stats.sum(guest, "handed_over")? == 0);
    guest.device.set_faults(Faults {
        fence: Fence::Late(LATE_NS),
        ..Faults::default()
    })?;
    contention.disturb(guest, |guest| {
        contention.module.set(guest, "mode", "observe")?;
        guest.wait_until("the queue runs", PATIENCE, |guest| {
            Ok(contention
                .heavy(guest)?
                .is_some_and(|row| row["active"] == true))
        })?;
        contention.module.set(guest, "mode", "enforce")
    })?;
    guest.device.set_faults(Faults::default())?;
    guest.wait_for_log(LEFT, PATIENCE)?;
    let handed_over = Table::Stats.sum(guest, "handed_over")?;
    ensure!(handed_over >= 1, "{handed_over} were left to the driver");
    ensure!(guest.times_in_log(LEFT)? == 1, "it is said more than once");
    contention.finish(guest)
}

fn never(guest: &mut Guest) -> Result<()> {
    guest.expect_log(LEFT);
    never_answers(guest, "transaction=direct")?;
    guest.wait_for_log(LEFT, PATIENCE)
}

fn unyielding(guest: &mut Guest) -> Result<()> {
    guest.expect_log(LEFT);
    survives_unyielding(guest, "transaction=direct")?;
    guest.wait_for_log(LEFT, PATIENCE)
}

fn refused(guest: &mut Guest) -> Result<()> {
    const WHY: &str = "transaction=direct needs functions that this amdgpu does not have";
    const WHAT: &str =
        "transaction=direct cannot be used with this amdgpu: pm_send_unmap_queue() is missing";
    only_with_hws(guest)?;
    guest.expect_log(WHAT);
    guest.expect_log(WHY);
    driver_file::make(guest, Name::Field("pm_send_unmap_queue"))?;
    reload(guest, CHANGED, "")?;
    let module = Module::load(
        guest,
        &format!("mode=enforce transaction=direct {UNBOUNDED}"),
    )?;
    guest.wait_for_log(WHAT, PATIENCE)?;
    is_refused(guest, WHY)?;
    ensure!(Table::Stats.sum(guest, "transactions")? == 0);
    module.set(guest, "transaction", "driver")?;
    is_armed(guest)?;
    gets_through(guest)?;
    ensure!(Table::Stats.sum(guest, "stops")? > 0);
    module.unload(guest)
}

fn only_with_hws(guest: &mut Guest) -> Result<()> {
    const WHY: &str = "transaction=direct is for backend=hws alone";
    guest.expect_log(WHY);
    // The driver itself logs this whenever a process ends in this mode.
    guest.expect_log("Unsupported on sched_policy");
    reload(guest, AMDGPU, "sched_policy=2")?;
    let module = Module::load(guest, "backend=mqd transaction=direct")?;
    is_refused(guest, WHY)?;
    module.set(guest, "transaction", "driver")?;
    is_armed(guest)?;
    module.unload(guest)
}
