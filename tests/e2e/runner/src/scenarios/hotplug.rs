// SPDX-License-Identifier: GPL-2.0
//! The driver does not go away while the module looks after it.

use anyhow::{bail, ensure, Context, Result};

use super::contention::armed;
use super::preemption::PATIENCE;
use crate::agent::errno;
use crate::guest::Guest;
use crate::module::Module;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "amdgpu cannot be unloaded while the module is there",
    needs: Needs {
        one_die: true,
        ..Needs::ANY
    },
    run: driver_is_held,
}];

fn driver_is_held(guest: &mut Guest) -> Result<()> {
    const EAGAIN: i32 = 11;
    let users = |guest: &mut Guest| -> Result<u32> {
        let text = guest.agent().read_file("/sys/module/amdgpu/refcnt")?;
        text.trim().parse().context("no number of users")
    };
    // The driver lets go of a process some time after its end.
    guest.wait_until("nobody uses amdgpu", PATIENCE, |guest| {
        Ok(users(guest)? == 0)
    })?;
    let module = Module::load(guest, "")?;
    ensure!(users(guest)? == 1, "amdgpu has {} users", users(guest)?);
    match guest.agent().rmmod("amdgpu") {
        Ok(()) => bail!("the driver went away under the module"),
        Err(error) => ensure!(errno(&error) == Some(EAGAIN), "{error:#}"),
    }
    armed(guest)?;
    module.unload(guest)?;
    ensure!(users(guest)? == 0, "amdgpu has {} users", users(guest)?);
    Ok(())
}
