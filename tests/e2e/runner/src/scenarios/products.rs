// SPDX-License-Identifier: GPL-2.0-only
//! GPUs that the other scenarios do not have, unless the runner is told to: that the driver
//! and the module take them as what they are. All scenarios run on such a GPU with `--gpu`.

use anyhow::{ensure, Result};
use serde_json::json;
use vgpu_model::Product;

use super::contention::Contention;
use super::machine_code::preempted_cases;
use super::preemption::PATIENCE;
use super::probe;
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

/// The driver says so, and that is all that there is of the GPU: KFD has no node of it.
fn unknown(guest: &mut Guest) -> Result<()> {
    const WHY: &str = "Failed to add common ip block(GC_HWIP:0x90500)";
    for text in [
        WHY,
        "Fatal error during GPU init",
        "amdgpu: finishing device",
        "probe with driver amdgpu failed with error -22",
    ] {
        guest.expect_log(text);
    }
    let contention = Contention::start(guest, "", json!({}))?;
    guest.plug_second_gpu(Product::Mi350x)?;
    guest.wait_for_log(WHY, PATIENCE)?;
    let before = contention.stops(guest)?;
    contention.wait_until_stopped_again(guest, before)?;
    let rows = Table::Stats.read(guest)?;
    ensure!(rows.len() == 1 && rows[0]["state"] == "armed", "{rows:?}");
    contention.finish(guest)
}
