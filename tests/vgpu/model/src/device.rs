// SPDX-License-Identifier: GPL-2.0
//! The device as its owner sees it.

use crate::{
    Bus, Config, ConfigError, Faults, GpuNanos, HiqRecord, QueueReport, StateDump, TimelineRecord,
    Vram,
};

/// Bytes of one doorbell write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorbellWidth {
    Dword,
    Qword,
}

pub struct Device {
    config: Config,
    #[allow(dead_code)]
    bus: Box<dyn Bus>,
    #[allow(dead_code)]
    vram: Box<dyn Vram>,
    now: GpuNanos,
    faults: Faults,
}

impl Device {
    pub fn new(
        config: Config,
        bus: Box<dyn Bus>,
        vram: Box<dyn Vram>,
    ) -> Result<Device, ConfigError> {
        config.check()?;
        Ok(Device {
            config,
            bus,
            vram,
            now: GpuNanos::default(),
            faults: Faults::default(),
        })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Reads the register at a byte offset of BAR 5. Needs no `advance_to`
    /// before it, but sees what the GPU had done by then and no later.
    pub fn register_read(&mut self, offset: u64) -> u32 {
        let _ = offset;
        if self.faults.bus_lost {
            u32::MAX
        } else {
            0
        }
    }

    pub fn register_write(&mut self, offset: u64, value: u32) {
        let _ = (offset, value);
    }

    pub fn doorbell_write(&mut self, offset: u64, value: u64, width: DoorbellWidth) {
        let _ = (offset, value, width);
    }

    /// Does all that is due up to `now`. A time in the past is the present.
    pub fn advance_to(&mut self, now: GpuNanos) {
        self.now = self.now.max(now);
    }

    /// When `advance_to` next has something to do. It may lie in the past:
    /// then call at once. Ask again after every access.
    pub fn next_event(&self) -> Option<GpuNanos> {
        None
    }

    pub fn now(&self) -> GpuNanos {
        self.now
    }

    /// The guest cleared the bus master bit or reset the function: all queues,
    /// rings and logs of work in flight are gone; video memory stays.
    pub fn reset(&mut self) {}

    pub fn queues(&self) -> Vec<QueueReport> {
        Vec::new()
    }

    /// Packets of the scheduler firmware's ring from a sequence number on.
    pub fn hiq_log(&self, from: u64) -> Vec<HiqRecord> {
        let _ = from;
        Vec::new()
    }

    /// Changes of queues and compute units from a sequence number on.
    pub fn timeline(&self, from: u64) -> Vec<TimelineRecord> {
        let _ = from;
        Vec::new()
    }

    pub fn state(&self) -> StateDump {
        StateDump {
            now: self.now,
            next_event: self.next_event(),
            occupancy: Vec::new(),
            queues: self.queues(),
            slots: Vec::new(),
            runlist: Vec::new(),
            interrupts: 0,
            resets: 0,
            notes: Vec::new(),
        }
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }
}
