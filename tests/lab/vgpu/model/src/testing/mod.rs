// SPDX-License-Identifier: GPL-2.0-only
//! Guest and video memory for unit tests, and a driver in miniature.

pub mod direct;
pub mod driver;
pub mod machine;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::terms::{Bus, BusError, Vram};

/// Guest memory from address 0, shared by its clones.
#[derive(Clone)]
pub struct TestBus {
    memory: Arc<Mutex<Vec<u8>>>,
    interrupts: Arc<AtomicU64>,
}

impl TestBus {
    pub fn new(bytes: usize) -> TestBus {
        TestBus {
            memory: Arc::new(Mutex::new(vec![0; bytes])),
            interrupts: Arc::default(),
        }
    }

    pub fn interrupts(&self) -> u64 {
        self.interrupts.load(Ordering::SeqCst)
    }

    fn with<R>(
        &self,
        address: u64,
        length: usize,
        access: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, BusError> {
        let mut memory = self.memory.lock().unwrap();
        let error = BusError { address, length };
        let start = usize::try_from(address).map_err(|_| error)?;
        let end = start.checked_add(length).ok_or(error)?;
        memory.get_mut(start..end).map(access).ok_or(error)
    }
}

impl Bus for TestBus {
    fn read(&self, address: u64, data: &mut [u8]) -> Result<(), BusError> {
        self.with(address, data.len(), |bytes| data.copy_from_slice(bytes))
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), BusError> {
        self.with(address, data.len(), |bytes| bytes.copy_from_slice(data))
    }

    fn fetch_add_u32(&self, address: u64, value: u32) -> Result<u32, BusError> {
        self.with(address, 4, |bytes| {
            let old = u32::from_le_bytes(bytes.try_into().unwrap());
            bytes.copy_from_slice(&old.wrapping_add(value).to_le_bytes());
            old
        })
    }

    fn fetch_add_u64(&self, address: u64, value: u64) -> Result<u64, BusError> {
        self.with(address, 8, |bytes| {
            let old = u64::from_le_bytes(bytes.try_into().unwrap());
            bytes.copy_from_slice(&old.wrapping_add(value).to_le_bytes());
            old
        })
    }

    fn raise_msi(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
    }
}

/// Video memory, shared by its clones.
#[derive(Clone)]
pub struct TestVram(TestBus);

impl TestVram {
    pub fn new(bytes: usize) -> TestVram {
        TestVram(TestBus::new(bytes))
    }
}

impl Vram for TestVram {
    fn size(&self) -> u64 {
        self.0.memory.lock().unwrap().len() as u64
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        self.0.read(offset, data).unwrap();
    }

    fn write(&self, offset: u64, data: &[u8]) {
        self.0.write(offset, data).unwrap();
    }

    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32 {
        self.0.fetch_add_u32(offset, value).unwrap()
    }

    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64 {
        self.0.fetch_add_u64(offset, value).unwrap()
    }
}
