// SPDX-License-Identifier: GPL-2.0-only
//! The device as its owner sees it.

use crate::bus::Buses;
use crate::gpu::Gpu;
use crate::host::ForbiddenReport;
use crate::memory::Memory;
use crate::registers::RegisterReport;
use crate::terms::{
    Began, Bus, Config, ConfigError, Faults, GpuNanos, HiqRecord, Moment, Pace, QueueReport,
    ReadPointer, StaleReport, StateDump, StopReport, TimelineRecord, UnitsRecord, Vram, Worlds,
};

/// Bytes of one doorbell write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorbellWidth {
    Dword,
    Qword,
}

/// A clone is in the same state, and shares its owner's memory.
#[derive(Clone)]
pub struct Device {
    gpu: Gpu,
}

impl Device {
    pub fn new(
        config: Config,
        bus: Box<dyn Bus>,
        vram: Box<dyn Vram>,
    ) -> Result<Device, ConfigError> {
        config.check()?;
        let bytes = vram.size();
        if bytes % (16 << 20) != 0 || !(64 << 20..=64 << 30).contains(&bytes) {
            return Err(ConfigError::VramSize(bytes));
        }
        Ok(Device {
            gpu: Gpu::new(Buses::new(config, Memory::new(bus, vram))),
        })
    }

    pub fn config(&self) -> &Config {
        &self.gpu.bus().config
    }

    /// Reads the register at a byte offset of BAR 5. It shows what the GPU had
    /// done at [`Device::now`]: call `advance_to` first for a live value.
    pub fn register_read(&mut self, offset: u64) -> u32 {
        match register(offset) {
            Some(address) if !self.gpu.bus().faults.bus_lost => self.gpu.read_register(address),
            _ => u32::MAX,
        }
    }

    pub fn register_write(&mut self, offset: u64, value: u32) {
        if let Some(address) = register(offset) {
            self.gpu.write_register(address, value);
        }
    }

    /// Writes a byte of the register there: only a virtual function's mailbox is written so.
    pub fn register_write_byte(&mut self, offset: u64, value: u8) {
        self.gpu.write_register_byte(offset, value);
    }

    /// Rings the doorbell at a byte offset of BAR 2.
    pub fn doorbell_write(&mut self, offset: u64, value: u64, width: DoorbellWidth) {
        let value = match width {
            DoorbellWidth::Dword => value & 0xffff_ffff,
            DoorbellWidth::Qword => value,
        };
        self.gpu.doorbell(offset, value);
    }

    /// Does everything that is due up to `now`. A time in the past does not turn
    /// the clock back. Much machine code is not executed at once: [`Device::next_event`]
    /// tells that something is left.
    pub fn advance_to(&mut self, now: GpuNanos) {
        self.gpu.advance_to(now);
    }

    /// When `advance_to` next has something to do. If that is in the past, call it
    /// at once. Ask again after every access.
    pub fn next_event(&self) -> Option<GpuNanos> {
        self.gpu.next_event()
    }

    pub fn now(&self) -> GpuNanos {
        self.gpu.bus().clock.reference()
    }

    /// The guest cleared the bus master bit or reset the function: all queues,
    /// rings and work in flight are gone, registers have their reset values.
    /// Video memory, accounts and logs stay.
    pub fn reset(&mut self) {
        self.gpu.reset();
    }

    pub fn queues(&self) -> Vec<QueueReport> {
        self.gpu.queue_reports()
    }

    /// Where in machine code waves were when they were saved.
    pub fn stops(&self) -> Vec<StopReport> {
        self.gpu.bus().accounts.stops()
    }

    /// Instructions of machine code that waves have executed since the device was made.
    pub fn instructions(&self) -> u64 {
        self.gpu.instructions()
    }

    /// Packets of the scheduler firmware's ring from a sequence number on.
    pub fn hiq_log(&self, from: u64) -> Vec<HiqRecord> {
        self.gpu.bus().accounts.hiq_since(from)
    }

    /// Changes of queues and compute units from a sequence number on.
    pub fn timeline(&mut self, from: u64) -> Vec<TimelineRecord> {
        self.gpu.timeline(from)
    }

    /// How many compute units were busy over time.
    pub fn units(&self) -> Vec<UnitsRecord> {
        self.gpu.bus().accounts.units()
    }

    /// The registers that were accessed since the device was made.
    pub fn registers(&self) -> Vec<RegisterReport> {
        self.gpu.bus().touched.report()
    }

    /// The registers that a virtual function's guest was refused.
    pub fn forbidden(&self) -> Vec<ForbiddenReport> {
        self.gpu.forbidden()
    }

    pub fn state(&self) -> StateDump {
        self.gpu.state()
    }

    /// Sets when the read pointers of AQL queues move from now on. Those that have
    /// moved already stay where they are.
    pub fn set_read_pointer(&mut self, when: ReadPointer) {
        self.gpu.set_read_pointer(when);
    }

    /// Sets how fast waves of machine code go on from their next turn on.
    pub fn set_pace(&mut self, pace: Pace) -> Result<(), ConfigError> {
        self.gpu.set_pace(pace)
    }

    /// Sets how a virtual function takes turns with others from now on: not at all with none.
    pub fn set_worlds(&mut self, worlds: Option<Worlds>) -> Result<(), ConfigError> {
        self.gpu.set_worlds(worlds)
    }

    /// The host of a virtual function tells the guest that it wants to reset the GPU.
    pub fn host_reset(&mut self) -> Result<(), ConfigError> {
        self.gpu.host_reset()
    }

    /// Sets how long an AQL packet takes from now on.
    pub fn set_aql_packet(&mut self, nanos: u64) -> Result<(), ConfigError> {
        self.gpu.set_aql_packet(nanos)
    }

    /// Begins strict mode, with nothing cached, or ends it: translations are cached until
    /// the driver has them forgotten.
    pub fn set_strict(&mut self, strict: bool) {
        self.gpu.set_strict(strict);
    }

    /// What strict mode has found.
    pub fn stale(&self) -> Option<StaleReport> {
        self.gpu.bus().memory.stale()
    }

    /// How many translations strict mode keeps.
    #[cfg(test)]
    pub fn cached(&self) -> usize {
        self.gpu.bus().memory.cached()
    }

    pub fn faults(&self) -> &Faults {
        &self.gpu.bus().faults
    }

    /// Replaces the faults in force, and forgets those that wait.
    pub fn set_faults(&mut self, faults: Faults) {
        self.gpu.set_faults(faults);
    }

    /// Replaces the faults in force at the next such moment.
    pub fn set_faults_at(&mut self, moment: Moment, faults: Faults) {
        self.gpu.set_faults_at(moment, faults);
    }

    /// When the faults began that last waited for their moment.
    pub fn faults_began(&self) -> Option<Began> {
        self.gpu.bus().schedule.began()
    }
}

/// The dword of an aligned byte offset.
fn register(offset: u64) -> Option<u32> {
    (offset % 4 == 0)
        .then(|| u32::try_from(offset / 4).ok())
        .flatten()
}
