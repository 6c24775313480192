// SPDX-License-Identifier: GPL-2.0

//! AMD GPREEMPT: priority inversion between the queues of AMD GPUs, found and
//! ended inside the kernel.

use kernel::prelude::*;

module! {
    type: Gpreempt,
    name: "amd_gpreempt",
    authors: ["The AMD GPREEMPT authors"],
    description: "Preemptive scheduling of AMD compute queues by priority",
    license: "GPL",
}

/// The loaded module. The fields are dropped in their order.
#[pin_data]
struct Gpreempt {
    #[pin]
    driver: kfd::driver::Driver,
}

impl kernel::InPlaceModule for Gpreempt {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            driver: kfd::driver::Driver::pin().inspect_err(|_| {
                pr_err!("amdgpu is not loaded: load it first (modprobe amdgpu)\n");
            })?,
        }? Error)
    }
}
