// SPDX-License-Identifier: GPL-2.0-only
//! Where things lie and what there is with the newest driver and runtimes: descriptors and
//! the trap handler in video memory, rings there, and no rings of the kernel's own.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{ensure, Context, Result};
use serde_json::json;

use super::contention::{
    accounts, armed, heavy, heavy_queue, urgent_goes_beyond, urgent_goes_on, wait_until_stopped,
    Contention,
};
use super::disturbance::run_out;
use super::preemption::{endless, gets_through, PATIENCE, UNBOUNDED};
use super::recovery::{expect_reset, reset_gpu};
use super::refusal::reload;
use crate::guest::Guest;
use crate::image::AMDGPU;
use crate::load::{extend, Load};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

/// What the driver has that keeps descriptors in the GPU's memory, and can leave the kernel
/// without rings.
const DESCRIPTORS: &[&str] = &["mqd_on_vram"];

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "queues with rings in video memory are preempted, and preempt",
        needs: Needs {
            driver: DESCRIPTORS,
            ..Needs::ONCE
        },
        run: |guest| rings(guest, "device", "runnable"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "queues with rings that nobody can read are preempted, and preempt",
        needs: Needs {
            driver: DESCRIPTORS,
            ..Needs::ONCE
        },
        run: |guest| rings(guest, "hidden", "unknown"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "queues are preempted where the kernel has no rings",
        needs: Needs {
            driver: DESCRIPTORS,
            spoils: true,
            one_die: true,
            ..Needs::ANY
        },
        run: no_rings,
    },
    Scenario {
        suite: Suite::E2e,
        name: "descriptors in video memory stay where they are until a reset",
        needs: Needs {
            driver: DESCRIPTORS,
            small: true,
            one_die: true,
            ..Needs::ANY
        },
        run: descriptors_stay,
    },
];

/// Both queues have their rings in the GPU's memory, and the module sees of the packet at
/// the head what it can.
fn rings(guest: &mut Guest, ring: &str, head: &str) -> Result<()> {
    /// As large as what the runtime allocates at once, because a ring is all of it.
    const RING_PACKETS: u32 = 32768;
    let place = json!({"ring": ring, "ring_packets": RING_PACKETS});
    let mut urgent = endless(guest);
    extend(&mut urgent, &place);
    let mut more = json!({"arrival": {"closed_loop": {"depth": 2}}});
    extend(&mut more, &place);
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    let load = Load::start(guest, json!({"queues": [heavy_queue(guest, more), urgent]}))?;
    let mut stops = 0;
    for _ in 0..3 {
        wait_until_stopped(guest, &load, stops)?;
        let row = heavy(guest, &load)?.context("the queue is gone")?;
        ensure!(row["head"] == head, "{row}");
        stops = row["stops"].as_u64().context("no number of stops")?;
        urgent_goes_on(guest, &load)?;
        starts(guest, &module, &load)?;
    }
    Contention { module, load }.finish(guest)
}

/// Has the module start everything, and then goes on.
fn starts(guest: &mut Guest, module: &Module, load: &Load) -> Result<()> {
    let before = load.completed(guest, "urgent")?;
    module.set(guest, "mode", "observe")?;
    guest.wait_until("the heavy queue runs", PATIENCE, |guest| {
        Ok(heavy(guest, load)?.is_some_and(|row| row["active"] == true))
    })?;
    module.set(guest, "mode", "enforce")?;
    urgent_goes_beyond(guest, load, before)
}

fn no_rings(guest: &mut Guest) -> Result<()> {
    reload(guest, AMDGPU, "user_queue=2")?;
    let files = guest.agent().list("/sys/kernel/debug/dri/0000:01:00.0")?;
    let rings: Vec<&String> = files
        .iter()
        .filter(|name| name.starts_with("amdgpu_ring_comp"))
        .collect();
    ensure!(rings.is_empty(), "the kernel has {rings:?}");
    for transaction in ["driver", "direct"] {
        let parameters = format!("mode=enforce transaction={transaction} {UNBOUNDED}");
        let module = Module::load(guest, &parameters)?;
        gets_through(guest)?;
        ensure!(Table::Stats.sum(guest, "stops")? > 0);
        armed(guest)?;
        module.unload(guest)?;
        accounts(guest)?;
    }
    expect_reset(guest);
    let contention = Contention::start(guest, "", json!({}))?;
    reset_gpu(guest, 0)?;
    contention.load.end(guest)?;
    contention.start_over(guest)
}

/// Where the descriptors of the compute queues lie for the GPU, as each says itself.
fn descriptors(guest: &mut Guest) -> Result<BTreeSet<u64>> {
    /// The row that begins with the address.
    const ROW: &str = "00000200:";
    let dump = guest.agent().read_file("/sys/kernel/debug/kfd/mqds")?;
    let mut found = BTreeSet::new();
    for line in dump.lines() {
        let mut words = line.split_whitespace();
        if words.next() == Some(ROW) {
            let mut word = || u64::from_str_radix(words.next().unwrap_or(""), 16);
            found.insert(word()? | (word()? << 32));
        }
    }
    Ok(found)
}

/// Where video memory lies for the GPU, as the driver has said when it was loaded.
fn video_memory(guest: &mut Guest) -> Result<Range<u64>> {
    let (lines, _) = guest.agent().log(0)?;
    let line = lines.iter().rfind(|line| line.text.contains("VRAM: "));
    let line = line.context("the driver does not say where video memory is")?;
    let mut numbers = line.text.split_whitespace().filter_map(|word| {
        let digits = word.strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok()
    });
    let mut number = || numbers.next().with_context(|| line.text.clone());
    Ok(number()?..number()?)
}

/// The descriptors are pinned there, so that nothing but the processes' own memory moves.
fn descriptors_stay(guest: &mut Guest) -> Result<()> {
    expect_reset(guest);
    let place = video_memory(guest)?;
    let contention = Contention::start(guest, "", json!({"place": "device"}))?;
    let before = descriptors(guest)?;
    ensure!(
        before.len() >= 2 && before.iter().all(|address| place.contains(address)),
        "descriptors at {before:x?}, video memory at {place:x?}"
    );
    contention.disturb(guest, |guest| run_out(guest, &contention))?;
    let after = descriptors(guest)?;
    ensure!(
        before == after,
        "they were at {before:x?}, and are at {after:x?}"
    );
    reset_gpu(guest, 0)?;
    contention.load.end(guest)?;
    contention.start_over(guest)
}
