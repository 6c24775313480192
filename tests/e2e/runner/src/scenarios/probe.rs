// SPDX-License-Identifier: GPL-2.0-only
//! The stock driver takes the virtual GPU for an MI300X.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{ensure, Result};
use e2e_protocol::Program;
use serde_json::json;

use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

const PATIENCE: Duration = Duration::from_secs(120);

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "probe finds blocks, memory and units",
        needs: Needs::ANY,
        run: probe,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "rocminfo finds the GPU and its instructions",
        needs: Needs::ANY,
        run: |guest| rocminfo(guest).map(drop),
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "the driver's own rings pass its tests",
        needs: Needs::ANY,
        run: rings,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a second GPU works beside the first",
        needs: Needs {
            one_die: true,
            once: true,
            small: true,
            spoils: true,
            ..Needs::ANY
        },
        run: second,
    },
];

pub(super) fn probe(guest: &mut Guest) -> Result<()> {
    let facts = guest.shape.product.facts();
    let device_id = format!("{:#06x}", facts.device);
    let device = "/sys/bus/pci/drivers/amdgpu/0000:01:00.0";
    for (file, value) in [
        ("vendor", "0x1002"),
        ("device", device_id.as_str()),
        ("class", "0x120000"),
    ] {
        let text = guest.agent().read_file(&format!("{device}/{file}"))?;
        ensure!(text.trim() == value, "{file} is {text}");
    }
    let resources = guest.agent().read_file(&format!("{device}/resource"))?;
    let mut sizes = Vec::new();
    for line in resources.lines() {
        let mut ends = line
            .split_whitespace()
            .map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16));
        if let (Some(Ok(start)), Some(Ok(end))) = (ends.next(), ends.next()) {
            sizes.push(if start == 0 { 0 } else { end - start + 1 });
        }
    }
    let registers = if guest.shape.xcc == 1 {
        512 << 10
    } else {
        4 << 20
    };
    ensure!(
        sizes.get(..6)
            == Some(&[
                u64::from(guest.shape.vram_mib) << 20,
                0,
                2 << 20,
                0,
                0,
                registers
            ]),
        "the base addresses are of {sizes:x?}"
    );
    let vectors = guest.agent().list(&format!("{device}/msi_irqs"))?;
    ensure!(vectors.len() == 1, "{} vectors are enabled", vectors.len());
    let units = 4 * guest.shape.cu_per_sh * guest.shape.xcc;
    let (lines, _) = guest.agent().log(0)?;
    for text in [
        format!("added device 1002:{:04x}", facts.device),
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
        format!("gfx_target_version {}", facts.target),
        format!("lds_size_in_kb {}", facts.local_memory.bytes >> 10),
        format!("cwsr_size {}", save_area(guest)),
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

/// What the driver reserves for the waves of a queue on a die: registers and hardware state
/// of each unit and its local memory, and a control stack, as its own `kfd_queue.c` has them.
fn save_area(guest: &Guest) -> u64 {
    const REGISTERS: u64 = 0x80000 + 0x4000 + 0x1000;
    const PAGE: u64 = 4096;
    let shape = &guest.shape;
    let local = u64::from(shape.product.facts().local_memory.bytes);
    let units = 4 * u64::from(shape.cu_per_sh);
    let waves = (units * 40).min(4 * 512);
    let stack = (40 + waves * 8 + 8).next_multiple_of(PAGE);
    stack + units * (REGISTERS + local)
}

/// What the program says of all agents.
pub fn rocminfo(guest: &mut Guest) -> Result<String> {
    let program = Program {
        program: "rocminfo".into(),
        ..Program::default()
    };
    let text = guest.agent().check(program, Duration::from_secs(300))?;
    let facts = guest.shape.product.facts();
    for name in [facts.instructions, facts.title, "KERNEL_DISPATCH"] {
        ensure!(text.contains(name), "no '{name}' in\n{text}");
    }
    Ok(text)
}

/// Has the driver test its own rings.
pub(super) fn rings(guest: &mut Guest) -> Result<()> {
    let file = "/sys/kernel/debug/dri/0000:01:00.0/amdgpu_test_ib";
    let text = guest.agent().shell(&format!("cat {file}"))?;
    ensure!(text.contains("ib ring tests passed"), "{text}");
    Ok(())
}

fn second(guest: &mut Guest) -> Result<()> {
    guest.add_second_gpu()?;
    // Both at once, each with a process of its own.
    let load = |gpu: u32| {
        let more = json!({"requests": 1_000_000});
        json!({"gpu": gpu, "queues": [queue("one", 32, 100_000, more)]})
    };
    let loads = [Load::start(guest, load(0))?, Load::start(guest, load(1))?];
    let mut gpus = BTreeSet::new();
    for load in &loads {
        guest.wait_until("both GPUs work", PATIENCE, |guest| {
            Ok(load.completed(guest, "one")? >= 10)
        })?;
        gpus.insert(load.identity("one")?.gpu_id);
    }
    ensure!(gpus.len() == 2, "both loads ran on {gpus:?}");
    for load in loads {
        load.stop(guest)?;
        load.finish(guest)?;
    }
    for number in 0..2 {
        let queues = guest.gpu(number)?.queues()?;
        let done: u64 = queues.iter().map(|q| q.workgroups_done).sum();
        ensure!(done >= 320, "GPU {number} did {done} workgroups");
    }
    Ok(())
}
