// SPDX-License-Identifier: GPL-2.0-only
//! Safe types over ROCr: runtime, agents, memory, signals and queues.
//!
//! Everything handed out keeps the runtime alive, so that nothing is used after
//! `hsa_shut_down`.
#![allow(unsafe_code)]

mod ffi;
mod thunk;

pub use thunk::Pm4Queue;

use std::ffi::{c_void, CStr};
use std::fmt;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::mman::{madvise, mmap, mmap_anonymous, munmap, MapFlags, MmapAdvise, ProtFlags};

use crate::packet::Packet;

/// A status that ROCr returned, with the call that returned it.
#[derive(Debug, Clone)]
pub struct Error {
    call: &'static str,
    status: ffi::Status,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, status_text(self.status))
    }
}

fn status_text(status: ffi::Status) -> String {
    let mut text = std::ptr::null();
    // SAFETY: `text` is a valid place for the pointer, and ROCr's strings are static.
    let found = unsafe { ffi::hsa_status_string(status, &mut text) };
    if found != ffi::STATUS_SUCCESS || text.is_null() {
        return format!("status {status:#x}");
    }
    // SAFETY: on success ROCr stored a pointer to a static zero-terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    format!("{} ({status:#x})", text.to_string_lossy())
}

pub type Result<T> = std::result::Result<T, Error>;

fn check(call: &'static str, status: ffi::Status) -> Result<()> {
    match status {
        ffi::STATUS_SUCCESS => Ok(()),
        _ => Err(Error { call, status }),
    }
}

/// What the runtime says about one GPU.
#[derive(Debug, Clone, serde::Serialize)]
pub struct GpuInfo {
    pub name: String,
    pub product: String,
    pub node: u32,
    pub compute_units: u32,
    pub xccs: u32,
    pub timestamp_frequency_hz: u64,
}

struct Gpu {
    agent: ffi::Agent,
    info: GpuInfo,
    memory: Option<ffi::MemoryPool>,
}

/// The initialised runtime with the agents it found.
pub struct Runtime {
    cpu: ffi::Agent,
    host_memory: ffi::MemoryPool,
    gpus: Vec<Gpu>,
}

/// Where a buffer's memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    #[default]
    Host,
    Device,
}

impl Runtime {
    pub fn open() -> anyhow::Result<Arc<Self>> {
        // SAFETY: hsa_init may be called at any time and counts its callers.
        check("hsa_init", unsafe { ffi::hsa_init() }).map_err(|error| {
            anyhow::anyhow!("{error}: is amdgpu loaded, and is /dev/kfd there and writable?")
        })?;
        Self::find_agents().inspect_err(|_| {
            // SAFETY: hsa_init above succeeded and nothing else of the runtime is alive.
            unsafe { ffi::hsa_shut_down() };
        })
    }

    fn find_agents() -> anyhow::Result<Arc<Self>> {
        let mut cpu = None;
        let mut gpus = Vec::new();
        for agent in agents()? {
            match agent_number(agent, ffi::AGENT_INFO_DEVICE)? {
                ffi::DEVICE_TYPE_CPU => cpu = cpu.or(Some(agent)),
                ffi::DEVICE_TYPE_GPU => gpus.push(Gpu {
                    agent,
                    info: gpu_info(agent)?,
                    memory: allocatable_pool(agent, 0)?,
                }),
                _ => {}
            }
        }
        let cpu = cpu.ok_or_else(|| anyhow::anyhow!("ROCr found no CPU agent"))?;
        anyhow::ensure!(
            !gpus.is_empty(),
            "ROCr found no GPU: look at dmesg for amdgpu's reason"
        );
        let host_memory = allocatable_pool(cpu, ffi::AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)?
            .ok_or_else(|| anyhow::anyhow!("ROCr offers no fine-grained host memory"))?;
        Ok(Arc::new(Self {
            cpu,
            host_memory,
            gpus,
        }))
    }

    pub fn gpus(&self) -> impl Iterator<Item = &GpuInfo> {
        self.gpus.iter().map(|gpu| &gpu.info)
    }

