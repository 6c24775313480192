// SPDX-License-Identifier: GPL-2.0-only
//! Guest and video memory for unit tests, and a driver in miniature.

mod bytes;
pub mod direct;
pub mod driver;
pub mod machine;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::terms::{Bus, BusError, Vram};
use bytes::Bytes;

/// Guest memory from address 0, shared by its clones.
#[derive(Clone)]
pub struct TestBus {
    memory: Arc<Mutex<Bytes>>,
    interrupts: Arc<AtomicU64>,
}

impl TestBus {
    pub fn new(bytes: usize) -> TestBus {
        TestBus {
            memory: Arc::new(Mutex::new(Bytes::new(bytes))),
            interrupts: Arc::default(),
        }
    }

    pub fn interrupts(&self) -> u64 {
        self.interrupts.load(Ordering::SeqCst)
    }

    /// Notes what memory has now, for `restore`.
    pub fn keep(&self) {
        self.memory.lock().unwrap().keep();
    }

    /// Returns memory to what it had when it was kept.
    pub fn restore(&self) {
        self.memory.lock().unwrap().restore();
    }

    fn with<R>(
        &self,
        address: u64,
        length: usize,
        access: impl FnOnce(&mut Bytes, Range<usize>) -> R,
    ) -> Result<R, BusError> {
        let mut memory = self.memory.lock().unwrap();
        let error = BusError { address, length };
        let start = usize::try_from(address).map_err(|_| error)?;
        let end = start.checked_add(length).ok_or(error)?;
        if end > memory.all().len() {
            return Err(error);
        }
        Ok(access(&mut memory, start..end))
    }
}

impl Bus for TestBus {
    fn read(&self, address: u64, data: &mut [u8]) -> Result<(), BusError> {
        self.with(address, data.len(), |memory, range| {
            data.copy_from_slice(&memory.all()[range]);
        })
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), BusError> {
        self.with(address, data.len(), |memory, range| {
            memory.change(range).copy_from_slice(data);
        })
    }

    fn exchange_u32(&self, address: u64, old: u32, new: u32) -> Result<u32, BusError> {
        self.with(address, 4, |memory, range| {
            let found = u32::from_le_bytes(memory.all()[range.clone()].try_into().unwrap());
            if found == old {
                memory.change(range).copy_from_slice(&new.to_le_bytes());
            }
            found
        })
    }

    fn exchange_u64(&self, address: u64, old: u64, new: u64) -> Result<u64, BusError> {
        self.with(address, 8, |memory, range| {
            let found = u64::from_le_bytes(memory.all()[range.clone()].try_into().unwrap());
            if found == old {
                memory.change(range).copy_from_slice(&new.to_le_bytes());
            }
            found
        })
    }

    fn raise_msi(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
    }
}

/// Video memory, shared by its clones.
#[derive(Clone)]
pub struct TestVram {
    memory: TestBus,
    bytes: u64,
}

impl TestVram {
    pub fn new(bytes: usize) -> TestVram {
        TestVram {
            memory: TestBus::new(bytes),
            bytes: bytes as u64,
        }
    }

    /// How often it was written.
    pub fn writes(&self) -> u64 {
        self.memory.memory.lock().unwrap().changes()
    }

    /// As [`TestBus::keep`].
    pub fn keep(&self) {
        self.memory.keep();
    }

    /// As [`TestBus::restore`].
    pub fn restore(&self) {
        self.memory.restore();
    }
}

impl Vram for TestVram {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        self.memory.read(offset, data).unwrap();
    }

    fn write(&self, offset: u64, data: &[u8]) {
        self.memory.write(offset, data).unwrap();
    }

    fn exchange_u32(&self, offset: u64, old: u32, new: u32) -> u32 {
        self.memory.exchange_u32(offset, old, new).unwrap()
    }

    fn exchange_u64(&self, offset: u64, old: u64, new: u64) -> u64 {
        self.memory.exchange_u64(offset, old, new).unwrap()
    }
}
