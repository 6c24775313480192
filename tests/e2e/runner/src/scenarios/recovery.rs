// SPDX-License-Identifier: GPL-2.0-only
//! The driver gets the GPU back: after a reset, a hang, and being unloaded.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde_json::{json, Value};
use vgpu_model::{Faults, Fence};

use super::probe::rocminfo;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::image::{AMDGPU, AMDGPU_PARAMETERS};
use crate::load::{queue, run, Load};
use crate::machine::Slot;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    // Before those that end processes by force: the driver may keep a reference to
    // one that it could not give a queue.
    Scenario {
        suite: Suite::Vgpu,
        name: "amdgpu unloads and loads again",
        needs: Needs {
            one_die: true,
            ..Needs::ANY
        },
        run: reload,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a GPU reset under load is recovered from",
        needs: Needs::ANY,
        run: reset,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "firmware that never answers is reset",
        needs: Needs::ANY,
        run: hang,
    },
];

/// The driver's own limit for the firmware is nine seconds of guest time.
const PATIENCE: Duration = Duration::from_secs(300);

fn busy() -> Value {
    json!({"queues": [queue("busy", 320, 1_000_000, json!({"requests": 1_000_000}))]})
}

fn works(guest: &mut Guest) -> Result<()> {
    run(
        guest,
        json!({"queues": [queue("after", 320, 20_000, json!({"requests": 20}))]}),
    )
    .map(|_| ())
}

fn reload(guest: &mut Guest) -> Result<()> {
    works(guest)?;
    // The driver releases a process some time after the process has ended.
    guest.wait_until("nobody uses amdgpu", PATIENCE, |guest| {
        let users = guest.agent().read_file("/sys/module/amdgpu/refcnt")?;
        Ok(users.trim() == "0")
    })?;
    guest.agent().rmmod("amdgpu")?;
    let queues = guest.device.state()?.slots;
    ensure!(
        queues.is_empty(),
        "slots are in use without a driver: {queues:?}"
    );
    let parameters = format!("{AMDGPU_PARAMETERS} {}", guest.image.amdgpu);
    guest.agent().insmod(AMDGPU, &parameters)?;
    rocminfo(guest)?;
    works(guest)
}

/// What a reset says; anything else is still objected to.
pub(super) fn expect_reset(guest: &mut Guest) {
    // A load that reads the clock reads registers, for which the driver does not take
    // the lock that its own check asks for beside a reset. Lockdep alone notices.
    guest.expect_warning(
        "amdgpu_device_skip_hw_access",
        "kfd_ioctl_get_clock_counters",
    );
    for text in [
        "GPU reset",
        "HW Exception",
        "GPU Hang",
        "Failed to suspend process",
        // Memory of a process goes away while the driver cannot stop its queues.
        "Failed to quiesce KFD",
        // A process ends meanwhile, and the reset takes its queues off.
        "failed, ret -5",
    ] {
        guest.expect_log(text);
    }
}

/// Has the driver begin to reset a GPU: by its file, or, as it has none on a virtual
/// function, because the host wants it.
pub(super) fn begin_reset(guest: &mut Guest, gpu: u32) -> Result<()> {
    if guest.shape.virtual_function {
        return guest.gpu(gpu)?.host_reset();
    }
    let address = Slot::Gpu(gpu).address();
    let line = format!("cat /sys/kernel/debug/dri/{address}/amdgpu_gpu_recover");
    Background::shell(guest, &line, Expect::Anything).map(drop)
}

/// Has the driver reset a GPU, and waits until it is back.
pub(super) fn reset_gpu(guest: &mut Guest, gpu: u32) -> Result<()> {
    let resets = guest.gpu(gpu)?.state()?.resets;
    begin_reset(guest, gpu)?;
    guest.wait_for_log(") succeeded!", PATIENCE)?;
    let seen = guest.gpu(gpu)?.state()?.resets;
    ensure!(seen > resets, "the device saw no reset");
    Ok(())
}

fn reset(guest: &mut Guest) -> Result<()> {
    expect_reset(guest);
    let load = Load::start(guest, busy())?;
    reset_gpu(guest, 0)?;
    // The process learns that its queues are gone, and ROCr ends it.
    load.end(guest)?;
    works(guest)
}

/// What the module says of it.
pub(super) const FIRMWARE_IS_SILENT: &str =
    "the firmware does not answer: nothing is sent for a while";

/// What firmware that does not answer adds to that.
pub(super) fn expect_hang(guest: &mut Guest) {
    expect_reset(guest);
    for text in [
        "fence wait loop timeout",
        "cp might be in an unrecoverable state",
        "Failed to evict",
        "DQM create queue",
        FIRMWARE_IS_SILENT,
        // Before it resets the GPU, Linux 6.12 asks the firmware that hangs.
        "ring kiq_",
        "KCQ disable failed",
        // On a virtual function the driver writes registers by a ring that hangs with it.
        "failed to write reg",
    ] {
        guest.expect_log(text);
    }
}

fn hang(guest: &mut Guest) -> Result<()> {
    expect_hang(guest);
    let load = Load::start(guest, busy())?;
    guest.device.set_faults(Faults {
        fence: Fence::Never,
        ..Faults::default()
    })?;
    // Anything that changes the run list waits for the firmware until the timeout.
    let line = ["workload", "copy", "--bytes", "4096"];
    let other = Background::start(guest, &line, Expect::Anything)?;
    guest.wait_for_log("fence wait loop timeout", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    guest.wait_for_log(") succeeded!", PATIENCE)?;
    load.end(guest)?;
    other.stop(guest)?;
    works(guest)
}
