// SPDX-License-Identifier: GPL-2.0-only
//! The driver is taken from a GPU, or from the kernel, while the module watches
//! it.
//!
//! amdgpu itself, of 7.2 and of 7.3 and without the module, does not survive being
//! unbound while a process uses the GPU. `drm_dev_unplug` frees the DRM client
//! through which KFD later frees the memory of the processes that it ends, and
//! `drm_gem_handle_delete` takes a lock in the freed memory. If that memory has been
//! reused, the processor spins there for ever. The driver also waits for ever for a
//! process that survives the signal. So a gate is put between the notification that
//! the driver is about to be unbound, which is all that the module ever hears, and
//! the driver. At the gate, with the GPU under load, the scenario checks what the
//! module has done; then the processes are ended and the gate is opened.

use anyhow::{bail, ensure, Context, Result};
use serde_json::json;

use super::contention::{accounts, armed, ready_again, urgent_goes_on, Contention};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::refusal::{is_armed, reload};
use crate::agent::errno;
use crate::background::{Background, Expect};
use crate::guest::{Guest, FILES};
use crate::image::AMDGPU;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "amdgpu cannot be unloaded while the module is there",
        needs: Needs::ONE_DIE,
        run: driver_is_held,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the GPU is unbound while a queue is stopped, and bound again",
        needs: Needs::ONE_DIE,
        run: unbound,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the module is loaded while the GPU is being unbound",
        needs: Needs::ONE_DIE,
        run: loaded_meanwhile,
    },
];

/// What a driver has that lets go of one GPU alone. That of Linux 6.12 has not: it counts
/// the GPU as suspended, takes all programs off all GPUs and lets none use KFD again, with
/// the module or without, until it is loaded anew.
pub(super) const LETS_GO: &str = "kgd2kfd_teardown_processes";

/// The first GPU.
pub(super) const GPU: &str = "0000:01:00.0";
const DRIVER: &str = "/sys/bus/pci/drivers/amdgpu";
/// The files of everything that the module shows.
const SHOWN: &str = "/sys/devices/faux/amd_gpreempt /sys/kernel/debug/amd_gpreempt";

/// The users that amdgpu has in a loaded module: what watches its GPUs, and what calls
/// its two functions.
pub(super) const HELD: u32 = 2;

fn users(guest: &mut Guest) -> Result<u32> {
    let text = guest.agent().read_file("/sys/module/amdgpu/refcnt")?;
    text.trim().parse().context("no number of users")
}

/// Waits until amdgpu has that many users. It releases a process some time after
/// the process has ended.
pub(super) fn wait_for_users(guest: &mut Guest, count: u32) -> Result<()> {
    let what = format!("amdgpu has {count} users");
    guest.wait_until(&what, PATIENCE, |guest| Ok(users(guest)? == count))
}

fn driver_is_held(guest: &mut Guest) -> Result<()> {
    const EAGAIN: i32 = 11;
    wait_for_users(guest, 0)?;
    let module = Module::load(guest, "")?;
    ensure!(users(guest)? == HELD, "amdgpu has {} users", users(guest)?);
    match guest.agent().rmmod("amdgpu") {
        Ok(()) => bail!("the driver went away under the module"),
        Err(error) => ensure!(errno(&error) == Some(EAGAIN), "{error:#}"),
    }
    armed(guest)?;
    module.unload(guest)?;
    ensure!(users(guest)? == 0, "amdgpu has {} users", users(guest)?);
    Ok(())
}

/// A device that is being unbound, and has come as far as the gate.
pub(super) struct Unbinding {
    device: String,
    unbind: Background,
}

impl Unbinding {
    const GATE: &str = "unbind_gate";

    pub(super) fn begin(guest: &mut Guest, device: &str) -> Result<Unbinding> {
        let parameters = format!("/sys/module/{}/parameters", Self::GATE);
        guest
            .agent()
            .insmod(&format!("{FILES}/{}.ko", Self::GATE), "")
            .context("no gate: scripts/build/gate builds it")?;
        let line = format!("echo {device} >{DRIVER}/unbind");
        let unbind = Background::shell(guest, &line, Expect::Success)?;
        guest.wait_until("unbinding has come to the gate", PATIENCE, |guest| {
            let waiting = guest.agent().read_file(&format!("{parameters}/waiting"))?;
            Ok(waiting.trim() == "Y")
        })?;
        Ok(Unbinding {
            device: device.into(),
            unbind,
        })
    }

