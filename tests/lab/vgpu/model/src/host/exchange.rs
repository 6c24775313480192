// SPDX-License-Identifier: GPL-2.0-only
//! What host and guest tell each other in video memory: the host's page, and behind it
//! the guest's. Places, versions and the sum are those of the driver's
//! amdgv_sriovmsg.h.

/// Where the host's page is; before it is the video BIOS.
pub const OFFSET: u64 = 64 << 10;
/// Bytes of either page.
pub const BYTES: usize = 1 << 10;

/// The version of the host's page.
const VERSION: u32 = 2;

/// Places in the host's page.
mod at {
    pub const SIZE: usize = 0;
    pub const VERSION: usize = 4;
    pub const CHECKSUM: usize = 16;
    pub const UPDATE_INTERVAL: usize = 88;
    pub const UUID: usize = 92;
    pub const REGISTER_ACCESS: usize = 104;
    pub const ATOMICS: usize = 188;
}

/// The guest's writes to the registers that control its interrupt ring go by the security
/// processor.
const INTERRUPT_RING_BY_SECURITY: u32 = 1;
/// How often the guest is to write its page, in milliseconds of its own.
const INTERVAL: u32 = 2_000;
/// Completer of 32- and 64-bit atomic operations, as in the PCI capability.
const ATOMICS: u32 = 0x180;
/// By which the driver tells GPUs apart.
const UUID: u64 = 0x7674_7561_6c5f_7666;

/// The sum over a page, to which the field that has it counts nothing.
pub fn checksum(page: &[u8]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let stored = page.get(at::CHECKSUM..at::CHECKSUM + 4).unwrap_or_default();
    sum(page).wrapping_sub(sum(stored))
}

/// The host's page.
pub fn page() -> [u8; BYTES] {
    let mut page = [0; BYTES];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(at::SIZE, &(BYTES as u32).to_le_bytes());
    put(at::VERSION, &VERSION.to_le_bytes());
    put(at::UPDATE_INTERVAL, &INTERVAL.to_le_bytes());
    put(at::UUID, &UUID.to_le_bytes());
    put(
        at::REGISTER_ACCESS,
        &INTERRUPT_RING_BY_SECURITY.to_le_bytes(),
    );
    put(at::ATOMICS, &ATOMICS.to_le_bytes());
    let sum = checksum(&page);
    page[at::CHECKSUM..at::CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
    page
}
