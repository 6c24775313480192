// SPDX-License-Identifier: GPL-2.0-only

//! AMD GPREEMPT: finds priority inversions between the queues of AMD GPUs and ends
//! them, inside the kernel.
//!
//! Data flows one way: what crate `kfd` sees of the queues goes into the policy
//! (crate `gpreempt_policy`), and what the policy decides goes back to `kfd`, which
//! carries it out, and to the inspection files, which show it. This crate holds the
//! loop that does so, in one kernel thread for each node. Unsafe code is denied here.

use kernel::prelude::*;

mod fleet;
mod inspection;
mod monitor;
mod node;
mod node_thread;
mod shared;
mod values;

use fleet::{Fleet, FleetListener, FleetSleeper};
use kfd::{
    driver::driver::{Driver, Watch},
    kernel::{hint::HintDevice, sleep::SleepWatch},
};

module! {
    type: Gpreempt,
    name: "amd_gpreempt",
    authors: ["The AMD GPREEMPT authors"],
    description: "Preemptive scheduling of AMD compute queues by priority",
    license: "GPL",
}

/// The loaded module. The fields are dropped in their order: the files go first,
/// then the GPUs are let go of, with amdgpu. Until then the system does not sleep, so that
/// the notice of its sleep comes last.
#[pin_data]
struct Gpreempt {
    _hints: Option<HintDevice>,
    _files: kfd::operator::files::Folder<inspection::File>,
    _creation: Option<kfd::kernel::wake::CreationWatch>,
    #[pin]
    _watch: Watch<FleetListener>,
    #[pin]
    _sleep: SleepWatch<FleetSleeper>,
}

impl kernel::InPlaceModule for Gpreempt {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        kfd::kernel::clock::start();
        pin_init::pin_init_scope(|| {
            let driver = find_driver()?;
            let creation = watch_creation();
            let fleet = Fleet::new(&driver, creation.is_some())?;
            let files = inspection::files(&fleet)?;
            // The files and the device appear once nothing can fail any more.
            Ok(try_pin_init!(Self {
                _creation: creation,
                _sleep <- SleepWatch::new(FleetSleeper(fleet.clone())),
                _watch <- Watch::new(driver, FleetListener(fleet)).pin_chain(|watch| watch.find()),
                _files: files.appear(inspection::FOLDER),
                _hints: take_hints(),
            }? Error))
        })
    }
}

/// Finds amdgpu and finds out where it has what the module uses.
fn find_driver() -> Result<Driver> {
    let driver = Driver::pin().inspect_err(|_| {
        pr_err!("amdgpu is not loaded: load it first (modprobe amdgpu)\n");
    })?;
    driver.learn_layout()
}

/// Has the creation of queues wake the monitors, if the kernel can do that.
fn watch_creation() -> Option<kfd::kernel::wake::CreationWatch> {
    kfd::kernel::wake::CreationWatch::start()
        .inspect_err(|error| {
            pr_info!(
                "the creation of queues cannot be watched ({:?}): polling every idle_poll_ms while there are none\n",
                error
            );
        })
        .ok()
}

/// Creates the device by which programs give hints.
fn take_hints() -> Option<HintDevice> {
    HintDevice::appear()
        .inspect_err(|error| {
            pr_warn!(
                "programs cannot give hints: /dev/amd_gpreempt cannot be made ({:?})\n",
                error
            );
        })
        .ok()
}
