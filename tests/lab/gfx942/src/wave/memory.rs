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

    /// Puts what `change` makes of the 4 or 8 bytes at `address` in their place, and returns
    /// what was there, or changes nothing. Where others use the memory at the same time and
    /// the address is aligned, nobody comes between; `change` may be called again.
    fn change(
        &mut self,
        address: u64,
        bytes: u8,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let mut word = [0; 8];
        let used = usize::from(bytes).min(word.len());
        let (word_used, _) = word.split_at_mut(used);
        self.read(address, word_used)?;
        let old = u64::from_le_bytes(word);
        let new = change(old).to_le_bytes();
        let (new_used, _) = new.split_at(used);
        self.write(address, new_used)?;
        Ok(old)
    }

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
