// SPDX-License-Identifier: GPL-2.0-only
//! GPU time, and the events that are due.

mod agenda;
mod event;

pub use event::{Event, HostStep, SchedulerStep};

use crate::terms::GpuNanos;
use agenda::Agenda;

/// The only source of time. It never runs backwards.
#[derive(Clone)]
pub struct Clock {
    now: GpuNanos,
    /// How far it is behind everybody's time, because others had the hardware meanwhile.
    lag: u64,
    agenda: Agenda<Event>,
    serial: u64,
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            now: GpuNanos::default(),
            lag: 0,
            agenda: Agenda::new(),
            serial: 0,
        }
    }

    pub fn now(&self) -> GpuNanos {
        self.now
    }

    /// The time of the reference clock, which goes on while others have the hardware.
    pub fn reference(&self) -> GpuNanos {
        self.now.after(self.lag)
    }

    pub fn set_lag(&mut self, lag: u64) {
        self.lag = lag;
    }

    /// Schedules an event this many nanoseconds from now.
    pub fn after(&mut self, nanos: u64, event: Event) {
        self.at(self.now.after(nanos), event);
    }

    pub fn at(&mut self, at: GpuNanos, event: Event) {
        self.agenda.push(at, event);
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<GpuNanos> {
        self.agenda.next()
    }

    /// Takes the next event that is due by `limit` and advances to its time.
    pub fn pop(&mut self, limit: GpuNanos) -> Option<Event> {
        let (at, event) = self.agenda.pop(limit)?;
        self.pass_to(at);
        Some(event)
    }

    pub fn pass_to(&mut self, now: GpuNanos) {
        self.now = self.now.max(now);
    }

    /// A number that was never given out before, to tell a stale event from the
    /// expected one.
    pub fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Cancels all events.
    pub fn clear(&mut self) {
        self.agenda.clear();
    }
}
