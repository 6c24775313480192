// SPDX-License-Identifier: GPL-2.0-only
//! Every legal pair of the driver's scheduling policy and the module's backend,
//! and more queues than the hardware holds.

use anyhow::{ensure, Result};
use serde_json::json;

use super::contention::{armed, Contention};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::work::TOO_LONG;
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

const WITHOUT_OVERSUBSCRIPTION: Needs = Needs {
    sched_policy: 1,
    once: true,
    ..Needs::ANY
};
const WITHOUT_SCHEDULER: Needs = Needs {
    sched_policy: 2,
    one_die: true,
    ..Needs::ANY
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "backend=hws works without oversubscription",
        needs: WITHOUT_OVERSUBSCRIPTION,
        run: by_list,
    },
    Scenario {
        suite: Suite::E2e,
        name: "backend=hws is refused without the scheduler",
        needs: WITHOUT_SCHEDULER,
        run: refused,
    },
    Scenario {
        suite: Suite::E2e,
        name: "an urgent queue gets through forty others",
        needs: Needs {
            small: true,
            one_die: true,
            ..Needs::ANY
        },
        run: forty,
    },
];

fn by_list(guest: &mut Guest) -> Result<()> {
    let contention = Contention::start(guest, "backend=hws", json!({}))?;
    contention.finish(guest)
}

fn refused(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, "mode=enforce backend=hws")?;
    guest.expect_log("left alone");
    let nodes = Table::Stats.wait_for_nodes(guest, 1)?;
    ensure!(nodes[0]["state"] == "refused", "{nodes:?}");
    ensure!(
        nodes[0]["refusal"]
            .as_str()
            .is_some_and(|text| text.contains("backend=hws")),
        "{nodes:?}"
    );
    module.unload(guest)
}

/// Forty queues of one level wait for their turn on the hardware, which is
/// nobody's fault; then an urgent one waits for the waves of them all, which is.
fn forty(guest: &mut Guest) -> Result<()> {
    const QUEUES: usize = 40;
    guest.expect_log(TOO_LONG);
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let queues: Vec<_> = (0..QUEUES)
        .map(|i| {
            let more =
                json!({"group": format!("g{}", i % 2), "priority": 3, "requests": 1_000_000});
            queue(&format!("q{i}"), guest.shape.full() / 4, 500_000, more)
        })
        .collect();
    let others = Load::start(guest, json!({"queues": queues}))?;
    guest.wait_until("the last queue has had its turn", PATIENCE, |guest| {
        Ok(others.completed(guest, "q39")? > 0)
    })?;
    ensure!(
        Table::Stats.sum(guest, "stops")? == 0,
        "a queue was stopped for one of its own level"
    );
    let more = json!({"priority": 15, "requests": 30});
    let urgent = queue("urgent", guest.shape.full(), 100_000, more);
    let urgent = Load::start(guest, json!({"queues": [urgent]}))?;
    urgent.finish(guest)?;
    ensure!(
        Table::Stats.sum(guest, "stops")? > 0,
        "nothing was ever stopped"
    );
    guest.wait_until("nothing is stopped", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "stopped")? == 0)
    })?;
    armed(guest)?;
    let before = others.completed(guest, "q0")?;
    guest.wait_until("the others go on", PATIENCE, |guest| {
        Ok(others.completed(guest, "q0")? > before)
    })?;
    module.unload(guest)?;
    others.stop(guest)?;
    others.finish(guest).map(|_| ())
}
