// SPDX-License-Identifier: GPL-2.0-only
//! A GPU that is a virtual function: the stock driver comes up on it by asking its host,
//! and works without a register that is the host's.

use anyhow::{ensure, Result};

use super::probe::{rings, rocminfo};
use crate::guest::Guest;
use crate::scenario::{Needs, Scenario, Suite};

const VIRTUAL: Needs = Needs {
    virtual_function: true,
    ..Needs::ONCE
};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::Vgpu,
    name: "the stock driver comes up on a virtual function",
    needs: VIRTUAL,
    run: comes_up,
}];

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
    let refused = guest.device.forbidden()?;
    ensure!(refused.is_empty(), "the driver was refused {refused:?}");
    Ok(())
}
