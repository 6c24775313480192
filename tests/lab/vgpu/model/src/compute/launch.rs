// SPDX-License-Identifier: GPL-2.0-only
//! Giving workgroups to compute units, and what happens when they end.
//!
//! A queue's pipe class orders who is served first when units are free. It
//! takes nothing away from workgroups that run: that is what makes a priority
//! inversion possible.

use std::collections::BTreeSet;

use super::dispatch::Deal;
use super::{Dispatch, Resident, SavedWork, Share};
use crate::gpu::{Event, Gpu};
use crate::queue::Queue;
use crate::terms::{GpuNanos, Occupancy, QueueKey, ReadPointer, Slot};

/// The pipe classes, most urgent first.
const CLASSES: [u32; 4] = [3, 2, 1, 0];

impl Queue {
    pub fn deal(&self, die: u32) -> Deal {
        let dies = self.logical_dies.len().max(1) as u64;
        let position = self.logical_dies.get(die as usize).copied().unwrap_or(0);
        Deal {
            dies,
            position: u64::from(position) % dies,
            chunk: self.chunk.max(1),
        }
    }

    /// The share of a die that has not begun with it.
    fn whole_share(&self, die: u32, workgroups: u64) -> Share {
        Share {
            present: true,
            total: self.deal(die).total(workgroups),
            ..Share::default()
        }
    }

    /// Dies were loaded, and what they had saved is there: each that is loaded
    /// gets its share of the dispatches that began without it.
    pub fn join(&mut self) {
        for position in 0..self.dispatches.len() {
            for die in self.dies() {
                let dispatch = &self.dispatches[position];
                if !dispatch.shares[die as usize].present {
                    let share = self.whole_share(die, dispatch.workgroups);
                    self.dispatches[position].shares[die as usize] = share;
                }
            }
        }
    }

    fn has_work_for(&self, die: u32) -> bool {
        self.dispatches.iter().any(|dispatch| {
            dispatch.shares.get(die as usize).is_some_and(|share| {
                share.present && (share.next < share.total || !share.waiting.is_empty())
            })
        })
    }

    /// Whether it may put workgroups on a die.
    fn may_launch(&self, die: u32) -> bool {
        self.fault.is_none()
            && self.is_on(die)
            && (self.restoring >> die) & 1 == 0
            && self
                .leaving
                .as_ref()
                .is_none_or(|leaving| (leaving.dies >> die) & 1 == 0)
    }

    pub fn resident_workgroups(&self) -> u64 {
        let shares = self.dispatches.iter().flat_map(|dispatch| &dispatch.shares);
        shares.map(|share| share.resident).sum()
    }
}

