// SPDX-License-Identifier: GPL-2.0-only
//! What happens when workgroups and dispatches end.

use super::die::Resident;
use super::dispatch::Dispatch;
use super::machine::{Context, Course, Scratch};
use super::work::End;
use super::Compute;
use crate::bus::Buses;
use crate::clock::Event;
use crate::layout::aql::inactive;
use crate::queue::{Queue, Queues};
use crate::terms::QueueKey;

/// What the waves of a queue belong to on a die.
pub fn context(bus: &Buses, queue: &Queue, die: u32) -> Context {
    Context {
        space: queue.space().on(die),
        settings: queue.settings(),
        die,
        doorbell: queue.doorbell_number(),
        now: bus.now(),
        handler_turns: bus.config.handler_turns,
        spoil: bus.faults.spoiled_waves,
    }
}

impl Compute {
    /// The workgroup that has done its work on a die, unless the event is stale.
    pub fn work_done(&mut self, bus: &Buses, die: u32, number: u64) -> Option<(usize, u64)> {
        let now = bus.now();
        self.dies[die as usize].pace().take_due(now, number)
    }

    /// A workgroup has run to its end. Returns its queue, unless the event is
    /// stale or a fault keeps the workgroup on its unit.
    pub fn workgroup_end(
        &mut self,
        bus: &mut Buses,
        queues: &mut Queues,
        die: u32,
        index: usize,
        serial: u64,
    ) -> Option<QueueKey> {
        let place = &mut self.dies[die as usize];
        let resident = place.get_mut(index).filter(|r| r.serial == serial)?;
        let key = resident.queue;
        let queue = queues.get(key)?;
        let account = queue.account();
        if bus.faults.endless.contains(&queue.doorbell_offset()) {
            resident.running.hold();
            return None;
        }
        let program_ended = self.advance(bus, queues, die, index, serial)?;
        if !program_ended {
            return None;
        }
        let now = bus.now();
        let resident = self.dies[die as usize].remove(now, index)?;
        bus.accounts.left(now, account, resident.footprint.waves);
        self.finish(bus, queues, die, &resident);
        Some(key)
    }

    /// Lets a workgroup execute machine code, if that is what it does. Returns whether
    /// it has ended.
    fn advance(
        &mut self,
        bus: &mut Buses,
        queues: &mut Queues,
        die: u32,
        index: usize,
        serial: u64,
    ) -> Option<bool> {
        let resident = self.dies[die as usize].get_mut(index)?;
        let key = resident.queue;
        let queue = queues.get(key)?;
        let context = context(bus, queue, die);
        let running = &mut resident.running;
        let counters = &mut self.counters[die as usize];
        let course = running.advance(&mut bus.memory, counters, &context, &bus.config);
        let ends = running.ends();
        if let Some(group) = running.group_mut() {
            self.executed += group.take_executed();
            for notice in group.take_notices() {
                bus.raise(&queue.wave_interrupt(die, notice.data, notice.privileged));
            }
        }
        match course {
            Course::Ended => return Some(true),
            Course::Runs => {
                if let End::At(ends) = ends {
                    let xcc = die;
                    bus.clock
                        .at(ends, Event::WorkgroupEnd { xcc, index, serial });
                }
            }
            Course::Rests => {}
            Course::Fault(fault) if queues.retries(bus, key, fault) => {
                let again = bus.now().after(bus.config.timing.retry);
                running.try_again(again);
                let xcc = die;
                bus.clock
                    .at(again, Event::WorkgroupEnd { xcc, index, serial });
            }
            Course::Fault(fault) => queues.memory_fault(bus, key, fault, "machine code"),
            Course::Unknown(what) => queues.bad_packet(bus, key, what),
        }
        Some(false)
    }

    fn finish(&mut self, bus: &mut Buses, queues: &mut Queues, die: u32, resident: &Resident) {
        let key = resident.queue;
        let (Some(queue), Some(load)) = (queues.get(key), self.loads.get_mut(&key)) else {
            return;
        };
        let is_own = |dispatch: &Dispatch| dispatch.packet == resident.packet;
        let Some(position) = load.dispatches.iter().position(is_own) else {
            return;
        };
        let dispatch = &mut load.dispatches[position];
        let share = &mut dispatch.shares[die as usize];
        share.resident -= 1;
        share.done += 1;
        let is_done = dispatch.is_done();
        let space = queue.space().on(die);
        if let Err(fault) = dispatch
            .work
            .finish(&mut bus.memory, space, &resident.running)
        {
            queues.memory_fault(bus, key, fault, "workgroup counter");
            return;
        }
        bus.accounts.workgroup_done(queue.account());
        if is_done {
            self.dispatch_done(bus, queues, key, position);
        }
    }

    /// Completes the dispatches of a queue that have nothing left to run.
    pub fn complete(&mut self, bus: &mut Buses, queues: &mut Queues, key: QueueKey) {
        while let Some(position) = self.dispatches(key).iter().position(Dispatch::is_done) {
            self.dispatch_done(bus, queues, key, position);
        }
    }

    fn dispatch_done(
        &mut self,
        bus: &mut Buses,
        queues: &mut Queues,
        key: QueueKey,
        position: usize,
    ) {
        let (Some(queue), Some(load)) = (queues.get(key), self.loads.get_mut(&key)) else {
            return;
        };
        let dispatch = load.dispatches.remove(position);
        let now = bus.now();
        bus.accounts
            .dispatch_ends(now, queue.account(), dispatch.packet);
        // Even if the pointer moves at the launch it may not have moved yet: one
        // die may have ended its workgroups before another was loaded again.
        self.pass(bus, queues, key, dispatch.packet);
        let started = dispatch.started.or(Some(bus.clock.reference()));
        let gives_back = dispatch.work.scratch().is_some_and(Scratch::is_for_once);
        let result = queues.complete_signal(bus, key, dispatch.signal, started);
        let result = result.and_then(|()| match gives_back {
            true => queues
                .ask_owner(bus, key, inactive::RETURNS_SCRATCH)
                .map(drop),
            false => Ok(()),
        });
        if let Err(fault) = result {
            queues.memory_fault(bus, key, fault, "completion signal");
        }
        queues.kick(bus, key);
    }

    /// Releases workgroups that a fault kept from ending and no longer does.
    pub fn release_endless(&mut self, bus: &mut Buses, queues: &Queues) {
        for (xcc, die) in (0..).zip(&self.dies) {
            for (index, resident) in die.residents().filter(|(_, r)| r.running.is_held()) {
                let is_held = |doorbell| bus.faults.endless.contains(&doorbell);
                let lifted = queues
                    .get(resident.queue)
                    .is_some_and(|queue| !is_held(queue.doorbell_offset()));
                let mut own = self.dispatches(resident.queue).iter();
                if lifted && own.any(|d| d.packet == resident.packet && d.work.ends()) {
                    let end = Event::WorkgroupEnd {
                        xcc,
                        index,
                        serial: resident.serial,
                    };
                    bus.clock.after(0, end);
                }
            }
        }
    }
}
