// SPDX-License-Identifier: GPL-2.0-only
//! The compute engine: units, the dispatches in flight, the workgroups on the
//! units, and the images in which their state is saved and restored.
//!
//! Only `work.rs` and `machine` know what a workgroup executes.

mod die;
mod dispatch;
mod finish;
mod image;
mod kernel;
mod launch;
mod load;
mod machine;
mod occupancy;
mod pace;
mod relaunch;
mod saving;
mod show;
mod work;

pub use dispatch::Dispatch;
pub use finish::context;
pub use image::{Image, RECORD};
pub use kernel::Kernel;
pub use machine::{private_bytes, Direct, Group, Origin, Program, Scratch, Trouble};
#[cfg(test)]
pub use occupancy::Footprint;
pub use work::Work;

use std::collections::BTreeMap;

use crate::terms::{Config, QueueKey, ReadPointer};
use die::Die;
use load::Load;

/// Counters of a die.
const COUNTERS: usize = 64;

#[derive(Clone)]
pub struct Compute {
    dies: Vec<Die>,
    units_per_engine: usize,
    /// What each queue that is loaded has in flight.
    loads: BTreeMap<QueueKey, Load>,
    /// Of each die, those by which waves of different workgroups wait (GWS).
    counters: Vec<[u32; COUNTERS]>,
    /// Instructions that were executed since the owner asked the last time.
    executed: u64,
}

impl Compute {
    pub fn new(config: &Config) -> Compute {
        Compute {
            dies: (0..config.xcc_count).map(|_| Die::new(config)).collect(),
            units_per_engine: config.cu_per_shader_engine as usize,
            loads: BTreeMap::new(),
            counters: vec![[0; COUNTERS]; config.xcc_count as usize],
            executed: 0,
        }
    }

    /// Instructions that were executed since this was asked the last time.
    pub fn take_executed(&mut self) -> u64 {
        std::mem::take(&mut self.executed)
    }

    /// A compute queue was loaded, of a partition of these dies.
    pub fn open(&mut self, config: &Config, key: QueueKey, dies: u32) {
        self.loads.insert(key, Load::new(config, dies));
    }

    /// A queue is no longer loaded.
    pub fn close(&mut self, key: QueueKey) {
        self.loads.remove(&key);
    }

    /// Which units of a die a queue may use, by shader engine.
    pub fn set_mask(&mut self, key: QueueKey, die: u32, mask: [u32; 4]) {
        if let Some(load) = self.loads.get_mut(&key) {
            load.set_mask(die, mask);
        }
    }

    /// A die's turn when a queue's workgroups are dealt, and how many are dealt
    /// at a time.
    pub fn set_dealing(&mut self, key: QueueKey, die: u32, logical: u32, chunk: u32) {
        if let Some(load) = self.loads.get_mut(&key) {
            load.set_dealing(die, logical, chunk);
        }
    }

    /// One die runs all workgroups of a queue.
    pub fn set_only_die(&mut self, key: QueueKey, die: u32) {
        if let Some(load) = self.loads.get_mut(&key) {
            load.set_only_die(die);
        }
    }

    fn dispatches(&self, key: QueueKey) -> &[Dispatch] {
        self.loads.get(&key).map_or(&[], |load| &load.dispatches)
    }

    /// Dispatches of a queue that are not complete.
    pub fn in_flight(&self, key: QueueKey) -> usize {
        self.dispatches(key).len()
    }

    /// The newest dispatch of a queue still has workgroups to launch.
    pub fn is_launching(&self, key: QueueKey) -> bool {
        let last = self.dispatches(key).last();
        last.is_some_and(|dispatch| !dispatch.is_launched())
    }

    /// The oldest packet that the read pointer of a queue may not pass.
    pub fn holds_pointer(&self, when: ReadPointer, key: QueueKey) -> Option<u64> {
        let holds = |dispatch: &&Dispatch| match when {
            ReadPointer::Fetch => false,
            ReadPointer::Launch => !dispatch.is_launched(),
            ReadPointer::Completion => true,
        };
        let first = self.dispatches(key).iter().find(holds);
        first.map(|dispatch| dispatch.packet)
    }

    /// Workgroups of a queue on the units of some dies.
    pub fn resident(&self, key: QueueKey, dies: u32) -> u64 {
        self.loads.get(&key).map_or(0, |load| load.resident(dies))
    }

    /// Workgroups of a queue that were taken off their units.
    pub fn waiting(&self, key: QueueKey) -> u64 {
        self.loads.get(&key).map_or(0, Load::waiting)
    }
}