impl Gpu {
    /// A dispatch packet was read: its workgroups are dealt to the dies.
    pub fn begin_dispatch(&mut self, key: QueueKey, mut dispatch: Dispatch) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        dispatch.shares = vec![Share::default(); self.config.xcc_count as usize];
        for die in queue.dies() {
            dispatch.shares[die as usize] = queue.whole_share(die, dispatch.workgroups);
        }
        self.accounts
            .dispatch_begins(self.now, queue.account, &dispatch);
        queue.dispatches.push(dispatch);
    }

    pub fn launch_all(&mut self) {
        for die in 0..self.config.xcc_count {
            self.launch(die);
        }
    }

    /// Fills the free compute units of a die.
    pub fn launch(&mut self, die: u32) {
        if !self.faults.hung {
            self.fill_units(die);
        }
        let busy = self.compute.dies[die as usize].units_busy;
        self.accounts.units_changed(self.now, die, busy);
    }

    fn fill_units(&mut self, die: u32) {
        let mut reserved = vec![false; self.compute.dies[die as usize].units.len()];
        let mut launched = BTreeSet::new();
        for class in CLASSES {
            let mut contenders: Vec<QueueKey> = self
                .queues
                .iter()
                .filter(|(_, queue)| {
                    queue.pipe_priority == class && queue.may_launch(die) && queue.has_work_for(die)
                })
                .map(|(key, _)| key)
                .collect();
            if contenders.is_empty() {
                continue;
            }
            // Equals take turns, and the turn goes on where it stopped.
            let turn = self.compute.dies[die as usize].next_queue as usize;
            let count = contenders.len();
            contenders.rotate_left(turn % count);
            let mut stuck = Vec::new();
            while !contenders.is_empty() {
                contenders.retain(|key| match self.launch_one(die, *key, &reserved) {
                    Launched::Yes => {
                        launched.insert(*key);
                        true
                    }
                    Launched::NoRoom => {
                        stuck.push(*key);
                        false
                    }
                    Launched::NoWork => false,
                });
            }
            self.compute.dies[die as usize].next_queue += 1;
            // A class waits for room: the ones below it leave it that room.
            for key in stuck {
                if let Some(queue) = self.queues.get(key) {
                    for (unit, taken) in reserved.iter_mut().enumerate() {
                        *taken |= allows(queue, die, unit, self.compute.units_per_engine);
                    }
                }
            }
        }
        for key in launched {
            self.dispatches_launched(key);
        }
    }

    fn launch_one(&mut self, die: u32, key: QueueKey, reserved: &[bool]) -> Launched {
        let Some(queue) = self.queues.get_mut(key) else {
            return Launched::NoWork;
        };
        let index = die as usize;
        let wanted = |dispatch: &Dispatch| {
            let share = &dispatch.shares[index];
            share.present && (share.next < share.total || !share.waiting.is_empty())
        };
        let Some(position) = queue.dispatches.iter().position(wanted) else {
            return Launched::NoWork;
        };
        let footprint = queue.dispatches[position].footprint();
        let engine_units = self.compute.units_per_engine;
        let units = &mut self.compute.dies[index];
        let count = units.units.len();
        let first = units.next_unit;
        let found = (0..count)
            .map(|step| (first + step) % count)
            .filter(|unit| !reserved[*unit] && allows(queue, die, *unit, engine_units))
            .filter_map(|unit| {
                units.units[unit]
                    .place(&footprint)
                    .map(|simds| (unit, simds))
            })
            .min_by_key(|(unit, _)| units.units[*unit].waves());
        let Some((unit, simds)) = found else {
            return Launched::NoRoom;
        };
        units.next_unit = (unit + 1) % count;
        let deal = queue.deal(die);
        let dispatch = &mut queue.dispatches[position];
        let share = &mut dispatch.shares[index];
        let work = share.waiting.pop_front().unwrap_or_else(|| {
            let work = SavedWork {
                workgroup: deal.workgroup(share.next),
                remaining: dispatch.cost,
            };
            share.next += 1;
            work
        });
        share.resident += 1;
        dispatch.started.get_or_insert(self.now);
        let ends = self.now.after(work.remaining);
        self.serial += 1;
        let serial = self.serial;
        let resident = units.insert(Resident {
            queue: key,
            packet: dispatch.packet,
            workgroup: work.workgroup,
            unit,
            footprint,
            simds,
            ends,
            serial,
        });
        self.events.push(
            ends,
            Event::WorkgroupEnd {
                xcc: die,
                index: resident,
                serial,
            },
        );
        self.accounts
            .launched(self.now, queue.account, footprint.waves);
        Launched::Yes
    }

    /// Some workgroups of a queue were launched: its newest dispatch may have
    /// none left to launch.
    fn dispatches_launched(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let Some(last) = queue.dispatches.last() else {
            return;
        };
        if !last.is_launched() {
            return;
        }
        let number = last.packet;
        if self.config.read_pointer == ReadPointer::Launch {
            self.aql_pass(key, number);
        }
        self.kick(key);
    }

    pub fn workgroup_end(&mut self, die: u32, index: usize, serial: u64) {
        let place = &mut self.compute.dies[die as usize];
        let Some(resident) = place.get_mut(index).filter(|r| r.serial == serial) else {
            return;
        };
        let key = resident.queue;
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        if self.faults.endless.contains(&queue.doorbell_offset()) {
            resident.ends = GpuNanos::NEVER;
            return;
        }
        let Some(resident) = place.remove(index) else {
            return;
        };
        let account = queue.account;
        self.accounts
            .left(self.now, account, resident.footprint.waves);
        self.count_workgroup(die, &resident);
        self.exit_progress(key);
        self.launch(die);
    }

    /// Workgroups that a fault keeps from ending are released when it is
    /// lifted.
    pub fn release_endless(&mut self) {
        let now = self.now;
        for die in 0..self.config.xcc_count {
            let ended: Vec<(usize, u64, QueueKey, u64)> = self.compute.dies[die as usize]
                .residents()
                .filter(|(_, resident)| resident.ends == GpuNanos::NEVER)
                .map(|(index, r)| (index, r.serial, r.queue, r.packet))
                .collect();
            for (index, serial, key, packet) in ended {
                let lifted = self.queues.get(key).is_some_and(|queue| {
                    !self.faults.endless.contains(&queue.doorbell_offset())
                        && queue
                            .dispatches
                            .iter()
                            .any(|d| d.packet == packet && d.cost != u64::MAX)
                });
                if lifted {
                    self.events.push(
                        now,
                        Event::WorkgroupEnd {
                            xcc: die,
                            index,
                            serial,
                        },
                    );
                }
            }
        }
    }

    fn count_workgroup(&mut self, die: u32, resident: &Resident) {
        let key = resident.queue;
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let space = queue.space;
        let Some(position) = queue
            .dispatches
            .iter()
            .position(|d| d.packet == resident.packet)
        else {
            return;
        };
        let dispatch = &mut queue.dispatches[position];
        let share = &mut dispatch.shares[die as usize];
        share.resident -= 1;
        share.done += 1;
        let counter = dispatch.counters + resident.workgroup * 4;
        let is_done = dispatch.is_done();
        if let Err(fault) = self.memory.add_u32(space, counter, 1) {
            self.memory_fault(key, fault, "workgroup counter");
            return;
        }
        let account = queue.account;
        self.accounts.workgroup_done(account);
        if is_done {
            self.dispatch_done(key, position);
        }
    }

    pub fn dispatch_done(&mut self, key: QueueKey, position: usize) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let dispatch = queue.dispatches.remove(position);
        let (space, account) = (queue.space, queue.account);
        self.accounts
            .dispatch_ends(self.now, account, dispatch.packet);
        // Where it passes at the launch, it may not have yet: a die may have ended
        // the last workgroups before another was back.
        self.aql_pass(key, dispatch.packet);
        if dispatch.signal != 0 {
            let started = dispatch.started.or(Some(self.now));
            if let Err(fault) = self.complete_signal(key, space, dispatch.signal, started) {
                self.memory_fault(key, fault, "completion signal");
            }
        }
        self.kick(key);
    }

    // What the wave status registers show.

    fn is_in_engine(&self, unit: usize, engine: Option<u32>) -> bool {
        engine.is_none_or(|engine| unit / self.compute.units_per_engine == engine as usize)
    }

    /// Bit per slot of the first micro engine that has waves on an engine.
    pub fn wave_status(&self, die: u32, engine: Option<u32>) -> u32 {
        let mut bits = 0;
        for (_, resident) in self.compute.dies[die as usize].residents() {
            if self.is_in_engine(resident.unit, engine) {
                let queue = self.queues.get(resident.queue);
                if let Some(slot) = queue.and_then(Queue::slot).filter(|slot| slot.me == 1) {
                    bits |= 1 << slot.mask_bit();
                }
            }
        }
        bits
    }

    pub fn wave_count(&self, die: u32, slot: Slot, engine: Option<u32>) -> u32 {
        let Some(key) = self.queues.in_slot(die, slot) else {
            return 0;
        };
        let residents = self.compute.dies[die as usize].residents();
        residents
            .filter(|(_, r)| r.queue == key && self.is_in_engine(r.unit, engine))
            .map(|(_, r)| r.footprint.waves)
            .sum()
    }

    pub fn occupancy(&self) -> Vec<Occupancy> {
        let dies = self.compute.dies.iter().zip(0..);
        dies.map(|(die, xcc)| Occupancy {
            xcc,
            units: die.units.len() as u32,
            units_busy: die.units.iter().filter(|unit| unit.waves() > 0).count() as u32,
            waves: die.units.iter().map(|unit| u64::from(unit.waves())).sum(),
        })
        .collect()
    }
}

enum Launched {
    Yes,
    NoRoom,
    NoWork,
}

/// Whether a queue's mask lets it use a unit.
fn allows(queue: &Queue, die: u32, unit: usize, units_per_engine: usize) -> bool {
    let engine = unit / units_per_engine;
    let bit = unit % units_per_engine;
    queue
        .cu_masks
        .get(die as usize)
        .and_then(|masks| masks.get(engine))
        .is_none_or(|mask| (mask >> bit) & 1 != 0)
}
