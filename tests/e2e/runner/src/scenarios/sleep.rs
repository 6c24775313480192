// SPDX-License-Identifier: GPL-2.0-only
//! The system is put to sleep while queues are stopped.

use anyhow::{ensure, Result};
use vgpu_model::{GpuNanos, HiqAction, HiqRecord};

use super::preemption::{inversion, wait_for_heavy, PATIENCE, UNBOUNDED};
use crate::guest::Guest;
use crate::load::{Load, DILATION};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "everything runs before the system freezes",
    needs: Needs {
        one_die: true,
        ..Needs::ANY
    },
    run: freezes,
}];

/// The driver saves what runs, and only that, so that nothing may be stopped then.
/// Neither the module nor the agent does anything while the system is frozen: the
/// device alone tells.
pub(super) fn freezes(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;
    let mark = guest.device.hiq_mark()?;
    guest.wait_until("only the heavy queue does not run", PATIENCE, |guest| {
        Ok(mapped(guest)? == ALL - 1)
    })?;
    freeze(guest)?;
    let records = guest.device.hiq(mark)?;
    let now = guest.device.state()?.now;
    let longest = longest_with_all(&records, now);
    ensure!(
        longest > FROZEN,
        "a queue stayed stopped while the system was frozen: all ran for {longest} ns of the \
         GPU's time at most"
    );
    wait_for_heavy(guest, &load, true)?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

/// Puts the system to sleep by its own test of suspend, which thaws it after a while, and
/// waits until it is awake.
pub(super) fn freeze(guest: &mut Guest) -> Result<()> {
    // The shell may be frozen before it can answer.
    guest.agent().shell(&format!(
        "rm -f /tmp/thawed; before=$(cat {DELAY}); \
         (echo {SECONDS} >{DELAY} && echo freezer >/sys/power/pm_test && \
         echo freeze >/sys/power/state && echo yes >/tmp/slept || echo no >/tmp/slept; \
         echo none >/sys/power/pm_test; echo $before >{DELAY}; \
         mv /tmp/slept /tmp/thawed) >/dev/null 2>&1 &",
    ))?;
    guest.wait_until("the system is awake", PATIENCE, |guest| {
        let slept = guest.agent().read_file("/tmp/thawed");
        let slept = slept.map(|text| text.trim() == "yes");
        ensure!(
            slept.as_ref().map_or(true, |slept| *slept),
            "the system refuses to sleep"
        );
        Ok(slept.is_ok())
    })
}

/// The queues of both programs: one that they use and one of the runtime's own.
const ALL: usize = 4;
/// How long the system's test of suspend takes, in which it does nothing but wait.
const SECONDS: u64 = 2;
const DELAY: &str = "/sys/module/suspend/parameters/pm_test_delay";
/// Nanoseconds of the GPU that all queues run while the system is frozen: most of the time
/// that the freeze takes, and longer than a module that is awake lets an inversion last.
const FROZEN: u64 = 1_500_000_000 / DILATION as u64;

/// For how long all queues were mapped at a time, at most, as the firmware's packets tell.
fn longest_with_all(records: &[HiqRecord], now: GpuNanos) -> u64 {
    let is_unmap = |record: &&HiqRecord| matches!(record.action, HiqAction::Unmap { .. });
    let spells = records.iter().enumerate().filter_map(|(at, record)| {
        let HiqAction::RunList { queues, .. } = record.action else {
            return None;
        };
        let next = records[at..].iter().find(is_unmap);
        let end = next.map_or(now, |unmap| unmap.fetched);
        (queues as usize == ALL).then(|| end.since(record.completed.unwrap_or(record.fetched)))
    });
    spells.max().unwrap_or(0)
}

fn mapped(guest: &mut Guest) -> Result<usize> {
    Ok(guest.device.mapped()?.len())
}
