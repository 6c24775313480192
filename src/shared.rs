// SPDX-License-Identifier: GPL-2.0-only

//! What all GPUs have in common.

use kernel::{
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc,
    },
};
use kfd::{
    act::hws::Hws,
    driver::driver::Driver,
    operator::{rules::Rules, sysfs::Root},
};

/// What all GPUs have in common.
pub(crate) struct Shared {
    /// The driver's functions for the hardware scheduler, if it has them.
    pub(crate) hws: Option<Hws>,
    /// The creation of a queue wakes the threads.
    pub(crate) creation_wakes: bool,
    /// The operator's rules.
    pub(crate) rules: Arc<Rules>,
    /// The device in sysfs.
    pub(crate) root: Root,
    /// The system is asleep or about to sleep: nothing may be stopped.
    asleep: Atomic<bool>,
}

impl Shared {
    /// Looks up the driver's functions and creates the device in sysfs.
    pub(crate) fn new(driver: &Driver, creation_wakes: bool) -> Result<Arc<Self>> {
        let hws = Hws::bind(driver)
            .inspect_err(|_| pr_warn!("backend=hws cannot be used with this amdgpu\n"))
            .ok();
        let rules = Arc::pin_init(Rules::new(), GFP_KERNEL)?;
        let shared = Self {
            hws,
            creation_wakes,
            root: Root::new(rules.clone())?,
            rules,
            asleep: Atomic::new(false),
        };
        Ok(Arc::new(shared, GFP_KERNEL)?)
    }

    /// Whether nothing may be stopped, because the system is about to sleep.
    pub(crate) fn is_asleep(&self) -> bool {
        // Set before the GPU's mutex is taken to start everything. This is read
        // with that mutex held, so that a pass either sees it or is over by then.
        self.asleep.load(Relaxed)
    }

    /// Forbids stops while the system sleeps, or allows them again.
    pub(crate) fn set_asleep(&self, asleep: bool) {
        self.asleep.store(asleep, Relaxed);
    }
}
