// SPDX-License-Identifier: GPL-2.0-only
//! The same again and again, under load, as often as is asked for. Each time that went
//! well is a line 'sum', which `scripts/test/endurance` adds up over many runs.

use anyhow::{Context, Result};

use super::burst::preempted_in_bursts;
use super::{failure, hotplug, preemption, sleep};
use crate::background;
use crate::guest::Guest;
use crate::scenario::{check_log, Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    lasting("endurance: preemptions", Needs::ANY, |guest| {
        let preemptions = preempted_in_bursts(guest)?;
        add(guest, "preemptions", preemptions)
    }),
    lasting("endurance: unload", Needs::ANY, |guest| {
        repeat(guest, "unload", preemption::unload_with_stopped)
    }),
    lasting("endurance: reset", Needs::ANY, |guest| {
        repeat(guest, "reset", failure::reset)
    }),
    lasting("endurance: sleep", Needs::ONE_DIE, |guest| {
        repeat(guest, "sleep", sleep::freezes)
    }),
    lasting("endurance: unbind", Needs::ONE_DIE, |guest| {
        repeat(guest, "unbind", hotplug::unbound)
    }),
];

const fn lasting(name: &'static str, needs: Needs, run: fn(&mut Guest) -> Result<()>) -> Scenario {
    Scenario {
        suite: Suite::Endurance,
        name,
        needs,
        run,
    }
}

/// Runs a scenario as often as is asked for, each time with its own kernel log.
fn repeat(guest: &mut Guest, name: &str, run: fn(&mut Guest) -> Result<()>) -> Result<()> {
    for time in 1..=guest.cycles {
        run(guest)
            .and_then(|()| background::end_all(guest))
            .and_then(|()| add(guest, name, 1))
            .with_context(|| format!("the {time}th time"))?;
    }
    Ok(())
}

/// Says that so many more went well, unless the kernel has reported something.
pub(super) fn add(guest: &mut Guest, name: &str, count: u64) -> Result<()> {
    check_log(guest)?;
    let (series, xcc) = (&guest.image.kernel.series, guest.shape.xcc);
    println!("sum\t{name}\t{series}\t{xcc}\t{count}");
    Ok(())
}
