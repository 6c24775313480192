// SPDX-License-Identifier: GPL-2.0-only
//! The compute units of one die, and the workgroups on them.

use super::occupancy::{Footprint, Unit};
use super::pace::Pace;
use super::work::Running;
use crate::terms::{Config, GpuNanos, QueueKey};

/// A workgroup on a compute unit.
#[derive(Clone, Debug)]
pub struct Resident {
    pub queue: QueueKey,
    /// Number of the packet that launched it.
    pub packet: u64,
    pub unit: usize,
    pub footprint: Footprint,
    /// Waves per SIMD.
    pub simds: [u8; 4],
    /// What it asks for of a unit's throughput.
    pub demand: u64,
    pub running: Running,
    /// Distinguishes its end from that of an earlier workgroup in the same place.
    pub serial: u64,
}

#[derive(Clone)]
pub struct Die {
    units: Vec<Unit>,
    residents: Vec<Option<Resident>>,
    free: Vec<usize>,
    pace: Pace,
    /// Units with at least one wave.
    units_busy: u32,
    /// Where the next search for a unit starts.
    next_unit: usize,
    /// Of each pipe class, the queue that had the last turn.
    last_queues: [Option<QueueKey>; CLASSES.len()],
}

/// The pipe classes that queues can have, most urgent first.
pub const CLASSES: [u32; 4] = [3, 2, 1, 0];

impl Die {
    pub fn new(config: &Config) -> Die {
        Die {
            units: vec![Unit::new(config.local_memory().bytes); config.cu_per_xcc() as usize],
            residents: Vec::new(),
            free: Vec::new(),
            pace: Pace::new(config.cu_per_xcc().into()),
            units_busy: 0,
            next_unit: 0,
            last_queues: [None; CLASSES.len()],
        }
    }

    pub fn unit_count(&self) -> usize {
        self.units.len()
    }

    pub fn units_busy(&self) -> u32 {
        self.units_busy
    }

    pub fn waves(&self) -> u64 {
        self.units.iter().map(|unit| u64::from(unit.waves())).sum()
    }

    /// How fast its workgroups get on.
    pub fn pace(&mut self) -> &mut Pace {
        &mut self.pace
    }

    /// Puts queues of a class, which are in the order of their keys, into that of their
    /// turns: behind the one that had the last.
    pub fn sort_by_turns(&self, class: u32, queues: &mut [QueueKey]) {
        let last = self.last_queues[class as usize];
        let before = queues.partition_point(|queue| Some(*queue) <= last);
        queues.rotate_left(before);
    }

    /// A queue of a class had its turn.
    pub fn end_turn(&mut self, class: u32, queue: QueueKey) {
        self.last_queues[class as usize] = Some(queue);
    }

    /// The unit with the fewest waves among those that are allowed and have
    /// room, and how many waves each of its SIMDs would take.
    pub fn find_room(
        &mut self,
        footprint: &Footprint,
        allowed: impl Fn(usize) -> bool,
    ) -> Option<(usize, [u8; 4])> {
        let count = self.units.len();
        let found = (0..count)
            .map(|step| (self.next_unit + step) % count)
            .filter(|unit| allowed(*unit))
            .filter_map(|unit| Some((unit, self.units[unit].place(footprint)?)))
            .min_by_key(|(unit, _)| self.units[*unit].waves())?;
        self.next_unit = (found.0 + 1) % count;
        Some(found)
    }

    pub fn insert(&mut self, now: GpuNanos, resident: Resident) -> usize {
        self.pace.join(now, resident.demand);
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

    pub fn remove(&mut self, now: GpuNanos, index: usize) -> Option<Resident> {
        let resident = self.residents.get_mut(index)?.take()?;
        self.pace.leave(now, resident.demand);
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
    pub fn evict(&mut self, now: GpuNanos, queue: QueueKey) -> Vec<Resident> {
        let indices: Vec<usize> = self
            .residents()
            .filter(|(_, resident)| resident.queue == queue)
            .map(|(index, _)| index)
            .collect();
        indices
            .into_iter()
            .filter_map(|index| self.remove(now, index))
            .collect()
    }
}
