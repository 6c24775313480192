// SPDX-License-Identifier: GPL-2.0
//! The stock driver takes the virtual GPU for an MI300X.

use std::time::Duration;

use anyhow::{ensure, Result};
use e2e_protocol::Program;

use crate::guest::Guest;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "probe finds blocks, memory and units",
        needs: Needs::ANY,
        run: probe,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "rocminfo finds gfx942",
        needs: Needs::ANY,
        run: rocminfo,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "amdgpu unloads and loads again",
        needs: Needs {
            spoils: true,
            ..Needs::ANY
        },
        run: unbind_and_bind,
    },
];

fn probe(guest: &mut Guest) -> Result<()> {
    let units = 4 * guest.shape.cu_per_sh * guest.shape.xcc;
    let (lines, _) = guest.agent().log(0)?;
    for text in [
        "added device 1002:74a1".to_string(),
        "PCIE GART of 512M enabled".to_string(),
        format!("active_cu_number {units}"),
    ] {
        ensure!(
            lines.iter().any(|line| line.text.contains(&text)),
            "the driver did not say '{text}'"
        );
    }
    let node = "/sys/class/kfd/kfd/topology/nodes/1";
    let properties = guest.agent().read_file(&format!("{node}/properties"))?;
    for property in [
        format!("simd_count {}", 4 * units),
        "gfx_target_version 90402".to_string(),
        "num_cp_queues 24".to_string(),
        format!("num_xcc {}", guest.shape.xcc),
    ] {
        ensure!(
            properties.lines().any(|line| line == property),
            "no '{property}' in\n{properties}"
        );
    }
    Ok(())
}

fn rocminfo(guest: &mut Guest) -> Result<()> {
    let program = Program {
        program: "rocminfo".into(),
        ..Program::default()
    };
    let text = guest.agent().check(program, Duration::from_secs(300))?;
    for name in ["gfx942", "AMD Instinct MI300X", "KERNEL_DISPATCH"] {
        ensure!(text.contains(name), "no '{name}' in\n{text}");
    }
    Ok(())
}

fn unbind_and_bind(guest: &mut Guest) -> Result<()> {
    let driver = "/sys/bus/pci/drivers/amdgpu";
    let address = guest
        .agent()
        .list(driver)?
        .into_iter()
        .find(|name| name.starts_with("0000:"));
    let Some(address) = address else {
        anyhow::bail!("no device is bound to amdgpu");
    };
    for _ in 0..2 {
        guest
            .agent()
            .write_file(&format!("{driver}/unbind"), &address)?;
        guest
            .agent()
            .write_file(&format!("{driver}/bind"), &address)?;
    }
    rocminfo(guest)
}
