// SPDX-License-Identifier: GPL-2.0-only
//! Giving workgroups to compute units.
//!
//! A queue's pipe class decides which queue is served first when units are
//! free. It takes nothing away from running workgroups: that is what makes a
//! priority inversion possible.

use std::collections::BTreeSet;

use super::die::{Die, Resident, CLASSES};
use super::dispatch::{Dispatch, Share};
use super::load::Load;
use super::machine::{ScratchSlot, Seats};
use super::work::{End, Suspended};
use super::Compute;
use crate::bus::Buses;
use crate::clock::Event;
use crate::queue::Queues;
use crate::terms::{Config, Format, QueueKey, ReadPointer};

enum Launched {
    Yes,
    NoRoom,
    NoWork,
}

impl Compute {
    /// A dispatch packet was read: its workgroups are dealt to the dies.
    pub fn begin_dispatch(
        &mut self,
        bus: &mut Buses,
        queues: &Queues,
        key: QueueKey,
        dispatch: Dispatch,
    ) {
        let (Some(queue), Some(load)) = (queues.get(key), self.loads.get_mut(&key)) else {
            return;
        };
        let dispatch = load.begin(dispatch, queue.dies());
        let now = bus.now();
        bus.accounts
            .dispatch_begins(now, queue.account(), dispatch.packet, dispatch.workgroups);
    }

    pub fn launch_all(&mut self, bus: &mut Buses, queues: &mut Queues) {
        for die in 0..bus.config.xcc_count {
            self.launch(bus, queues, die);
        }
    }

    /// Fills the free compute units of a die.
    pub fn launch(&mut self, bus: &mut Buses, queues: &mut Queues, die: u32) {
        if !bus.faults.hung {
            self.fill_units(bus, queues, die);
        }
        let busy = self.dies[die as usize].units_busy();
        let now = bus.now();
        bus.accounts.units_changed(now, die, busy);
        self.announce(bus, die);
    }

    /// Sees to it that the next end of a workgroup on a die is an event.
    pub fn announce(&mut self, bus: &mut Buses, xcc: u32) {
        let now = bus.now();
        let clock = &mut bus.clock;
        let pace = self.dies[xcc as usize].pace();
        if let Some((due, number)) = pace.announce(now, || clock.serial()) {
            clock.at(due, Event::WorkDone { xcc, number });
        }
    }

    fn fill_units(&mut self, bus: &mut Buses, queues: &mut Queues, die: u32) {
        let mut reserved = vec![false; self.dies[die as usize].unit_count()];
        let mut launched = BTreeSet::new();
        for class in CLASSES {
            let mut contenders = self.contenders(queues, die, class);
            if contenders.is_empty() {
                continue;
            }
            // Queues of one class take turns, continuing where they left off, whatever
            // other classes do meanwhile.
            self.dies[die as usize].sort_by_turns(class, &mut contenders);
            let mut stuck = Vec::new();
            while !contenders.is_empty() {
                contenders.retain(
                    |key| match self.launch_one(bus, queues, die, *key, &reserved) {
                        Launched::Yes => {
                            launched.insert(*key);
                            self.dies[die as usize].end_turn(class, *key);
                            true
                        }
                        Launched::NoRoom => {
                            stuck.push(*key);
                            false
                        }
                        Launched::NoWork => false,
                    },
                );
            }
            // A class that waits for room keeps lower ones off its units.
            for load in stuck.iter().filter_map(|key| self.loads.get(key)) {
                for (unit, taken) in reserved.iter_mut().enumerate() {
                    *taken |= load.allows(die, unit, self.units_per_engine);
                }
            }
        }
        for key in launched {
            self.launched(bus, queues, key);
        }
    }

    /// Queues of a class that have work for a die.
    fn contenders(&self, queues: &Queues, die: u32, class: u32) -> Vec<QueueKey> {
        let has_work = |key: &QueueKey| {
            let load = self.loads.get(key);
            load.is_some_and(|load| load.has_work_for(die))
        };
        queues
            .iter()
            .filter(|(_, queue)| queue.pipe_priority() == class && queue.may_launch(die))
            .map(|(key, _)| key)
            .filter(has_work)
            .collect()
    }

