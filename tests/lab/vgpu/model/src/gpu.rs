// SPDX-License-Identifier: GPL-2.0-only
//! The whole GPU: its engines, and which of them handles which event.

use crate::bus::Buses;
use crate::clock::Event;
use crate::engines::Engines;
use crate::host::{By, Consequence, ForbiddenReport, Next, Turns};
use crate::hws::Schedulers;
use crate::interrupt::InterruptRing;
use crate::queue::Flow;
use crate::registers::table::nbio;
use crate::terms::{
    ConfigError, Exit, Faults, GpuNanos, Moment, Pace, QueueKey, QueueReport, ReadPointer,
    StateDump, TimelineRecord, Worlds,
};
use crate::{aperture, hws, preempt, processor, slot};

/// Machine code may take longer than the time that it stands for. After so many
/// instructions the owner has a chance to do something else.
const INSTRUCTIONS: u64 = 20_000;

#[derive(Clone)]
pub struct Gpu {
    engines: Engines,
    schedulers: Schedulers,
    turns: Turns,
    resets: u64,
    /// Instructions of machine code that were executed.
    instructions: u64,
}

impl Gpu {
    pub fn new(bus: Buses) -> Gpu {
        Gpu {
            schedulers: Schedulers::new(&bus.config),
            engines: Engines::new(bus),
            turns: Turns::default(),
            resets: 0,
            instructions: 0,
        }
    }

    pub fn bus(&self) -> &Buses {
        &self.engines.bus
    }

    /// Drops all work and returns the registers to their reset values. Video
    /// memory and the accounts stay.
    pub fn reset(&mut self) {
        self.engines.reset();
        self.schedulers = Schedulers::new(&self.engines.bus.config);
        self.resets += 1;
    }

    pub fn forbidden(&self) -> Vec<ForbiddenReport> {
        self.engines.host.forbidden()
    }

    /// The host resets the function and says so. What the guest has set of the mailbox,
    /// which is the host's, stays.
    fn reset_by_host(&mut self) {
        let kept = [
            nbio::BIF_BX_PF0_MAILBOX_CONTROL,
            nbio::BIF_BX_PF0_MAILBOX_INT_CNTL,
        ];
        let values = kept.map(|register| self.bus().registers.get(register));
        self.reset();
        let engines = &mut self.engines;
        for (register, value) in kept.into_iter().zip(values) {
            engines.bus.registers.set(register, value);
        }
        engines.host.reset_done(&mut engines.bus);
    }

    pub fn read_register(&mut self, address: u32) -> u32 {
        aperture::read(&mut self.engines, address, By::Processor)
    }

    pub fn write_register(&mut self, address: u32, value: u32) {
        aperture::write(&mut self.engines, address, value, By::Processor);
    }

    pub fn write_register_byte(&mut self, offset: u64, value: u8) {
        aperture::write_byte(&mut self.engines, offset, value);
    }

    pub fn doorbell(&mut self, offset: u64, value: u64) {
        let index = (offset / 4) as u32;
        let bus = &mut self.engines.bus;
        if !InterruptRing::doorbell(&mut bus.registers, index, value) {
            bus.soon(Event::Doorbell { index, value });
        }
    }

    pub fn advance_to(&mut self, now: GpuNanos) {
        loop {
            if self.engines.host.is_exclusive() {
                self.turns.hold(now);
            }
            self.engines.bus.clock.set_lag(self.turns.lag());
            if !self.run_until(self.turns.own(now)) {
                return;
            }
            match self.turns.pass(now) {
                Next::Turn => {}
                Next::Enough { lag } => return self.engines.bus.clock.set_lag(lag),
            }
        }
    }

    /// When there is next something to do.
    pub fn next_event(&self) -> Option<GpuNanos> {
        let next = self.bus().clock.next();
        next.map(|own| self.turns.everybodys(own))
    }

    /// How the function takes turns with others from now on.
    pub fn set_worlds(&mut self, worlds: Option<Worlds>) -> Result<(), ConfigError> {
        if let Some(worlds) = worlds {
            self.bus().config.check_worlds(worlds)?;
        }
        self.turns.set(worlds);
        Ok(())
    }

    /// The host of a virtual function wants to reset the GPU.
    pub fn host_reset(&mut self) -> Result<(), ConfigError> {
        let Engines { bus, host, .. } = &mut self.engines;
        bus.config.check_host()?;
        host.announce_reset(bus);
        Ok(())
    }

    /// Does what is due in its own time. Whether that is all.
    fn run_until(&mut self, now: GpuNanos) -> bool {
        let enough = self.instructions + INSTRUCTIONS;
        while let Some(event) = self.engines.bus.clock.pop(now) {
            self.run(event);
            self.instructions += self.engines.compute.take_executed();
            if self.instructions >= enough {
                return false;
            }
        }
        self.engines.bus.clock.pass_to(now);
        true
    }

