// SPDX-License-Identifier: GPL-2.0-only
//! The scheduling policy on trial. The cases are played here as they are inside
//! the kernel; the model watches every property while random, exhaustive and
//! arbitrary inputs are fed in.

/// The written-down cases and what plays them, included as text because the
/// kernel includes the same text.
pub mod cases {
    include!("bench.rs");
    include!("cases.rs");
}

pub mod books;
pub mod random;
pub mod watch;
pub mod world;

use gpreempt_policy::{LevelSlot, Parts, ProcessSlot, QueueSlot, Storage, TenantSlot, LEVELS};

/// Storage of a scheduler in vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vectors {
    queues: Vec<QueueSlot>,
    processes: Vec<ProcessSlot>,
    tenants: Vec<TenantSlot>,
    levels: Vec<LevelSlot>,
}

impl Vectors {
    /// Room for so many queues, and as many processes and tenants.
    pub fn new(queues: usize) -> Vectors {
        Vectors {
            queues: vec![QueueSlot::default(); queues],
            processes: vec![ProcessSlot::default(); queues],
            tenants: vec![TenantSlot::default(); queues],
            levels: vec![LevelSlot::default(); LEVELS],
        }
    }
}

impl Storage for Vectors {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            queues: &mut self.queues,
            processes: &mut self.processes,
            tenants: &mut self.tenants,
            levels: &mut self.levels,
        }
    }
}
