// SPDX-License-Identifier: GPL-2.0-only
//! Memory that the GPU reaches: buffers of the runtime and ordinary pages.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use nix::sys::mman::{madvise, mmap_anonymous, munmap, MapFlags, MmapAdvise, ProtFlags};

use super::{check, ffi, Place, Runtime, Signal};

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
            done.raw(),
        )
    };
    Ok(check("hsa_amd_memory_async_copy", status)?)
}

/// Ordinary pages that the GPU may use. When the kernel takes them away, KFD
/// evicts the process's queues and restores them with the new pages.
pub struct UserPages {
    _runtime: Arc<Runtime>,
    pages: NonNull<c_void>,
}

const USER_PAGES_BYTES: NonZeroUsize = NonZeroUsize::new(1 << 20).expect("not zero");

// SAFETY: only the kernel reads or writes the pages.
unsafe impl Send for UserPages {}
// SAFETY: as above, and giving pages back twice at the same time does no harm.
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
            // SAFETY: the mapping is ours and nothing uses it.
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
