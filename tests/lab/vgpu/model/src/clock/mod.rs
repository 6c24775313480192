// SPDX-License-Identifier: GPL-2.0-only
//! GPU time, and what is due when.

mod agenda;
mod event;

pub use event::{Event, SchedulerStep};

use crate::terms::GpuNanos;
use agenda::Agenda;

/// The only source of time. It never runs backwards.
pub struct Clock {
    now: GpuNanos,
    agenda: Agenda<Event>,
    serial: u64,
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            now: GpuNanos::default(),
            agenda: Agenda::new(),
            serial: 0,
        }
    }

    pub fn now(&self) -> GpuNanos {
        self.now
    }

    /// Has an event happen so many nanoseconds from now.
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

    /// The next event that is due by `limit`; its time is the present then.
    pub fn pop(&mut self, limit: GpuNanos) -> Option<Event> {
        let (at, event) = self.agenda.pop(limit)?;
        self.pass_to(at);
        Some(event)
    }

    pub fn pass_to(&mut self, now: GpuNanos) {
        self.now = self.now.max(now);
    }

    /// A number that was never given before, to tell an event that is out of
    /// date from the one that is expected.
    pub fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Forgets all that was due.
    pub fn clear(&mut self) {
        self.agenda.clear();
    }
}
