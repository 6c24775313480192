// SPDX-License-Identifier: GPL-2.0-only
//! Signals of the runtime, and those that several processes share.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};

use super::{check, ffi, Result, Runtime};

/// A runtime signal.
pub struct Signal {
    _runtime: Arc<Runtime>,
    signal: ffi::Signal,
}

impl Signal {
    pub fn create(runtime: &Arc<Runtime>, value: i64) -> Result<Self> {
        let mut signal = ffi::Signal { handle: 0 };
        // SAFETY: no consumers are listed, and `signal` is a valid place for the result.
        let status = unsafe { ffi::hsa_signal_create(value, 0, std::ptr::null(), &mut signal) };
        check("hsa_signal_create", status)?;
        Ok(Self {
            _runtime: runtime.clone(),
            signal,
        })
    }

    pub(super) fn raw(&self) -> ffi::Signal {
        self.signal
    }

    /// The value that packets carry.
    pub fn handle(&self) -> u64 {
        self.signal.handle
    }

    pub fn store(&self, value: i64) {
        // SAFETY: the signal is live.
        unsafe { ffi::hsa_signal_store_screlease(self.signal, value) }
    }

    pub fn load(&self) -> i64 {
        // SAFETY: the signal is live.
        unsafe { ffi::hsa_signal_load_scacquire(self.signal) }
    }

    /// Waits until the value is below `bound` or the time is up; true when it is.
    pub fn wait_below(&self, bound: i64, timeout: Duration) -> bool {
        // ROCr's system timestamp counts nanoseconds.
        let hint = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the signal is live.
        let value = unsafe {
            ffi::hsa_signal_wait_scacquire(
                self.signal,
                ffi::SIGNAL_CONDITION_LT,
                bound,
                hint,
                ffi::WAIT_STATE_BLOCKED,
            )
        };
        value < bound
    }

    /// GPU clock ticks at which the last dispatch that completed on this signal
    /// started and ended.
    pub fn timestamps(&self) -> (u64, u64) {
        let signal = self.signal.handle as *mut ffi::AmdSignal;
        // SAFETY: a signal's handle is the address of its amd_signal_t, which lives as long as
        // the signal. The GPU wrote the stamps before it changed the value, which the caller saw.
        unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*signal).start_timestamp).load(Ordering::Acquire),
                AtomicU64::from_ptr(&raw mut (*signal).end_timestamp).load(Ordering::Acquire),
            )
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // SAFETY: the signal is live; whoever submits it keeps it until the work is done or
        // its queue destroyed.
        unsafe { ffi::hsa_signal_destroy(self.signal) };
    }
}

/// Signals that several processes use, in a file that all of them map. The packet
/// processors of their queues see a signal as a block of memory; ROCr's own
/// sharing of signals needs ioctls that the upstream driver does not have.
pub struct SharedSignals {
    _runtime: Arc<Runtime>,
    host: NonNull<c_void>,
    bytes: NonZeroUsize,
    device_address: u64,
}

// SAFETY: this side only hands out addresses; the memory is the GPU's to read and write.
unsafe impl Send for SharedSignals {}
// SAFETY: as above.
unsafe impl Sync for SharedSignals {}

impl SharedSignals {
    /// What the file holds for `count` signals of the value 1.
    pub fn content(count: usize) -> Vec<u8> {
        let mut signal = [0; size_of::<ffi::AmdSignal>()];
        signal[..8].copy_from_slice(&ffi::AMD_SIGNAL_KIND_USER.to_le_bytes());
        signal[8..16].copy_from_slice(&1i64.to_le_bytes());
        signal.repeat(count)
    }

    /// Maps `count` signals that start at a page of the file.
    pub fn map(
        runtime: &Arc<Runtime>,
        gpu: usize,
        file: &File,
        offset: u64,
        count: usize,
    ) -> anyhow::Result<Self> {
        let agent = runtime.gpu(gpu)?.agent;
        let bytes = NonZeroUsize::new(count * size_of::<ffi::AmdSignal>())
            .ok_or_else(|| anyhow::anyhow!("no signals to share"))?;
        // SAFETY: a new mapping of a file touches no memory that is in use.
        let host = unsafe {
            mmap(
                None,
                bytes,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                file,
                offset.try_into()?,
            )
        }?;
        let mut device = std::ptr::null_mut();
        // SAFETY: the mapping is `bytes` long and stays until the unlock in drop.
        let status =
            unsafe { ffi::hsa_amd_memory_lock(host.as_ptr(), bytes.get(), &agent, 1, &mut device) };
        if let Err(error) = check("hsa_amd_memory_lock", status) {
            // SAFETY: the mapping is ours and nothing uses it.
            let _ = unsafe { munmap(host, bytes.get()) };
            return Err(error.into());
        }
        Ok(Self {
            _runtime: runtime.clone(),
            host,
            bytes,
            device_address: device as u64,
        })
    }

    /// The value that packets carry for one of the signals.
    pub fn handle(&self, index: usize) -> Option<u64> {
        let offset = index.checked_mul(size_of::<ffi::AmdSignal>())?;
        (offset < self.bytes.get()).then(|| self.device_address + offset as u64)
    }
}

impl Drop for SharedSignals {
    fn drop(&mut self) {
        // SAFETY: the mapping was locked in map; whoever submits its signals keeps them until
        // the work is done or its queue destroyed.
        unsafe {
            ffi::hsa_amd_memory_unlock(self.host.as_ptr());
            let _ = munmap(self.host, self.bytes.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_signals_start_at_one() {
        let content = SharedSignals::content(2);
        assert_eq!(content.len(), 128);
        assert_eq!(
            (content[0], content[8], content[64], content[72]),
            (1, 1, 1, 1)
        );
        assert_eq!(content.iter().map(|&byte| u32::from(byte)).sum::<u32>(), 4);
    }
}
