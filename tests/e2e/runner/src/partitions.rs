// SPDX-License-Identifier: GPL-2.0-only
//! How the driver has divided the GPU, of which each partition is a device of its own to
//! programs.

use std::time::Duration;

use anyhow::{ensure, Result};
use clap::ValueEnum;

use crate::agent::errno;
use crate::guest::Guest;
use crate::machine::Slot;

const PATIENCE: Duration = Duration::from_secs(300);

/// The driver's file that says how a GPU is divided, and takes how it is to be.
fn file(gpu: Slot) -> String {
    gpu.device() + "/current_compute_partition"
}

/// The modes of a GPU with eight dies. One with fewer has not all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Partitions {
    /// One, as the driver has it by itself.
    #[default]
    Spx,
    /// Two.
    Dpx,
    /// Four.
    Qpx,
    /// One for each die.
    Cpx,
}

impl Partitions {
    /// What the driver calls it.
    pub fn mode(self) -> &'static str {
        match self {
            Partitions::Spx => "SPX",
            Partitions::Dpx => "DPX",
            Partitions::Qpx => "QPX",
            Partitions::Cpx => "CPX",
        }
    }

    /// How many there are of a GPU with so many dies.
    pub fn count(self, dies: u32) -> u32 {
        match self {
            Partitions::Spx => 1,
            Partitions::Dpx => 2,
            Partitions::Qpx => 4,
            Partitions::Cpx => dies,
        }
    }

    /// Whether the driver divides a GPU with so many dies so.
    pub fn fits(self, dies: u32) -> bool {
        match self {
            Partitions::Spx => true,
            Partitions::Dpx => dies % 4 == 0,
            Partitions::Qpx => dies % 4 == 0 && dies >= 8,
            Partitions::Cpx => dies > 1,
        }
    }

    /// Whether the GPU is divided so.
    pub fn is_in_force(self, guest: &mut Guest) -> Result<bool> {
        self.is_in_force_at(guest, Slot::Gpu(0))
    }

    /// Has the driver divide the GPU as the suite wants it, when it has just taken it.
    pub fn restore(guest: &mut Guest) -> Result<()> {
        let wanted = guest.shape.partitions;
        if wanted == Partitions::Spx || wanted.is_in_force(guest)? {
            return Ok(());
        }
        wanted.divide(guest)
    }

    fn is_in_force_at(self, guest: &mut Guest, gpu: Slot) -> Result<bool> {
        Ok(guest.agent().read_file(&file(gpu))?.trim() == self.mode())
    }

    /// Has the driver divide the GPU so, or says that it will not, because a program has it,
    /// or is not gone altogether.
    pub fn try_to_divide(self, guest: &mut Guest) -> Result<bool> {
        self.try_to_divide_at(guest, Slot::Gpu(0))
    }

    fn try_to_divide_at(self, guest: &mut Guest, gpu: Slot) -> Result<bool> {
        const EBUSY: i32 = 16;
        match guest.agent().write_file(&file(gpu), self.mode()) {
            Ok(()) => Ok(true),
            Err(error) if errno(&error) == Some(EBUSY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Has the driver divide the GPU so as soon as it has let go of all programs.
    pub fn divide(self, guest: &mut Guest) -> Result<()> {
        self.divide_at(guest, Slot::Gpu(0))?;
        guest.wait_for_gpus(self.count(guest.shape.xcc) as usize)
    }

    /// The same of any GPU, whose nodes may take a while to be there.
    pub fn divide_at(self, guest: &mut Guest, gpu: Slot) -> Result<()> {
        let what = "the driver has let go of all programs";
        guest.wait_until(what, PATIENCE, |guest| self.try_to_divide_at(guest, gpu))?;
        let mode = self.mode();
        let divided = self.is_in_force_at(guest, gpu)?;
        ensure!(divided, "the GPU is not in mode {mode}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_divided_as_the_driver_has_it() {
        let fitting = |dies| {
            let all = Partitions::value_variants().iter();
            let all = all.filter(|each| each.fits(dies));
            all.map(|each| (each.mode(), each.count(dies)))
                .collect::<Vec<_>>()
        };
        assert_eq!(fitting(1), [("SPX", 1)]);
        assert_eq!(fitting(4), [("SPX", 1), ("DPX", 2), ("CPX", 4)]);
        let all = [("SPX", 1), ("DPX", 2), ("QPX", 4), ("CPX", 8)];
        assert_eq!(fitting(8), all);
    }
}