    fn run(&mut self, event: Event) {
        let engines = &mut self.engines;
        match event {
            Event::Doorbell { index, value } => {
                engines.queues.ring_doorbell(&mut engines.bus, index, value);
            }
            Event::Activate { xcc, slot } => slot::activate(engines, xcc, slot),
            Event::Dequeue { xcc, slot, exit } => slot::dequeue(engines, xcc, slot, exit),
            Event::SdmaControl { ring } => slot::sdma_control(engines, ring),
            Event::Fetch(key) => processor::fetch(engines, &mut self.schedulers, key),
            Event::WorkDone { xcc, number } => self.work_done(xcc, number),
            Event::WorkgroupEnd { xcc, index, serial } => self.workgroup_end(xcc, index, serial),
            Event::GraceEnd { queue, serial } => preempt::grace_end(engines, queue, serial),
            Event::SaveEnd { queue, serial } => self.save_end(queue, serial),
            Event::RestoreEnd { queue, dies } => preempt::restore_end(engines, queue, dies),
            Event::Scheduler { first, step } => self.schedulers.of(first).step(engines, step),
            Event::Host(step) => {
                if engines.host.step(&mut engines.bus, step) == Consequence::Reset {
                    self.reset_by_host();
                }
            }
            Event::FaultsChanged => engines.queues.faults_changed(&mut engines.bus),
        }
    }

    fn work_done(&mut self, xcc: u32, number: u64) {
        let engines = &mut self.engines;
        let done = engines.compute.work_done(&engines.bus, xcc, number);
        if let Some((index, serial)) = done {
            self.workgroup_end(xcc, index, serial);
        }
        let engines = &mut self.engines;
        engines.compute.announce(&mut engines.bus, xcc);
    }

    fn workgroup_end(&mut self, xcc: u32, index: usize, serial: u64) {
        let engines = &mut self.engines;
        let (bus, queues) = (&mut engines.bus, &mut engines.queues);
        let ended = engines
            .compute
            .workgroup_end(bus, queues, xcc, index, serial);
        if let Some(key) = ended {
            preempt::exit_progress(engines, key);
            engines
                .compute
                .launch(&mut engines.bus, &mut engines.queues, xcc);
        }
    }

    fn save_end(&mut self, key: QueueKey, serial: u64) {
        let engines = &mut self.engines;
        // A queue that is in a buffer reaches its end before it leaves.
        if preempt::in_buffer(engines, key, serial) {
            let nanos = match processor::sdma::fetch(engines, key) {
                Flow::Next(nanos) => nanos.max(1),
                _ => engines.bus.config.timing.poll,
            };
            let again = Event::SaveEnd { queue: key, serial };
            engines.bus.clock.after(nanos, again);
        } else if preempt::save_end(engines, key, serial) {
            self.schedulers.queue_left(engines, key);
        }
    }

    pub fn set_strict(&mut self, strict: bool) {
        let bus = &mut self.engines.bus;
        bus.memory
            .set_strict(strict.then_some(bus.config.xcc_count));
    }

    pub fn set_faults(&mut self, faults: Faults) {
        let engines = &mut self.engines;
        engines.bus.set_faults(faults);
        engines.bus.schedule.forget();
        engines
            .compute
            .release_endless(&mut engines.bus, &engines.queues);
        // Queues that would not yield before may do so now; their operation is
        // still waiting.
        for key in self.schedulers.waiting() {
            preempt::begin_exit(engines, key, Exit::Save, hws::ALL_DIES);
        }
        self.schedulers.answer(engines);
    }

    pub fn set_faults_at(&mut self, moment: Moment, faults: Faults) {
        self.engines.bus.schedule.wait(moment, faults);
    }

    pub fn set_read_pointer(&mut self, when: ReadPointer) {
        self.engines.bus.config.read_pointer = when;
    }

    pub fn set_aql_packet(&mut self, nanos: u64) -> Result<(), ConfigError> {
        self.engines.bus.config.set_aql_packet(nanos)
    }

    pub fn set_pace(&mut self, pace: Pace) -> Result<(), ConfigError> {
        self.engines.bus.config.set_pace(pace)
    }

    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    pub fn timeline(&mut self, from: u64) -> Vec<TimelineRecord> {
        self.engines.bus.accounts.timeline_since(from)
    }

    pub fn queue_reports(&self) -> Vec<QueueReport> {
        let engines = &self.engines;
        let bus = &engines.bus;
        let mut reports = bus.accounts.reports(bus.now());
        for (key, queue) in engines.queues.users() {
            let report = &mut reports[queue.account()];
            report.read_pointer = queue.read();
            report.write_pointer = queue.write();
            report.workgroups_resident = engines.compute.resident(key, hws::ALL_DIES);
            let waiting = engines.compute.waiting(key);
            report.workgroups_saved = report.workgroups_saved.max(waiting);
        }
        reports
    }

    pub fn state(&self) -> StateDump {
        let engines = &self.engines;
        let bus = &engines.bus;
        let queues = engines.queues.iter();
        StateDump {
            now: bus.now(),
            next_event: self.next_event(),
            occupancy: engines.compute.occupancy(),
            queues: self.queue_reports(),
            slots: queues
                .map(|(key, queue)| queue.describe(engines.compute.in_flight(key)))
                .collect(),
            runlist: self.schedulers.describe(),
            interrupts: bus.interrupts_raised(),
            resets: self.resets,
            world_switches: self.turns.switches(),
            struck: bus.struck(),
            notes: bus.notes(),
        }
    }
}