    fn gpu(&self, index: usize) -> anyhow::Result<&Gpu> {
        self.gpus.get(index).ok_or_else(|| {
            anyhow::anyhow!("there is no GPU {index}: ROCr found {}", self.gpus.len())
        })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // SAFETY: every object made from this runtime holds an Arc of it, so none is left.
        unsafe { ffi::hsa_shut_down() };
    }
}

fn agents() -> Result<Vec<ffi::Agent>> {
    unsafe extern "C" fn collect(agent: ffi::Agent, data: *mut c_void) -> ffi::Status {
        // SAFETY: `data` is the vector that the caller below lends for the iteration.
        unsafe { (*data.cast::<Vec<ffi::Agent>>()).push(agent) };
        ffi::STATUS_SUCCESS
    }
    let mut found = Vec::new();
    // SAFETY: `collect` matches the callback's type, and `found` outlives the call.
    let status = unsafe { ffi::hsa_iterate_agents(collect, (&raw mut found).cast()) };
    check("hsa_iterate_agents", status)?;
    Ok(found)
}

fn agent_number(agent: ffi::Agent, attribute: u32) -> Result<u32> {
    let mut value = 0u32;
    // SAFETY: the attributes asked for here are 32 bits wide.
    let status = unsafe { ffi::hsa_agent_get_info(agent, attribute, (&raw mut value).cast()) };
    check("hsa_agent_get_info", status)?;
    Ok(value)
}

