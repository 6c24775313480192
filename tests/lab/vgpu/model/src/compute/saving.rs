// SPDX-License-Identifier: GPL-2.0-only
//! Taking a queue's workgroups off the units, and the images in which they are
//! saved and restored.

use std::collections::VecDeque;

use super::die::Resident;
use super::dispatch::Dispatch;
use super::image::Image;
use super::pace::Pace;
use super::work::Suspended;
use super::Compute;
use crate::bus::Buses;
use crate::queue::Queue;
use crate::terms::{GpuNanos, QueueKey};

impl Compute {
    /// Takes a queue's workgroups off the units of some dies. Returns the bytes
    /// of registers, local memory and hardware state that they hold.
    pub fn evict(&mut self, bus: &mut Buses, key: QueueKey, account: usize, dies: u32) -> u64 {
        let now = bus.now();
        let mut bytes = 0;
        for die in (0..bus.config.xcc_count).filter(|die| (dies >> die) & 1 != 0) {
            let units = &mut self.dies[die as usize];
            let evicted = units.evict(now, key);
            for resident in &evicted {
                bus.accounts.left(now, account, resident.footprint.waves);
                bytes += resident.footprint.saved_bytes();
            }
            if let Some(load) = self.loads.get_mut(&key) {
                put_back(&mut load.dispatches, die, evicted, now, units.pace());
            }
        }
        bytes
    }

    /// A queue's waves are lost, and its dispatches with them.
    pub fn abandon(&mut self, key: QueueKey) {
        if let Some(load) = self.loads.get_mut(&key) {
            load.dispatches.clear();
        }
    }

    /// What a die must save, or none if the queue has nothing in flight.
    pub fn image(&self, key: QueueKey, die: u32, fetched: u64, now: GpuNanos) -> Option<Image> {
        Image::of(self.dispatches(key), die, fetched, now)
    }

    /// What these dies had in flight is in the save area.
    pub fn depart(&mut self, key: QueueKey, dies: u32) {
        if let Some(load) = self.loads.get_mut(&key) {
            load.depart(dies);
        }
    }

    /// Continues with what a die had saved.
    pub fn resume(&mut self, key: QueueKey, die: u32, image: Image) {
        if let Some(load) = self.loads.get_mut(&key) {
            let shares = load.shares_to_come();
            image.give_to(&mut load.dispatches, die, &shares);
        }
    }

    /// Dies were loaded and have what they had saved.
    pub fn join(&mut self, queue: &Queue, key: QueueKey) {
        if let Some(load) = self.loads.get_mut(&key) {
            let mask = queue.die_mask();
            load.join((0..32).filter(|die| (mask >> die) & 1 != 0));
        }
    }
}

/// Makes workgroups that were taken off a die wait for units again.
fn put_back(
    dispatches: &mut [Dispatch],
    die: u32,
    evicted: Vec<Resident>,
    now: GpuNanos,
    pace: &mut Pace,
) {
    let mut evicted = evicted;
    for dispatch in dispatches {
        let share = &mut dispatch.shares[die as usize];
        let is_own = |resident: &Resident| resident.packet == dispatch.packet;
        let (own, others): (Vec<Resident>, _) = evicted.into_iter().partition(is_own);
        evicted = others;
        let mut work: Vec<Suspended> = own
            .into_iter()
            .map(|resident| dispatch.work.suspend(resident.running, now, pace))
            .collect();
        work.sort_by_key(Suspended::workgroup);
        share.resident = 0;
        let mut waiting = VecDeque::from(work);
        waiting.append(&mut share.waiting);
        share.waiting = waiting;
    }
}
