// SPDX-License-Identifier: GPL-2.0-only
//! GPUs that the other scenarios do not have, unless the runner is told to: that the driver
//! and the module take them as what they are. All scenarios run on such a GPU with `--gpu`.

use anyhow::{ensure, Result};
use serde_json::json;
use vgpu_model::Product;

use super::contention::{urgent_goes_on, Contention};
use super::machine_code::preempted_cases;
use super::operator;
use super::preemption::PATIENCE;
use super::probe;
use crate::device::Shape;
use crate::guest::Guest;
use crate::kernels::Case;
use crate::module::Table;
use crate::scenario::{Needs, Scenario, Suite};

/// A function that the driver got together with GFX 9.5.0.
const NEWER: &[&str] = &["aqua_vanjaram_get_xcp_res_info"];

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "an MI350X is found and scheduled with all of its local memory",
        needs: Needs {
            product: Some(Product::Mi350x),
            driver: NEWER,
            ..Needs::ONCE
        },
        run: scheduled,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a GPU that the driver does not know disturbs no other",
        needs: Needs {
            without: NEWER,
            spoils: true,
            small: true,
            ..Needs::ONCE
        },
        run: unknown,
    },
];

fn scheduled(guest: &mut Guest) -> Result<()> {
    const GROUPS: u32 = 3;
    probe::probe(guest)?;
    probe::rocminfo(guest)?;
    preempted_cases(guest, "transaction=driver", &[Case::large(GROUPS)])
}

/// The driver does not say why it refuses it, and KFD has no node of it: what the operator has,
/// and what it takes, is for the doctor to say.
fn unknown(guest: &mut Guest) -> Result<()> {
    const REFUSED: &str = "probe with driver amdgpu failed with error -22";
    guest.expect_log("Fatal error during GPU init");
    guest.expect_log(REFUSED);
    let contention = Contention::start(guest, "", json!({}))?;
    let shape = Shape {
        product: Product::Mi350x,
        ..guest.shape.clone()
    };
    guest.plug_other_gpu(&shape)?;
    guest.wait_for_log(REFUSED, PATIENCE)?;
    urgent_goes_on(guest, &contention.load)?;
    let heavy = contention.heavy(guest)?;
    ensure!(
        heavy.as_ref().is_some_and(|row| row["state"] == "stopped"),
        "{heavy:?}"
    );
    let rows = Table::Stats.read(guest)?;
    ensure!(rows.len() == 1 && rows[0]["state"] == "armed", "{rows:?}");
    operator::install(guest)?;
    let said = operator::refused(guest, "doctor", "1 of the above must be mended first")?;
    let facts = shape.product.facts();
    let device = facts.virtual_device.filter(|_| shape.virtual_function);
    let device = device.unwrap_or(facts.device);
    operator::says(
        &said,
        &[
            &format!("MISSING  0000:03:00.0 (1002:{device:04x}, GFX 9.5.0) has a driver"),
            "amdgpu of Linux 6.12 does not know GFX 9.5.0: use a newer kernel",
            "0000:01:00.0 node 0 is armed",
        ],
    )?;
    contention.finish(guest)
}
