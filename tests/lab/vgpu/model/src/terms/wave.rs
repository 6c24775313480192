// SPDX-License-Identifier: GPL-2.0-only
//! What the driver sets for the waves of a process.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveSettings {
    /// SH_MEM_BASES: where local memory and scratch are among flat addresses.
    pub bases: u32,
    /// Address of the trap handler, or 0, and of the memory that is its own.
    pub handler: u64,
    pub handler_memory: u64,
}

impl WaveSettings {
    /// From the registers, which have addresses without their last 8 bits.
    pub fn new(bases: u32, handler: u64, handler_memory: u64) -> WaveSettings {
        WaveSettings {
            bases,
            handler: handler << 8,
            handler_memory: handler_memory << 8,
        }
    }
}
