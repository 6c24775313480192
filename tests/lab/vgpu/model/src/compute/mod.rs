// SPDX-License-Identifier: GPL-2.0-only
//! The compute units and the work on them. Work is countable: a workgroup
//! occupies a unit for a given time and then adds 1 to its own counter.

mod dispatch;
mod kernel;
mod launch;
mod occupancy;

pub use dispatch::{Dispatch, SavedWork, Share};
pub use kernel::Kernel;
pub use occupancy::{Footprint, Unit};

use crate::terms::{Config, GpuNanos, QueueKey};

/// A workgroup on a compute unit.
#[derive(Clone, Debug)]
pub struct Resident {
    pub queue: QueueKey,
    /// Number of the packet that launched it.
    pub packet: u64,
    pub workgroup: u64,
    pub unit: usize,
    pub footprint: Footprint,
    /// Waves per SIMD.
    pub simds: [u8; 4],
    pub ends: GpuNanos,
    /// Tells its end from that of an earlier tenant of the same place.
    pub serial: u64,
}

/// The compute units of one die.
pub struct Die {
    pub units: Vec<Unit>,
    residents: Vec<Option<Resident>>,
    free: Vec<usize>,
    /// Units with at least one wave.
    pub units_busy: u32,
    /// Where the search for a unit and the turn among queues go on.
    next_unit: usize,
    next_queue: u64,
}

impl Die {
    pub fn insert(&mut self, resident: Resident) -> usize {
        let unit = &mut self.units[resident.unit];
        self.units_busy += u32::from(unit.waves() == 0);
        unit.occupy(&resident.footprint, resident.simds);
        match self.free.pop() {
            Some(index) => {
                self.residents[index] = Some(resident);
                index
            }
            None => {
                self.residents.push(Some(resident));
                self.residents.len() - 1
            }
        }
    }

    pub fn remove(&mut self, index: usize) -> Option<Resident> {
        let resident = self.residents.get_mut(index)?.take()?;
        let unit = &mut self.units[resident.unit];
        unit.release(&resident.footprint, resident.simds);
        self.units_busy -= u32::from(unit.waves() == 0);
        self.free.push(index);
        Some(resident)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Resident> {
        self.residents.get_mut(index)?.as_mut()
    }

    pub fn residents(&self) -> impl Iterator<Item = (usize, &Resident)> {
        let with_index = self.residents.iter().enumerate();
        with_index.filter_map(|(index, place)| place.as_ref().map(|resident| (index, resident)))
    }

    /// Takes all workgroups of a queue off the units.
    pub fn evict(&mut self, queue: QueueKey) -> Vec<Resident> {
        let indices: Vec<usize> = self
            .residents()
            .filter(|(_, resident)| resident.queue == queue)
            .map(|(index, _)| index)
            .collect();
        indices
            .into_iter()
            .filter_map(|index| self.remove(index))
            .collect()
    }
}

pub struct Compute {
    pub dies: Vec<Die>,
    pub units_per_engine: usize,
}

impl Compute {
    pub fn new(config: &Config) -> Compute {
        let die = || Die {
            units: vec![Unit::default(); config.cu_per_xcc() as usize],
            residents: Vec::new(),
            free: Vec::new(),
            units_busy: 0,
            next_unit: 0,
            next_queue: 0,
        };
        Compute {
            dies: (0..config.xcc_count).map(|_| die()).collect(),
            units_per_engine: config.cu_per_shader_engine as usize,
        }
    }
}
