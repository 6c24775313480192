// SPDX-License-Identifier: GPL-2.0-only
//! What the driver sets for the waves of a process.

/// Of SH_MEM_CONFIG.
const RETRY_DISABLE: u32 = 1 << 12;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveSettings {
    /// SH_MEM_BASES: where local memory and scratch are among flat addresses.
    pub bases: u32,
    /// Address of the trap handler, or 0, and of the memory that is its own.
    pub handler: u64,
    pub handler_memory: u64,
    /// What finds no memory is tried again (XNACK).
    pub retries: bool,
}

impl WaveSettings {
    /// From the registers SH_MEM_CONFIG and SH_MEM_BASES, and those of the handler, which
    /// have addresses without their last 8 bits.
    pub fn new([config, bases]: [u32; 2], handler: u64, handler_memory: u64) -> WaveSettings {
        WaveSettings {
            bases,
            handler: handler << 8,
            handler_memory: handler_memory << 8,
            retries: config & RETRY_DISABLE == 0,
        }
    }
}
