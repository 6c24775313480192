// SPDX-License-Identifier: GPL-2.0-only

//! AMD GPREEMPT: priority inversion between the queues of AMD GPUs, found and
//! ended inside the kernel.
//!
//! Data flows one way: what crate `kfd` sees of the queues goes into the policy
//! (crate `gpreempt_policy`), and what the policy decides goes back to `kfd` to
//! be carried out, and to the inspection files to be seen. This crate holds the
//! loop that does so, one kernel thread for each GPU; unsafe code is denied here.

use kernel::prelude::*;

mod engine;
mod fleet;
mod inspection;
mod monitor;
mod node;
mod shared;
mod values;

use fleet::Fleet;
use fleet::FleetListener;
use fleet::FleetSleeper;
use kfd::driver::driver::Driver;
use kfd::driver::driver::Watch;
use kfd::kernel::sleep::SleepWatch;

module! {
    type: Gpreempt,
    name: "amd_gpreempt",
    authors: ["The AMD GPREEMPT authors"],
    description: "Preemptive scheduling of AMD compute queues by priority",
    license: "GPL",
}

/// The loaded module. The fields are dropped in their order: first nobody looks
/// any more, then the GPUs are let go of, and amdgpu last.
#[pin_data]
struct Gpreempt {
    _files: kfd::operator::files::Folder,
    _creation: Option<kfd::kernel::wake::CreationWatch>,
    #[pin]
    _sleep: SleepWatch<FleetSleeper>,
    #[pin]
    _watch: Watch<FleetListener>,
}

impl kernel::InPlaceModule for Gpreempt {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        kfd::kernel::clock::start();
        pin_init::pin_init_scope(|| {
            let driver = find_driver()?;
            let creation = watch_creation();
            let fleet = Fleet::new(&driver, creation.is_some())?;
            let files = inspection::files(&fleet)?;
            // The files appear when nothing can fail any more.
            Ok(try_pin_init!(Self {
                _creation: creation,
                _sleep <- SleepWatch::new(FleetSleeper(fleet.clone())),
                _watch <- Watch::new(driver, FleetListener(fleet)).pin_chain(|watch| watch.find()),
                _files: files.appear(inspection::FOLDER),
            }? Error))
        })
    }
}

/// Finds amdgpu and sees that it is the one that the module was built for.
fn find_driver() -> Result<Driver> {
    let driver = Driver::pin().inspect_err(|_| {
        pr_err!("amdgpu is not loaded: load it first (modprobe amdgpu)\n");
    })?;
    driver.check_build()?;
    Ok(driver)
}

/// Has the creation of queues wake the monitors, if the kernel can do that.
fn watch_creation() -> Option<kfd::kernel::wake::CreationWatch> {
    kfd::kernel::wake::CreationWatch::start()
        .inspect_err(|error| {
            pr_info!(
                "the creation of a queue cannot be watched ({:?}): polling each idle_poll_ms while there are none\n",
                error
            );
        })
        .ok()
}
