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

pub mod random;
pub mod watch;
pub mod world;

use gpreempt_policy::{PairSlot, Parts, ProcessSlot, QueueSlot, Storage};

/// Storage of a scheduler in vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vectors {
    queues: Vec<QueueSlot>,
    processes: Vec<ProcessSlot>,
    pairs: Vec<PairSlot>,
}

impl Vectors {
    /// Room for so many queues and processes, and pairs.
    pub fn new(queues: usize, pairs: usize) -> Vectors {
        Vectors {
            queues: vec![QueueSlot::default(); queues],
            processes: vec![ProcessSlot::default(); queues],
            pairs: vec![PairSlot::default(); pairs],
        }
    }
}

impl Storage for Vectors {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            queues: &mut self.queues,
            processes: &mut self.processes,
            pairs: &mut self.pairs,
        }
    }
}
