// SPDX-License-Identifier: GPL-2.0-only
//! What the model borrows from its owner: guest memory, video memory and the
//! interrupt line.

/// A guest-physical range that is not fully backed by memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no guest memory at {address:#x}, {length} bytes")]
pub struct BusError {
    pub address: u64,
    pub length: usize,
}

/// Direct memory access and interrupts.
///
/// Aligned reads and writes of 4 and 8 bytes must be single accesses, since a
/// CPU of the guest may use the same word; of longer ones, each aligned word of 4
/// bytes. An access
/// never waits. The guest may take memory away at any time: that is a
/// [`BusError`], not a crash.
pub trait Bus: Send + Sync {
    fn read(&self, address: u64, data: &mut [u8]) -> Result<(), BusError>;
    fn write(&self, address: u64, data: &[u8]) -> Result<(), BusError>;
    /// Puts `new` in the place of `old` if that is there, as one atomic operation on an
    /// aligned word; returns what was there.
    fn exchange_u32(&self, address: u64, old: u32, new: u32) -> Result<u32, BusError>;
    fn exchange_u64(&self, address: u64, old: u64, new: u64) -> Result<u64, BusError>;
    /// Signals the device's only MSI vector, or nothing while it is disabled.
    fn raise_msi(&self);
}

/// Video memory, by offset. The CPU sees the same bytes through BAR 0.
///
/// The rules for single accesses are those of [`Bus`]. The model checks every
/// range against [`Vram::size`] first, so an implementation may panic on one
/// that lies outside.
pub trait Vram: Send + Sync {
    fn size(&self) -> u64;
    fn read(&self, offset: u64, data: &mut [u8]);
    fn write(&self, offset: u64, data: &[u8]);
    fn exchange_u32(&self, offset: u64, old: u32, new: u32) -> u32;
    fn exchange_u64(&self, offset: u64, old: u64, new: u64) -> u64;

    /// Fills a range with zeros. The driver clears all that it frees: an owner
    /// may give the memory back to the host instead.
    fn zero(&self, offset: u64, length: u64) {
        let zeros = [0; 4096];
        let mut done = 0;
        while done < length {
            let part = (length - done).min(zeros.len() as u64);
            self.write(offset + done, &zeros[..part as usize]);
            done += part;
        }
    }
}
