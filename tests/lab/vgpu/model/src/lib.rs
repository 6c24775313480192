// SPDX-License-Identifier: GPL-2.0-only
//! A virtual MI300X, seen from its PCI registers, doorbells and memory.
//!
//! The model does no I/O and starts no thread. Its owner lends it guest memory
//! ([`Bus`]) and video memory ([`Vram`]), forwards register and doorbell
//! accesses, and lets GPU time pass with [`Device::advance_to`]. Accesses only
//! change registers and enqueue work; everything the GPU does of its own
//! accord happens in `advance_to`, so a test can step it event by event.
//!
//! docs/virtual-gpu.md says of each behaviour whether it is documented, read
//! from the driver, or assumed.

mod account;
mod aql;
mod compute;
mod config;
mod cwsr;
mod device;
mod discovery;
mod event;
mod fault;
mod gpu;
mod host;
mod hws;
mod interrupt;
mod manual;
mod memory;
mod mqd;
mod pm4;
mod queue;
mod registers;
mod report;
mod rings;
mod sdma;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod time;

pub use config::{Config, ConfigError, ReadPointer, Timing};
pub use device::{Device, DoorbellWidth};
pub use fault::{Faults, Fence};
pub use host::{Bus, BusError, Vram};
pub use registers::{Block, RegisterReport};
pub use report::{
    HiqAction, HiqRecord, MappedQueue, Occupancy, QueueId, QueueKind, QueueReport, StateDump,
    TimelineChange, TimelineRecord, UnitsRecord,
};
pub use time::GpuNanos;
