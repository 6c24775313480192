// SPDX-License-Identifier: GPL-2.0-only
//! The system is put to sleep while queues are stopped.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Result};

use super::preemption::{inversion, wait_for_heavy, PATIENCE, UNBOUNDED};
use crate::guest::Guest;
use crate::load::Load;
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
    guest.wait_until("only the heavy queue does not run", PATIENCE, |guest| {
        Ok(mapped(guest)? == ALL - 1)
    })?;
    // The system's own test of suspend, which thaws it after five seconds.
    guest.agent().shell(
        "rm -f /tmp/thawed; (echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state; \
         echo none >/sys/power/pm_test; echo >/tmp/thawed) >/dev/null 2>&1 &",
    )?;
    let begin = Instant::now();
    let mut all_since = None;
    // An awake module would stop the heavy queue again at once.
    while all_since.is_none_or(|since: Instant| since.elapsed() < FROZEN) {
        ensure!(begin.elapsed() < PATIENCE, "a queue stays stopped");
        if mapped(guest)? == ALL {
            all_since.get_or_insert_with(Instant::now);
        } else {
            all_since = None;
        }
        sleep(Duration::from_millis(50));
    }
    guest.wait_until("the system is awake", PATIENCE, |guest| {
        Ok(guest.agent().read_file("/tmp/thawed").is_ok())
    })?;
    wait_for_heavy(guest, &load, true)?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

/// The queues of both programs: one that they use and one of the runtime's own.
const ALL: usize = 4;
const FROZEN: Duration = Duration::from_millis(1500);

fn mapped(guest: &mut Guest) -> Result<usize> {
    Ok(guest.device.mapped()?.len())
}
