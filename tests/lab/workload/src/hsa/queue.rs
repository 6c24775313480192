// SPDX-License-Identifier: GPL-2.0-only
//! User-mode AQL queues.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::mman::{mprotect, ProtFlags};

use super::{check, ffi, status_text, Buffer, Runtime};
use crate::packet::Packet;

/// A user-mode AQL queue.
pub struct Queue {
    _runtime: Arc<Runtime>,
    queue: *mut ffi::Queue,
    /// Status of an asynchronous error, 0 when there was none.
    error: Arc<AtomicU32>,
    moved: Option<MovedRing>,
}

/// A ring in other memory than ROCr has allocated.
struct MovedRing {
    memory: Buffer,
    /// Nobody may read or write it but who holds this, while it does.
    hidden: Option<Mutex<()>>,
}

impl MovedRing {
    fn protect(&self, access: ProtFlags) -> nix::Result<()> {
        let bytes = self.memory.words().len() * size_of::<u32>();
        let address = NonNull::new(self.memory.address() as *mut c_void);
        let address = address.expect("memory is somewhere");
        // SAFETY: the pages are those of a live allocation of whole pages, which nobody else
        // reads or writes: whoever publishes holds the lock, and the GPU goes by its own
        // tables.
        unsafe { mprotect(address, bytes, access) }
    }

    /// Does something while the ring may be written.
    fn open<T>(&self, write: impl FnOnce() -> T) -> T {
        let Some(lock) = &self.hidden else {
            return write();
        };
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let all = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        self.protect(all).expect("the pages are ours");
        let outcome = write();
        self.protect(ProtFlags::PROT_NONE).expect("as before");
        outcome
    }
}

