// SPDX-License-Identifier: GPL-2.0-only
//! The vocabulary of the whole model: time, the device's shape, its faults, the
//! names of queues and slots, and what its owner lends and asks.

mod config;
mod fault;
mod host;
mod name;
mod product;
mod report;
mod time;
mod wave;

pub use config::{Config, ConfigError, Pace, ReadPointer, Timing, Worlds};
pub use fault::{Began, Faults, Fence, Moment, Schedule, Spoil};
pub use host::{Bus, BusError, Vram};
pub use name::{Exit, Format, QueueKey, Role, SdmaRing, Seat, Slot};
pub use product::{Facts, LocalMemory, Product, UnknownProduct, Version, Versions};
pub use report::{
    HiqAction, HiqRecord, MappedQueue, Occupancy, QueueId, QueueKind, QueueReport, StaleAccess,
    StaleReport, StateDump, StopReport, TimelineChange, TimelineRecord, UnitsRecord,
};
pub use time::GpuNanos;
pub use wave::WaveSettings;
