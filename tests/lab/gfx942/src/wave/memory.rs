// SPDX-License-Identifier: GPL-2.0-only
//! What a wave sees of memory. Whoever executes the wave says what is there.

/// An address that cannot be read or written. It is an outcome of the instruction
/// that wanted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub address: u64,
    pub write: bool,
}

/// Memory as one wave sees it, by virtual addresses.
pub trait Memory {
    /// Fills `into` with what is at `address`, or changes nothing.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault>;

    /// Puts `from` at `address`, or changes nothing.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault>;

    /// Whether so many bytes could be written.
    fn probe(&mut self, _address: u64, _size: usize) -> Result<(), Fault> {
        Ok(())
    }

    /// Fills `into` with code. What is there need not be looked up anew for each
    /// instruction.
    fn fetch(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.read(address, into)
    }

    /// The program says that code in memory is not what was fetched before.
    fn forget_code(&mut self) {}

    /// What the clock says that programs can read.
    fn clock(&mut self) -> u64 {
        0
    }

    /// The local data share of the wave's workgroup, as many bytes as it has.
    fn share(&mut self) -> &mut [u8] {
        &mut []
    }

    /// The counters by which waves of all workgroups wait for each other (GWS).
    fn counters(&mut self) -> &mut [u32] {
        &mut []
    }
}
