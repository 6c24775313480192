// SPDX-License-Identifier: GPL-2.0-only
//! A virtual MI300X, seen from its PCI registers, doorbells and memory.
//!
//! The model does no I/O and starts no thread. Its owner lends it guest memory
//! ([`Bus`]) and video memory ([`Vram`]), forwards register and doorbell
//! accesses, and lets GPU time pass with [`Device::advance_to`]. Accesses only
//! change registers and enqueue work; everything the GPU does of its own
//! accord happens in `advance_to`, so a test can step it event by event.
//!
//! A file imports its own room and those that stand before it here:
//!
//! `terms` (time, settings, names, reports) < `layout` (packets, descriptors) <
//! `memory` < `registers` < `interrupt` < `clock` < `account` < `bus` (all of
//! these, lent to an engine with each call) < `host` (of a virtual function) <
//! `queue` (rings and doorbells) < `compute` < `engines` (the three side by side) <
//! `preempt` < `slot` < `aperture` (registers to their engines) < `hws` <
//! `processor` (PM4, AQL, SDMA) < `gpu` < `device`.
//!
//! An engine keeps its fields private. What has to call several of them takes
//! `Engines`; what a lower engine has to tell a higher one it returns, and `Gpu`
//! passes it on.
//!
//! docs/virtual-gpu.md says of each behaviour whether it is documented, read
//! from the driver, or assumed.

mod account;
mod aperture;
mod bus;
mod clock;
mod compute;
mod device;
mod engines;
mod gpu;
mod host;
mod hws;
mod interrupt;
mod layout;
mod memory;
mod preempt;
mod processor;
mod queue;
mod registers;
mod slot;
mod terms;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use device::{Device, DoorbellWidth};
pub use host::{By, ForbiddenReport};
pub use registers::{Block, RegisterReport};
pub use terms::{
    Began, Bus, BusError, Config, ConfigError, Facts, Faults, Fence, GpuNanos, HiqAction,
    HiqRecord, MappedQueue, Moment, Occupancy, Pace, Product, QueueId, QueueKind, QueueReport,
    ReadPointer, Spoil, StaleAccess, StaleReport, StateDump, StopReport, TimelineChange,
    TimelineRecord, Timing, UnitsRecord, UnknownProduct, Version, Versions, Vram, Worlds,
};