    /// Lets the driver let go of the device, which no process may use any more.
    pub(super) fn go_on(&self, guest: &mut Guest) -> Result<()> {
        let open = format!("/sys/module/{}/parameters/open", Self::GATE);
        guest.agent().write_file(&open, "1")?;
        self.unbind.succeed(guest, PATIENCE)?;
        guest.agent().rmmod(Self::GATE)?;
        let bound = guest.agent().list(DRIVER)?;
        ensure!(!bound.contains(&self.device), "it is bound still");
        Ok(())
    }

    /// Has the driver take the device again, as one of so many. Returns its name.
    pub(super) fn bind(self, guest: &mut Guest, gpus: usize) -> Result<String> {
        let line = format!("echo {} >{DRIVER}/bind", self.device);
        guest.agent().shell(&line)?;
        guest.wait_for_gpus(gpus)?;
        Ok(self.device)
    }
}

/// Checks that nothing is shown of queues, and that all that is shown can be read.
fn nothing_is_watched(guest: &mut Guest) -> Result<()> {
    let queues = Table::Queues.read(guest)?;
    ensure!(queues.is_empty(), "{queues:?}");
    let line = format!("find {SHOWN} -type f -perm -400 -exec cat {{}} + >/dev/null");
    guest.agent().shell(&line).map(|_| ())
}

/// The module's folder of a GPU.
pub(super) fn folder(device: &str) -> String {
    format!("/sys/devices/faux/amd_gpreempt/gpu_{device}")
}

pub(super) fn unbound(guest: &mut Guest) -> Result<()> {
    let Contention { module, load } = Contention::start(guest, "", json!({}))?;
    let unbinding = Unbinding::begin(guest, GPU)?;
    // All of it runs as without the module, which looks no more.
    nothing_is_watched(guest)?;
    let passes = Table::Stats.sum(guest, "passes")?;
    accounts(guest)?;
    urgent_goes_on(guest, &load)?;
    nothing_is_watched(guest)?;
    ensure!(
        Table::Stats.sum(guest, "passes")? == passes,
        "it looks at a GPU of which it was told to let go"
    );
    load.kill(guest)?;
    wait_for_users(guest, HELD)?;
    unbinding.go_on(guest)?;
    nothing_is_watched(guest)?;
    // Nothing that is written to it now may reach the GPU.
    let state = format!("{}/node0/state", folder(GPU));
    guest.agent().write_file(&state, "armed")?;
    for mode in ["off", "observe", "enforce"] {
        module.set(guest, "mode", mode)?;
    }
    unbinding.bind(guest, 1)?;
    works_again(guest, module)
}

/// Checks that the module does its work on the GPU that is back, and unloads it. Where the
/// driver locks everybody out, it is loaded anew before the work.
fn works_again(guest: &mut Guest, mut module: Module) -> Result<()> {
    Table::Stats.wait_for_nodes(guest, 1)?;
    if !guest.image.kernel.driver_has(LETS_GO) {
        is_armed(guest)?;
        module.unload(guest)?;
        reload(guest, AMDGPU, "")?;
        guest.wait_for_gpus(1)?;
        module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    }
    ready_again(guest)?;
    armed(guest)?;
    module.unload(guest)?;
    wait_for_users(guest, 0)
}

/// The module looks for the driver's devices while one of them is being unbound.
/// Neither may wait for the other.
fn loaded_meanwhile(guest: &mut Guest) -> Result<()> {
    wait_for_users(guest, 0)?;
    let unbinding = Unbinding::begin(guest, GPU)?;
    let line = format!("insmod {FILES}/amd_gpreempt.ko mode=enforce {UNBOUNDED}");
    let loading = Background::shell(guest, &line, Expect::Success)?;
    // It waits where it registers for news of devices, just before it looks for them.
    guest.wait_until("the module meets the gate", PATIENCE, |guest| {
        let stacks = guest.agent().shell("cat /proc/[0-9]*/stack 2>&1 || true")?;
        Ok(stacks.contains("blocking_notifier_chain_register"))
    })?;
    unbinding.go_on(guest)?;
    loading.succeed(guest, PATIENCE)?;
    let module = Module::loaded();
    let nodes = Table::Stats.read(guest)?;
    ensure!(nodes.is_empty(), "it watches a GPU that is gone: {nodes:?}");
    unbinding.bind(guest, 1)?;
    works_again(guest, module)
}