fn agent_text(agent: ffi::Agent, attribute: u32) -> Result<String> {
    let mut text = [0u8; 64];
    // SAFETY: names and product names are at most 64 bytes.
    let status = unsafe { ffi::hsa_agent_get_info(agent, attribute, (&raw mut text).cast()) };
    check("hsa_agent_get_info", status)?;
    let end = text
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

fn gpu_info(agent: ffi::Agent) -> Result<GpuInfo> {
    let mut frequency = 0u64;
    // SAFETY: the timestamp frequency is 64 bits wide.
    let status = unsafe {
        ffi::hsa_agent_get_info(
            agent,
            ffi::AMD_AGENT_INFO_TIMESTAMP_FREQUENCY,
            (&raw mut frequency).cast(),
        )
    };
    check("hsa_agent_get_info", status)?;
    Ok(GpuInfo {
        name: agent_text(agent, ffi::AGENT_INFO_NAME)?,
        product: agent_text(agent, ffi::AMD_AGENT_INFO_PRODUCT_NAME)?,
        node: agent_number(agent, ffi::AMD_AGENT_INFO_DRIVER_NODE_ID)?,
        compute_units: agent_number(agent, ffi::AMD_AGENT_INFO_COMPUTE_UNIT_COUNT)?,
        xccs: agent_number(agent, ffi::AMD_AGENT_INFO_NUM_XCC)?,
        timestamp_frequency_hz: frequency,
    })
}

fn pool_number(pool: ffi::MemoryPool, attribute: u32) -> Result<u32> {
    let mut value = 0u32;
    // SAFETY: the attributes asked for here are at most 32 bits wide.
    let status =
        unsafe { ffi::hsa_amd_memory_pool_get_info(pool, attribute, (&raw mut value).cast()) };
    check("hsa_amd_memory_pool_get_info", status)?;
    Ok(value)
}

/// The agent's first global pool that can be allocated from and has `flags`.
fn allocatable_pool(agent: ffi::Agent, flags: u32) -> Result<Option<ffi::MemoryPool>> {
    unsafe extern "C" fn collect(pool: ffi::MemoryPool, data: *mut c_void) -> ffi::Status {
        // SAFETY: `data` is the vector that the caller below lends for the iteration.
        unsafe { (*data.cast::<Vec<ffi::MemoryPool>>()).push(pool) };
        ffi::STATUS_SUCCESS
    }
    let mut pools = Vec::new();
    // SAFETY: `collect` matches the callback's type, and `pools` outlives the call.
    let status =
        unsafe { ffi::hsa_amd_agent_iterate_memory_pools(agent, collect, (&raw mut pools).cast()) };
    check("hsa_amd_agent_iterate_memory_pools", status)?;
    for pool in pools {
        let global =
            pool_number(pool, ffi::AMD_MEMORY_POOL_INFO_SEGMENT)? == ffi::AMD_SEGMENT_GLOBAL;
        if global
            && pool_number(pool, ffi::AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)? != 0
            && pool_number(pool, ffi::AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS)? & flags == flags
        {
            return Ok(Some(pool));
        }
    }
    Ok(None)
}

/// Memory that the CPU and one GPU both reach. It starts zeroed, and all access
/// is by atomic words, since the GPU may write at any time.
pub struct Buffer {
    _runtime: Arc<Runtime>,
    words: *mut AtomicU32,
    length: usize,
    agent: ffi::Agent,
}

// SAFETY: the memory is reached through atomics only.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates `bytes`, rounded up to whole words.
    pub fn allocate(
        runtime: &Arc<Runtime>,
        gpu: usize,
        place: Place,
        bytes: usize,
    ) -> anyhow::Result<Self> {
        let gpu = runtime.gpu(gpu)?;
        let (pool, guest, agent) = match place {
            Place::Host => (runtime.host_memory, gpu.agent, runtime.cpu),
            Place::Device => {
                let pool = gpu
                    .memory
                    .ok_or_else(|| anyhow::anyhow!("the GPU has no memory pool"))?;
                (pool, runtime.cpu, gpu.agent)
            }
        };
        let length = bytes.div_ceil(4).max(1);
        let mut pointer = std::ptr::null_mut();
        // SAFETY: `pointer` is a valid place for the result.
        let status =
            unsafe { ffi::hsa_amd_memory_pool_allocate(pool, length * 4, 0, &mut pointer) };
        check("hsa_amd_memory_pool_allocate", status)?;
        let buffer = Self {
            _runtime: runtime.clone(),
            words: pointer.cast(),
            length,
            agent,
        };
        // SAFETY: one agent is passed, and the pointer is that of a live allocation.
        let status =
            unsafe { ffi::hsa_amd_agents_allow_access(1, &guest, std::ptr::null(), pointer) };
        check("hsa_amd_agents_allow_access", status)?;
        for word in buffer.words() {
            word.store(0, Ordering::Relaxed);
        }
        Ok(buffer)
    }

    pub fn address(&self) -> u64 {
        self.words as u64
    }

    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the allocation holds `length` words, is page-aligned and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.words, self.length) }
    }

    /// Stores `bytes`, a whole number of words, at a byte offset.
    pub fn store(&self, offset: usize, bytes: &[u8]) {
        assert!(
            offset % 4 == 0 && bytes.len() % 4 == 0,
            "stores are by words"
        );
        let words = &self.words()[offset / 4..][..bytes.len() / 4];
        for (word, bytes) in words.iter().zip(bytes.chunks_exact(4)) {
            word.store(
                u32::from_le_bytes(bytes.try_into().expect("four bytes")),
                Ordering::Relaxed,
            );
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the pool; whoever submits work keeps the buffer
        // until that work is done or its queue destroyed.
        unsafe { ffi::hsa_amd_memory_pool_free(self.words.cast()) };
    }
}

/// Copies the whole of `source` by the runtime's copy engines.
pub fn copy(destination: &Buffer, source: &Buffer, done: &Signal) -> anyhow::Result<()> {
    anyhow::ensure!(
        destination.length == source.length,
        "the buffers differ in length"
    );
    // SAFETY: both allocations are live and `length` words long, and the agents own them. The
    // caller holds both until it has waited for `done`, or the process ends.
    let status = unsafe {
        ffi::hsa_amd_memory_async_copy(
            destination.words.cast(),
            destination.agent,
            source.words.cast(),
            source.agent,
            source.length * 4,
            0,
            std::ptr::null(),
            done.signal,
        )
    };
    Ok(check("hsa_amd_memory_async_copy", status)?)
}

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
            // SAFETY: the mapping is ours and nobody uses it.
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

