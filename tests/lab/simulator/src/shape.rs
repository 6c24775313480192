// SPDX-License-Identifier: GPL-2.0-only

//! Requests of a few kernels of any shape, for loads that no policy was chosen with.

use crate::gpu::{Gpu, Nanos, FULL_DEMAND, SLOTS_PER_CU, STATE_BYTES_PER_CU};
use crate::kernel::{Kernel, Program};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Workgroups that a compute unit holds at once.
const PER_CU: u64 = 4;
/// As many different requests as there are where the times of kernels differ.
const VARIANTS: u64 = 16;
/// What a second is to a kernel that never ends: no run lasts a hundred thousand.
const NEVER: Nanos = 100_000 * 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Grid {
    /// Quarters of all workgroups that the node holds at once.
    Quarters(u32),
    Workgroups(u32),
}

/// Some kernels, each in a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Shape {
    pub kernels: u32,
    /// The times of workgroups lie between these, in logarithms evenly: kernel by kernel
    /// and request by request another one.
    pub least: Nanos,
    pub most: Nanos,
    pub grid: Grid,
    /// By how many percent workgroups of one kernel differ from its time.
    pub spread: u8,
}

impl Shape {
    /// Kernels that all last as long.
    pub const fn new(kernels: u32, time: Nanos, grid: Grid) -> Self {
        Self::between(kernels, time, time, grid)
    }

    pub const fn between(kernels: u32, least: Nanos, most: Nanos, grid: Grid) -> Self {
        Self {
            kernels,
            least,
            most,
            grid,
            spread: 0,
        }
    }

    /// One that fills the node and does not end.
    pub const fn endless() -> Self {
        Self::new(1, NEVER, Grid::Quarters(4))
    }

    pub const fn with_spread(self, spread: u8) -> Self {
        Self { spread, ..self }
    }

    /// The requests, each as likely as the others.
    pub fn programs(self, gpu: &Gpu) -> Vec<Program> {
        let variants = if self.least < self.most { VARIANTS } else { 1 };
        (0..variants)
            .map(|variant| {
                let mut random = ChaCha8Rng::seed_from_u64(variant);
                (0..u64::from(self.kernels))
                    .map(|kernel| {
                        // Any sixteen in a row have one of each sixteenth of the lengths.
                        let sixteenth = (variant + 7 * kernel) % VARIANTS;
                        let part = (sixteenth as f64 + random.random::<f64>()) / VARIANTS as f64;
                        self.kernel(gpu, part)
                    })
                    .collect()
            })
            .collect()
    }

    /// A kernel whose time is this part of the way from the least to the most.
    fn kernel(self, gpu: &Gpu, part: f64) -> Kernel {
        let workgroups = match self.grid {
            Grid::Quarters(quarters) => u64::from(quarters) * gpu.compute_units * PER_CU / 4,
            Grid::Workgroups(count) => count.into(),
        } as u32;
        let ratio = self.most as f64 / self.least as f64;
        let time = (self.least as f64 * ratio.powf(part)) as Nanos;
        let slots = SLOTS_PER_CU / PER_CU;
        let grain = match self.spread {
            0 => Kernel::grain_for(workgroups, slots, time, gpu.slots()),
            _ => Kernel::aligned(time),
        };
        Kernel {
            workgroups,
            slots,
            demand: FULL_DEMAND / PER_CU,
            time,
            spread: self.spread,
            waves: 4,
            state_bytes: STATE_BYTES_PER_CU / PER_CU,
            grain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::alone;

    #[test]
    fn a_grid_is_of_the_node_or_of_a_number() {
        let gpu = Gpu::mi300x_cpx();
        let workgroups = |grid| Shape::new(1, 1_000, grid).programs(&gpu)[0][0].workgroups;
        assert_eq!(workgroups(Grid::Quarters(1)), 38);
        assert_eq!(workgroups(Grid::Quarters(8)), 2 * 4 * 38);
        assert_eq!(workgroups(Grid::Workgroups(4)), 4);
    }

    #[test]
    fn times_lie_between_their_bounds_and_differ() {
        let gpu = Gpu::mi300x_cpx();
        let shape = Shape::between(32, 20_000, 60_000, Grid::Quarters(1));
        let programs = shape.programs(&gpu);
        assert_eq!(programs.len(), VARIANTS as usize);
        let times: Vec<Nanos> = programs
            .iter()
            .flat_map(|program| program.iter().map(|kernel| kernel.time))
            .collect();
        assert_eq!(times.len(), 32 * VARIANTS as usize);
        assert!(times.iter().all(|time| (20_000..=60_000).contains(time)));
        let low = times.iter().filter(|&&time| time < 34_600).count();
        assert!((200..312).contains(&low), "{low}");
        assert_eq!(programs, shape.programs(&gpu));
    }

    #[test]
    fn a_kernel_without_a_spread_or_with_one_takes_its_time_alone() {
        let gpu = Gpu {
            packet_processing: 0,
            ..Gpu::mi300x_cpx()
        };
        let time = |shape: Shape| alone(&gpu, &shape.programs(&gpu)[0]);
        let shape = Shape::new(3, 1_000_000, Grid::Quarters(4));
        assert_eq!(time(shape), 3_000_000);
        // Each kernel ends with its longest workgroup.
        let spread = time(shape.with_spread(50));
        assert!((4_450_000..4_650_000).contains(&spread), "{spread}");
        assert!(time(Shape::endless()) >= NEVER);
    }
}
