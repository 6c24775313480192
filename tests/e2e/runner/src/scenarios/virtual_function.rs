// SPDX-License-Identifier: GPL-2.0-only
//! A GPU that is a virtual function: the stock driver comes up on it by asking its host,
//! and works without a register that is the host's. The module reads no register there at
//! all, and lives with a GPU that others have in between.

use anyhow::{bail, ensure, Result};
use serde_json::json;
use vgpu_model::{Block, RegisterReport, Worlds};

use super::failure;
use super::preemption::{
    got_through, inversion, short, wait_for_heavy, whole, PATIENCE, ROUND_NS, UNBOUNDED,
};
use super::probe::{rings, rocminfo};
use crate::guest::Guest;
use crate::load::{run, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

const VIRTUAL: Needs = Needs {
    virtual_function: true,
    ..Needs::ONCE
};

/// How often a load is stopped, started and stopped again while others take turns.
const TURNS: u32 = 3;

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "the stock driver comes up on a virtual function",
        needs: VIRTUAL,
        run: comes_up,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a virtual function is watched without its registers",
        needs: VIRTUAL,
        run: reads_no_register,
    },
    Scenario {
        suite: Suite::E2e,
        name: "what nobody can count is stopped on a virtual function",
        needs: VIRTUAL,
        run: stops_uncounted,
    },
    Scenario {
        suite: Suite::E2e,
        name: "queues are stopped and started on a virtual function that others have in between",
        needs: VIRTUAL,
        run: takes_turns,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the host resets a virtual function while a queue is stopped",
        needs: VIRTUAL,
        run: failure::reset,
    },
];

fn comes_up(guest: &mut Guest) -> Result<()> {
    let device = "/sys/bus/pci/drivers/amdgpu/0000:01:00.0";
    let text = guest.agent().read_file(&format!("{device}/device"))?;
    let number = guest.shape.product.facts().virtual_device;
    let number = number.map(|number| format!("{number:#06x}"));
    ensure!(
        Some(text.trim()) == number.as_deref(),
        "the device is {text}"
    );
    rings(guest)?;
    rocminfo(guest)?;
    refused_none(guest)
}

fn refused_none(guest: &mut Guest) -> Result<()> {
    let refused = guest.device.forbidden()?;
    ensure!(refused.is_empty(), "the driver was refused {refused:?}");
    Ok(())
}

/// Which registers of the engines were read and written until now.
fn engine_registers(guest: &mut Guest) -> Result<Vec<RegisterReport>> {
    let mut registers = guest.device.registers()?;
    registers.retain(|one| matches!(one.block, Block::Gc | Block::Sdma));
    Ok(registers)
}

/// With the sampler that reads registers where it may, and decisions that need waves.
fn reads_no_register(guest: &mut Guest) -> Result<()> {
    let load = Load::start(guest, inversion(guest))?;
    let before = engine_registers(guest)?;
    let module = Module::load(guest, "mode=observe sampler=mmio")?;
    guest.wait_until("decisions are made", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "observed")? > 4)
    })?;
    let after = engine_registers(guest)?;
    ensure!(
        before == after,
        "registers were accessed: {before:?}, {after:?}"
    );
    module.unload(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    refused_none(guest)
}

fn stops_uncounted(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    // As `gets_through`: the next grid takes longer, should a busy host let it end before.
    for attempt in 0..8 {
        let queues = json!([whole(guest, ROUND_NS << (attempt / 2)), short(20)]);
        let report = run(guest, json!({"queues": queues, "samples": true}))?;
        if got_through(&report)? == Some(true) {
            ensure!(Table::Stats.sum(guest, "inversions")? > 0);
            return module.unload(guest);
        }
    }
    bail!("the urgent work waited")
}

/// Others have the hardware for longer than this one, so that many a transaction meets the
/// end of its turn.
fn takes_turns(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    guest.device.set_worlds(Some(Worlds {
        own: 2_000_000,
        others: 3_000_000,
    }))?;
    for _ in 0..TURNS {
        let load = Load::start(guest, inversion(guest))?;
        wait_for_heavy(guest, &load, true)?;
        module.set(guest, "mode", "observe")?;
        wait_for_heavy(guest, &load, false)?;
        module.set(guest, "mode", "enforce")?;
        wait_for_heavy(guest, &load, true)?;
        load.stop(guest)?;
        load.finish(guest)?;
    }
    guest.device.set_worlds(None)?;
    ensure!(guest.device.state()?.world_switches > 0);
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    refused_none(guest)?;
    module.unload(guest)
}
