// SPDX-License-Identifier: GPL-2.0-only
//! Memory that is shared with the guest: its RAM, as the client maps it for
//! DMA, and the video memory.
//!
//! The guest's CPUs use the same bytes at the same time, so every access here is
//! made of atomic ones: words where the address allows it, else bytes.

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nix::fcntl::{fallocate, FallocateFlags};
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};
use nix::sys::stat::fstat;
use vgpu_model::{Bus, BusError, Vram};

use crate::interrupt::Vector;

const PAGE: u64 = 4096;

/// A shared mapping of a file.
///
/// # Invariants
///
/// `base` is the start of a live, readable and writable shared mapping of
/// `length` bytes, which only this value unmaps.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: The mapping belongs to the process, not to a thread, and all accesses
// to it are atomic.
unsafe impl Send for Mapping {}
// SAFETY: As above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(file: impl AsFd, offset: u64, length: u64) -> nix::Result<Mapping> {
        let too_large = nix::errno::Errno::EOVERFLOW;
        let length = usize::try_from(length).map_err(|_| too_large)?;
        let size = NonZeroUsize::new(length).ok_or(nix::errno::Errno::EINVAL)?;
        let offset = i64::try_from(offset).map_err(|_| too_large)?;
        // SAFETY: The kernel chooses the address, so no memory of ours is
        // replaced. The file is a memory file that its owner does not shrink.
        let base = unsafe {
            mmap(
                None,
                size,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                file,
                offset,
            )?
        };
        // INVARIANT: `mmap` has just made this mapping.
        Ok(Mapping {
            base: base.cast(),
            length,
        })
    }

    /// Where it starts, for as long as it lives.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.base
    }

    /// Whether so many bytes from the offset on lie inside.
    fn holds(&self, offset: u64, length: usize) -> bool {
        usize::try_from(offset)
            .ok()
            .and_then(|offset| offset.checked_add(length))
            .is_some_and(|end| end <= self.length)
    }

    /// The address of an offset that was checked with [`Mapping::holds`].
    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.length);
        self.base.as_ptr().wrapping_add(offset)
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: By the type's invariant the byte is mapped as long as `self`
        // is borrowed; the caller has checked the offset.
        unsafe { AtomicU8::from_ptr(self.at(offset)) }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: As in `byte`; the caller has checked that the four bytes are
        // inside, and that the offset is aligned. The base is aligned to a page.
        unsafe { AtomicU32::from_ptr(self.at(offset).cast()) }
    }

    fn long(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: As in `word`, for eight bytes.
        unsafe { AtomicU64::from_ptr(self.at(offset).cast()) }
    }

    /// Reads bytes. The range must lie inside.
    fn read(&self, offset: u64, data: &mut [u8]) {
        assert!(self.holds(offset, data.len()));
        let mut at = offset as usize;
        let mut rest = data;
        while !rest.is_empty() {
            let (now, later) = rest.split_at_mut(together(at, rest.len()));
            match now.len() {
                8 => now.copy_from_slice(&self.long(at).load(Ordering::Acquire).to_le_bytes()),
                4 => now.copy_from_slice(&self.word(at).load(Ordering::Acquire).to_le_bytes()),
                _ => now.fill(self.byte(at).load(Ordering::Relaxed)),
            }
            at += now.len();
            rest = later;
        }
    }

    /// Writes bytes. The range must lie inside.
    fn write(&self, offset: u64, data: &[u8]) {
        assert!(self.holds(offset, data.len()));
        let mut at = offset as usize;
        let mut rest = data;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(together(at, rest.len()));
            let value = now
                .iter()
                .rev()
                .fold(0, |sum, &byte| (sum << 8) | u64::from(byte));
            match now.len() {
                8 => self.long(at).store(value, Ordering::Release),
                4 => self.word(at).store(value as u32, Ordering::Release),
                _ => self.byte(at).store(value as u8, Ordering::Relaxed),
            }
            at += now.len();
            rest = later;
        }
    }

    /// Puts `new` in the place of `old` if that is there, by one instruction of the host's
    /// processor, which the guest's see as one; returns what was there. The word must be
    /// aligned and lie inside.
    fn exchange_u32(&self, offset: u64, old: u32, new: u32) -> u32 {
        assert!(self.holds(offset, 4) && offset % 4 == 0);
        let word = self.word(offset as usize);
        match word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(found) | Err(found) => found,
        }
    }

    /// As [`Mapping::exchange_u32`].
    fn exchange_u64(&self, offset: u64, old: u64, new: u64) -> u64 {
        assert!(self.holds(offset, 8) && offset % 8 == 0);
        let word = self.long(offset as usize);
        match word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(found) | Err(found) => found,
        }
    }
}

