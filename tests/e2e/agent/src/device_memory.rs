// SPDX-License-Identifier: GPL-2.0-only
//! The memory of a PCI device, as bytes. Unlike a disk it answers at once, so that reading
//! it takes the guest the same time whenever the host would have had the data.

use std::fs::{self, File};
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;

use anyhow::{Context, Result};
use nix::libc::c_void;
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};

/// QEMU's device for shared memory has it in the third of its regions.
const REGION: &str = "resource2";

/// # Invariants
///
/// A mapping of so many bytes, which nobody writes.
pub struct DeviceMemory {
    start: NonNull<c_void>,
    bytes: usize,
}

impl DeviceMemory {
    /// Maps the memory of a device, by its directory in sysfs.
    pub fn of(device: &Path) -> Result<DeviceMemory> {
        fs::write(device.join("enable"), "1").context("enabling the device")?;
        let path = device.join(REGION);
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        let bytes = usize::try_from(file.metadata()?.len())?;
        let length = bytes.try_into().context("the device has no memory")?;
        let (protection, flags) = (ProtFlags::PROT_READ, MapFlags::MAP_SHARED);
        // SAFETY: A new mapping, which is in nobody's way.
        let start = unsafe { mmap(None, length, protection, flags, &file, 0) };
        let start = start.context("mapping the device's memory")?;
        // INVARIANT: Just mapped; the file behind it was written before the device came.
        Ok(DeviceMemory { start, bytes })
    }
}

impl Deref for DeviceMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: By the type invariant; it lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes) }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and nobody has it any more. An error would leave
        // it mapped, which does no harm.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}