// SAFETY: the queue is of the multi-producer type, and its fields do not change once
// others have it.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// Creates a queue for `size` packets, a power of two.
    pub fn create(runtime: &Arc<Runtime>, gpu: usize, size: u32) -> anyhow::Result<Self> {
        unsafe extern "C" fn failed(status: ffi::Status, _: *mut ffi::Queue, data: *mut c_void) {
            // SAFETY: `data` points into the Arc that the queue keeps until it is destroyed.
            unsafe { (*data.cast::<AtomicU32>()).store(status, Ordering::Release) };
        }
        let agent = runtime.gpu(gpu)?.agent;
        let error = Arc::new(AtomicU32::new(ffi::STATUS_SUCCESS));
        let mut queue = std::ptr::null_mut();
        // SAFETY: the callback's data is kept alive by `error`, and `queue` is a valid place.
        let status = unsafe {
            ffi::hsa_queue_create(
                agent,
                size,
                ffi::QUEUE_TYPE_MULTI,
                Some(failed),
                Arc::as_ptr(&error).cast_mut().cast(),
                u32::MAX,
                u32::MAX,
                &mut queue,
            )
        };
        check("hsa_queue_create", status)?;
        let queue = Self {
            _runtime: runtime.clone(),
            queue,
            error,
            moved: None,
        };
        // SAFETY: the queue is live. The GPU writes timestamps only where profiling is on.
        let status = unsafe { ffi::hsa_amd_profiling_set_profiler_enabled(queue.queue, 1) };
        check("hsa_amd_profiling_set_profiler_enabled", status)?;
        Ok(queue)
    }

    /// Gives the queue, which has no packets yet, a ring in other memory: of as many bytes,
    /// and such that the program may not read it but while it writes, where it is to be
    /// hidden. The driver has to be told.
    pub fn move_ring(&mut self, memory: Buffer, hidden: bool) -> anyhow::Result<()> {
        anyhow::ensure!(
            memory.words().len() * size_of::<u32>() == self.ring_bytes() as usize,
            "the new ring has another size"
        );
        const INVALID: u32 = 1;
        for packet in memory
            .words()
            .chunks(size_of::<Packet>() / size_of::<u32>())
        {
            packet[0].store(INVALID, Ordering::Relaxed);
        }
        // SAFETY: the queue is live, and nobody else has it yet.
        unsafe { (*self.queue).base_address = memory.address() as *mut c_void };
        let moved = MovedRing {
            memory,
            hidden: hidden.then(|| Mutex::new(())),
        };
        moved.open(|| ());
        self.moved = Some(moved);
        Ok(())
    }

    pub fn size(&self) -> u32 {
        // SAFETY: the queue is live and the field constant.
        unsafe { (*self.queue).size }
    }

    pub fn ring_address(&self) -> u64 {
        // SAFETY: the queue is live, and the field changes before anybody else has it only.
        unsafe { (*self.queue).base_address as u64 }
    }

    pub fn ring_bytes(&self) -> u32 {
        self.size() * size_of::<Packet>() as u32
    }

    /// Read and write index.
    pub fn indices(&self) -> (u64, u64) {
        // SAFETY: the queue is live.
        unsafe {
            (
                ffi::hsa_queue_load_read_index_scacquire(self.queue),
                ffi::hsa_queue_load_write_index_relaxed(self.queue),
            )
        }
    }

    /// Where the read and the write index are in this process's memory: at fixed
    /// places of the amd_queue_t that starts with ROCr's queue.
    pub fn index_addresses(&self) -> (u64, u64) {
        const READ_INDEX: u64 = 0x80;
        const WRITE_INDEX: u64 = 0x38;
        let queue = self.queue as u64;
        (queue + READ_INDEX, queue + WRITE_INDEX)
    }

    /// The asynchronous error that stopped the queue, if there was one.
    pub fn failure(&self) -> Option<String> {
        match self.error.load(Ordering::Acquire) {
            ffi::STATUS_SUCCESS => None,
            status => Some(status_text(status)),
        }
    }

    fn has_room(&self, packets: u64) -> bool {
        let (read, write) = self.indices();
        write.saturating_sub(read) + packets <= u64::from(self.size())
    }

    /// Puts a packet into the ring and rings the doorbell. Waits while the ring
    /// is full; `give_up` ends that wait, and then false is returned.
    pub fn submit(&self, packet: &Packet, give_up: impl Fn() -> bool) -> bool {
        self.write(packet, give_up)
            .inspect(|&index| self.ring(index))
            .is_some()
    }

    /// The same without the doorbell. Returns the packet's index.
    fn write(&self, packet: &Packet, give_up: impl Fn() -> bool) -> Option<u64> {
        let index = self.reserve(1, give_up)?;
        self.publish(index, packet);
        Some(index)
    }

    /// The same for several packets, of which the write index says for a while that they are
    /// there before they are. In the middle of that time the first half of them is written.
    pub fn submit_late(
        &self,
        packets: &[Packet],
        pause: Duration,
        give_up: impl Fn() -> bool,
    ) -> bool {
        let Some(first) = self.reserve(packets.len() as u64, give_up) else {
            return false;
        };
        let (early, late) = packets.split_at(packets.len() / 2);
        let mut places = first..;
        for half in [early, late] {
            thread::sleep(pause / 2);
            for (packet, index) in half.iter().zip(&mut places) {
                self.publish(index, packet);
                self.ring(index);
            }
        }
        true
    }

    /// Takes places in the ring for so many packets, and returns the first one's index.
    fn reserve(&self, packets: u64, give_up: impl Fn() -> bool) -> Option<u64> {
        while !self.has_room(packets) {
            if give_up() || self.failure().is_some() {
                return None;
            }
            thread::sleep(Duration::from_micros(200));
        }
        // SAFETY: the queue is live.
        Some(unsafe { ffi::hsa_queue_add_write_index_relaxed(self.queue, packets) })
    }

    /// Writes a packet to a place that was taken, its header last.
    fn publish(&self, index: u64, packet: &Packet) {
        match &self.moved {
            Some(moved) => moved.open(|| self.store(index, packet)),
            None => self.store(index, packet),
        }
    }

    fn store(&self, index: u64, packet: &Packet) {
        let slot = (index % u64::from(self.size())) as usize;
        let words = packet.words();
        // SAFETY: the ring has `size` packets of 64 bytes, and the slot is inside and ours until
        // its header is published.
        unsafe {
            let ring = (*self.queue)
                .base_address
                .cast::<u32>()
                .add(slot * words.len());
            for (place, &word) in words.iter().enumerate().skip(1) {
                AtomicU32::from_ptr(ring.add(place)).store(word, Ordering::Relaxed);
            }
            AtomicU32::from_ptr(ring).store(words[0], Ordering::Release);
        }
    }

    /// Rings the doorbell for the packets up to this one.
    fn ring(&self, index: u64) {
        // SAFETY: the queue is live.
        unsafe {
            ffi::hsa_signal_store_screlease((*self.queue).doorbell_signal, index as i64);
        }
    }

    /// Several packets with one doorbell for all.
    pub fn batch(&self) -> Batch<'_> {
        Batch {
            queue: self,
            last: None,
        }
    }
}

/// Packets that were written, for which the doorbell rings when this is dropped.
pub struct Batch<'q> {
    queue: &'q Queue,
    last: Option<u64>,
}

impl Batch<'_> {
    /// As [`Queue::submit`]. For what waits for room the doorbell has rung.
    pub fn submit(&mut self, packet: &Packet, give_up: impl Fn() -> bool) -> bool {
        if !self.queue.has_room(1) {
            self.ring();
        }
        let index = self.queue.write(packet, give_up);
        self.last = index.or(self.last);
        index.is_some()
    }

    fn ring(&mut self) {
        if let Some(index) = self.last.take() {
            self.queue.ring(index);
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.ring();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the queue is live, and this is its only owner.
        unsafe { ffi::hsa_queue_destroy(self.queue) };
    }
}