/// How many bytes of an access are read or written at once: as many as are aligned, so
/// that each aligned word is a single access, also among others.
fn together(at: usize, left: usize) -> usize {
    match (at % 8, left) {
        (0, 8..) => 8,
        (0 | 4, 4..) => 4,
        _ => 1,
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this is our mapping, and nothing can
        // borrow it any more.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

/// Video memory: a sparse memory file, which the client maps into the guest.
#[derive(Clone)]
pub struct VideoMemory {
    mapping: Arc<Mapping>,
    file: Arc<OwnedFd>,
}

impl VideoMemory {
    pub fn new(bytes: u64) -> nix::Result<VideoMemory> {
        let file = memfd_create(c"vram", MFdFlags::MFD_CLOEXEC)?;
        let length = i64::try_from(bytes).map_err(|_| nix::errno::Errno::EOVERFLOW)?;
        nix::unistd::ftruncate(&file, length)?;
        Ok(VideoMemory {
            mapping: Arc::new(Mapping::new(&file, 0, bytes)?),
            file: Arc::new(file),
        })
    }

    /// The file, for the client to map.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    fn give_back(&self, offset: u64, length: u64) -> nix::Result<()> {
        let too_large = |_| nix::errno::Errno::EOVERFLOW;
        let offset = i64::try_from(offset).map_err(too_large)?;
        let length = i64::try_from(length).map_err(too_large)?;
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(&self.file, flags, offset, length)
    }

    fn write_zeros(&self, start: u64, end: u64) {
        let zeros = [0; PAGE as usize];
        let mut at = start;
        while at < end {
            let part = (end - at).min(PAGE);
            self.mapping.write(at, &zeros[..part as usize]);
            at += part;
        }
    }

    /// Copies bytes out, for an access that the client could not map. False if
    /// the range is not inside.
    pub fn copy_out(&self, offset: u64, data: &mut [u8]) -> bool {
        let inside = self.mapping.holds(offset, data.len());
        if inside {
            self.mapping.read(offset, data);
        }
        inside
    }

    /// Copies bytes in; see [`VideoMemory::copy_out`].
    pub fn copy_in(&self, offset: u64, data: &[u8]) -> bool {
        let inside = self.mapping.holds(offset, data.len());
        if inside {
            self.mapping.write(offset, data);
        }
        inside
    }
}

impl Vram for VideoMemory {
    fn size(&self) -> u64 {
        self.mapping.length as u64
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        self.mapping.read(offset, data);
    }

    fn write(&self, offset: u64, data: &[u8]) {
        self.mapping.write(offset, data);
    }

    fn exchange_u32(&self, offset: u64, old: u32, new: u32) -> u32 {
        self.mapping.exchange_u32(offset, old, new)
    }

    fn exchange_u64(&self, offset: u64, old: u64, new: u64) -> u64 {
        self.mapping.exchange_u64(offset, old, new)
    }

    /// Whole pages go back to the host, and read as zeros from then on.
    fn zero(&self, offset: u64, length: u64) {
        let end = offset + length;
        let first = offset.next_multiple_of(PAGE).min(end);
        let last = (end / PAGE * PAGE).max(first);
        if last > first && self.give_back(first, last - first).is_err() {
            self.write_zeros(first, last);
        }
        self.write_zeros(offset, first);
        self.write_zeros(last, end);
    }
}

/// The guest's memory as the client has mapped it for DMA.
///
/// The client maps and unmaps while the device works. An access holds the table
/// for reading, so that no mapping goes away under it.
#[derive(Clone, Default)]
pub struct GuestMemory {
    table: Arc<RwLock<Vec<(u64, Mapping)>>>,
    vector: Vector,
}

impl GuestMemory {
    pub fn new(vector: Vector) -> GuestMemory {
        GuestMemory {
            table: Arc::default(),
            vector,
        }
    }

    /// Adds a range of guest-physical addresses, all of which must be in the file: who
    /// touches a page behind a file's end is killed. The client lends memory that it
    /// does not shrink.
    pub fn map(&self, address: u64, file: impl AsFd, offset: u64, length: u64) -> nix::Result<()> {
        let invalid = nix::errno::Errno::EINVAL;
        let size = u64::try_from(fstat(&file)?.st_size).map_err(|_| invalid)?;
        let end = offset.checked_add(length).ok_or(invalid)?;
        if end > size || address.checked_add(length).is_none() {
            return Err(invalid);
        }
        let mapping = Mapping::new(file, offset, length)?;
        self.table
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push((address, mapping));
        Ok(())
    }

    /// Removes every range that lies within these addresses.
    pub fn unmap(&self, address: u64, length: u64) {
        let end = address.saturating_add(length);
        self.table
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(start, mapping)| {
                *start < address || start.saturating_add(mapping.length as u64) > end
            });
    }

    fn with<R>(
        &self,
        address: u64,
        length: usize,
        access: impl FnOnce(&Mapping, u64) -> R,
    ) -> Result<R, BusError> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table
            .iter()
            .filter_map(|(start, mapping)| Some((mapping, address.checked_sub(*start)?)))
            .find(|(mapping, offset)| mapping.holds(*offset, length))
            .map(|(mapping, offset)| access(mapping, offset))
            .ok_or(BusError { address, length })
    }
}

impl Bus for GuestMemory {
    fn read(&self, address: u64, data: &mut [u8]) -> Result<(), BusError> {
        self.with(address, data.len(), |mapping, offset| {
            mapping.read(offset, data)
        })
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), BusError> {
        self.with(address, data.len(), |mapping, offset| {
            mapping.write(offset, data)
        })
    }

    fn exchange_u32(&self, address: u64, old: u32, new: u32) -> Result<u32, BusError> {
        let error = BusError { address, length: 4 };
        self.with(address, 4, |mapping, offset| {
            (offset % 4 == 0).then(|| mapping.exchange_u32(offset, old, new))
        })?
        .ok_or(error)
    }

    fn exchange_u64(&self, address: u64, old: u64, new: u64) -> Result<u64, BusError> {
        let error = BusError { address, length: 8 };
        self.with(address, 8, |mapping, offset| {
            (offset % 8 == 0).then(|| mapping.exchange_u64(offset, old, new))
        })?
        .ok_or(error)
    }

    fn raise_msi(&self) {
        self.vector.raise();
    }
}

#[cfg(test)]
mod tests;