    fn launch_one(
        &mut self,
        bus: &mut Buses,
        queues: &Queues,
        die: u32,
        key: QueueKey,
        reserved: &[bool],
    ) -> Launched {
        let (Some(queue), Some(load)) = (queues.get(key), self.loads.get_mut(&key)) else {
            return Launched::NoWork;
        };
        let index = die as usize;
        let wanted = |dispatch: &Dispatch| dispatch.shares[index].has_work();
        let Some(position) = load.dispatches.iter().position(wanted) else {
            return Launched::NoWork;
        };
        let footprint = load.dispatches[position].footprint();
        let units = &mut self.dies[index];
        let seating = Seating::of(load, position, (die, &*units), key);
        let per_engine = self.units_per_engine;
        let allowed = |unit: usize| {
            let is_seated = seating.as_ref().is_none_or(|s| s.has(unit / per_engine));
            is_seated && !reserved[unit] && load.allows(die, unit, per_engine)
        };
        let Some((unit, simds)) = units.find_room(&footprint, allowed) else {
            return match seating {
                // What it waits for is its own.
                Some(seating) if seating.is_full() => Launched::NoWork,
                _ => Launched::NoRoom,
            };
        };
        let slots = seating.map_or(Vec::new(), |s| s.take(unit / per_engine));
        let seats = Seats { die, slots };
        let now = bus.now();
        let running = take_work(load, position, &seats).run(now, &bus.config, units.pace());
        let ends = running.ends();
        let dispatch = &mut load.dispatches[position];
        dispatch.started.get_or_insert(bus.clock.reference());
        let serial = bus.clock.serial();
        let resident = Resident {
            queue: key,
            packet: dispatch.packet,
            unit,
            footprint,
            simds,
            demand: dispatch.work.demand(),
            running,
            serial,
        };
        let place = units.insert(now, resident);
        match ends {
            End::Never => {}
            End::At(ends) => {
                let (xcc, index) = (die, place);
                bus.clock
                    .at(ends, Event::WorkgroupEnd { xcc, index, serial });
            }
            End::After(ends) => units.pace().expect(ends, serial, place),
        }
        bus.accounts.launched(now, queue.account(), footprint.waves);
        Launched::Yes
    }

    /// Some workgroups of a queue were launched, perhaps the last of its newest
    /// dispatch.
    fn launched(&mut self, bus: &mut Buses, queues: &mut Queues, key: QueueKey) {
        let last = self.dispatches(key).last();
        let Some(number) = last.filter(|d| d.is_launched()).map(|d| d.packet) else {
            return;
        };
        if bus.config.read_pointer == ReadPointer::Launch {
            self.pass(bus, queues, key, number);
        }
        queues.kick(bus, key);
    }

    /// The read pointer of an AQL queue may pass a packet; it moves as far as the
    /// dispatches in flight allow. That of others moves when a packet is read.
    pub fn pass(&self, bus: &mut Buses, queues: &mut Queues, key: QueueKey, number: u64) {
        let of_aql = queues
            .get(key)
            .filter(|queue| queue.format() == Format::Aql);
        let Some(fetched) = of_aql.map(|queue| queue.fetched()) else {
            return;
        };
        let held = self.holds_pointer(bus.config.read_pointer, key);
        queues.pass(bus, key, number, held.unwrap_or(fetched));
    }
}

/// The parts of scratch that a workgroup gets, for each shader engine that has enough.
struct Seating(Vec<Option<Vec<ScratchSlot>>>);

impl Seating {
    /// For the next workgroup of a dispatch, if it needs them: one that was taken off its
    /// unit has kept its own.
    fn of(
        load: &Load,
        position: usize,
        (die, units): (u32, &Die),
        key: QueueKey,
    ) -> Option<Seating> {
        let dispatch = &load.dispatches[position];
        let scratch = dispatch.work.scratch()?;
        if !dispatch.shares[die as usize].waiting.is_empty() {
            return None;
        }
        let residents = units.residents().filter(|(_, r)| r.queue == key);
        let waiting = load
            .dispatches
            .iter()
            .flat_map(|dispatch| &dispatch.shares[die as usize].waiting);
        let taken: Vec<ScratchSlot> = residents
            .flat_map(|(_, resident)| resident.running.slots())
            .chain(waiting.flat_map(Suspended::slots))
            .collect();
        let of_engine = |engine| scratch.free(&taken, engine, dispatch.waves);
        let engines = 0..Config::SHADER_ENGINES;
        Some(Seating(engines.map(of_engine).collect()))
    }

    fn has(&self, engine: usize) -> bool {
        self.0.get(engine).is_some_and(Option::is_some)
    }

    fn is_full(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    fn take(mut self, engine: usize) -> Vec<ScratchSlot> {
        let slots = self.0.get_mut(engine).and_then(Option::take);
        slots.unwrap_or_default()
    }
}

/// The next workgroup of a dispatch on a die: preferably one that was taken off
/// its unit, otherwise one that has not begun.
fn take_work(load: &mut Load, position: usize, seats: &Seats) -> Suspended {
    let deal = load.deal(seats.die);
    let dispatch = &mut load.dispatches[position];
    let share: &mut Share = &mut dispatch.shares[seats.die as usize];
    share.resident += 1;
    let (work, lds) = (&dispatch.work, dispatch.lds);
    share.waiting.pop_front().unwrap_or_else(|| {
        let next = work.begin(deal.workgroup(share.next), lds, seats);
        share.next += 1;
        next
    })
}