/// Ordinary pages that the GPU may use. When the kernel takes them away, KFD
/// evicts the process's queues and restores them with the new pages.
pub struct UserPages {
    _runtime: Arc<Runtime>,
    pages: NonNull<c_void>,
}

const USER_PAGES_BYTES: NonZeroUsize = NonZeroUsize::new(1 << 20).expect("not zero");

// SAFETY: nobody reads or writes the pages but the kernel.
unsafe impl Send for UserPages {}
// SAFETY: as above, and giving pages back twice at a time is as good as once.
unsafe impl Sync for UserPages {}

impl UserPages {
    pub fn lock(runtime: &Arc<Runtime>, gpu: usize) -> anyhow::Result<Self> {
        let agent = runtime.gpu(gpu)?.agent;
        // SAFETY: a new anonymous mapping touches no memory that is in use.
        let pages = unsafe {
            mmap_anonymous(
                None,
                USER_PAGES_BYTES,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE,
            )
        }?;
        let mut device = std::ptr::null_mut();
        // SAFETY: the mapping is as long as said and stays until the unlock in drop.
        let status = unsafe {
            let bytes = USER_PAGES_BYTES.get();
            ffi::hsa_amd_memory_lock(pages.as_ptr(), bytes, &agent, 1, &mut device)
        };
        if let Err(error) = check("hsa_amd_memory_lock", status) {
            // SAFETY: the mapping is ours and nobody uses it.
            let _ = unsafe { munmap(pages, USER_PAGES_BYTES.get()) };
            return Err(error.into());
        }
        Ok(Self {
            _runtime: runtime.clone(),
            pages,
        })
    }

    /// Has the kernel take the pages away. The next access gets new ones.
    pub fn invalidate(&self) -> nix::Result<()> {
        // SAFETY: the mapping is ours, holds nothing of value, and stays mapped.
        unsafe {
            madvise(
                self.pages,
                USER_PAGES_BYTES.get(),
                MmapAdvise::MADV_DONTNEED,
            )
        }
    }
}

impl Drop for UserPages {
    fn drop(&mut self) {
        // SAFETY: the mapping was locked in lock, and no work was ever given its address.
        unsafe {
            ffi::hsa_amd_memory_unlock(self.pages.as_ptr());
            let _ = munmap(self.pages, USER_PAGES_BYTES.get());
        }
    }
}

/// A user-mode AQL queue.
pub struct Queue {
    _runtime: Arc<Runtime>,
    queue: *mut ffi::Queue,
    /// Status of an asynchronous error, 0 when there was none.
    error: Arc<AtomicU32>,
}

// SAFETY: the queue is of the multi-producer type, and its fields do not change.
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
        };
        // SAFETY: the queue is live. The GPU writes timestamps only where profiling is on.
        let status = unsafe { ffi::hsa_amd_profiling_set_profiler_enabled(queue.queue, 1) };
        check("hsa_amd_profiling_set_profiler_enabled", status)?;
        Ok(queue)
    }

    pub fn size(&self) -> u32 {
        // SAFETY: the queue is live and the field constant.
        unsafe { (*self.queue).size }
    }

    pub fn ring_address(&self) -> u64 {
        // SAFETY: the queue is live and the field constant.
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

    /// Puts a packet into the ring and rings the doorbell. Waits while the ring
    /// is full; `give_up` ends that wait, and then false is returned.
    pub fn submit(&self, packet: &Packet, give_up: impl Fn() -> bool) -> bool {
        while {
            let (read, write) = self.indices();
            write.saturating_sub(read) >= u64::from(self.size())
        } {
            if give_up() || self.failure().is_some() {
                return false;
            }
            thread::sleep(Duration::from_micros(200));
        }
        // SAFETY: the queue is live; one slot is reserved.
        let index = unsafe { ffi::hsa_queue_add_write_index_relaxed(self.queue, 1) };
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
            ffi::hsa_signal_store_screlease((*self.queue).doorbell_signal, index as i64);
        }
        true
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the queue is live, and this is its only owner.
        unsafe { ffi::hsa_queue_destroy(self.queue) };
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
