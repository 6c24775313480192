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
mod aperture;
mod bus;
mod clock;
mod compute;
mod device;
mod engines;
mod gpu;
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
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use device::{Device, DoorbellWidth};
pub use registers::{Block, RegisterReport};
pub use terms::{
    Bus, BusError, Config, ConfigError, Faults, Fence, GpuNanos, HiqAction, HiqRecord, MappedQueue,
    Occupancy, QueueId, QueueKind, QueueReport, ReadPointer, StateDump, TimelineChange,
    TimelineRecord, Timing, UnitsRecord, Vram,
};
