// SPDX-License-Identifier: GPL-2.0-only

//! How many waves the hardware queues of a node have.

#![forbid(unsafe_code)]

use crate::driver::{
    gpu::{Away, Present},
    hardware::{HardwareSource, Waves},
};
use kernel::prelude::*;

/// The waves of each hardware queue of one node.
pub struct Occupancy(Waves);

impl Occupancy {
    /// Room for the answer.
    pub fn new() -> Result<Self> {
        Waves::new().map(Self)
    }

    /// Asks the hardware, which takes the locks of the register windows. No
    /// lock of the driver may be held.
    pub(crate) fn ask(
        &mut self,
        gpu: &Present<'_>,
        source: HardwareSource<'_>,
    ) -> Result<(), Away> {
        gpu.hardware()?.count_waves(source, &mut self.0);
        Ok(())
    }

    /// The waves of the queue with a doorbell, as far as the last answer says.
    pub(crate) fn waves(&self, doorbell: u32) -> u32 {
        let queues = self.0.queues().iter();
        queues
            .filter(|[_, of]| *of == doorbell)
            .fold(0, |sum: u32, [waves, _]| sum.saturating_add(*waves))
    }
}
