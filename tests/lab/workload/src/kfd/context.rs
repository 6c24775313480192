// SPDX-License-Identifier: GPL-2.0-only
//! A program's main context, or one beside it, which KFD has since 7.2 and whose GPU
//! addresses are its own. A queue of such a one is made whose addresses lead to nothing but
//! zeros on the GPU, and to words of the program's own choice in the program; one of the
//! main one hangs.
//!
//! The runtime makes no such contexts and queues, so that this goes to the driver itself.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;

use anyhow::{Context as _, Result};
use nix::fcntl::{fcntl, FcntlArg, FdFlag};
use nix::sys::mman::{mmap, mmap_anonymous, MapFlags, ProtFlags};

use super::ioctl::Kfd;
use super::{pressure, sysfs};

const PAGE: u64 = 4096;
const RING_BYTES: u64 = 1 << 16;
const WHOLE_SHARE: u32 = 100;

/// KFD_IOC_QUEUE_TYPE_COMPUTE_AQL.
const AQL: u32 = 2;
/// KFD_IOC_ALLOC_MEM_FLAGS: GTT, writable, executable.
const MEMORY: u32 = (1 << 1) | (1 << 31) | (1 << 30);

#[repr(C)]
#[derive(Default)]
pub struct CreateQueueArgs {
    ring: u64,
    write_pointer: u64,
    read_pointer: u64,
    doorbell_offset: u64,
    ring_bytes: u32,
    gpu_id: u32,
    queue_type: u32,
    percentage: u32,
    priority: u32,
    queue_id: u32,
    eop_buffer: u64,
    eop_buffer_bytes: u64,
    save_area: u64,
    save_area_bytes: u32,
    control_stack_bytes: u32,
    sdma_engine: u32,
    metadata_ring_bytes: u32,
}

#[repr(C)]
pub struct AcquireVmArgs {
    render_node: u32,
    gpu_id: u32,
}

#[repr(C)]
pub struct AllocateArgs {
    address: u64,
    bytes: u64,
    handle: u64,
    mmap_offset: u64,
    gpu_id: u32,
    flags: u32,
}

#[repr(C)]
pub struct MapArgs {
    handle: u64,
    gpu_ids: u64,
    count: u32,
    done: u32,
}

const _: () = assert!(size_of::<CreateQueueArgs>() == 96);
const _: () = assert!(size_of::<AcquireVmArgs>() == 8);
const _: () = assert!(size_of::<AllocateArgs>() == 40);
const _: () = assert!(size_of::<MapArgs>() == 24);

mod raw {
    use super::*;
    nix::ioctl_readwrite!(create_queue, b'K', 0x02, CreateQueueArgs);
    nix::ioctl_write_ptr!(acquire_vm, b'K', 0x15, AcquireVmArgs);
    nix::ioctl_readwrite!(allocate, b'K', 0x16, AllocateArgs);
    nix::ioctl_readwrite!(map, b'K', 0x18, MapArgs);
    nix::ioctl_none!(create_process, b'K', 0x27);
}

/// A context of the program, on one GPU.
pub struct Context {
    kfd: Kfd,
    gpu_id: u32,
    properties: std::collections::BTreeMap<String, u64>,
    /// Where every queue's waves would be saved, if any of them had waves.
    save_area: u64,
    render_node: File,
}

impl Context {
    /// Makes one beside the main one, on a topology node.
    pub fn create(node: u32) -> Result<Self> {
        let kfd = Kfd::open()?;
        // SAFETY: the call takes no argument.
        unsafe { raw::create_process(kfd.fd()) }.context("making a context: is KFD of 7.2?")?;
        Self::on(node, kfd)
    }

    /// The main one, on a topology node.
    pub fn main(node: u32) -> Result<Self> {
        Self::on(node, Kfd::open()?)
    }

    fn on(node: u32, kfd: Kfd) -> Result<Self> {
        let gpu_id = sysfs::gpu_id(node)?;
        let path = pressure::first_render_node()?;
        let render_node = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .with_context(|| path.display().to_string())?;
        let args = AcquireVmArgs {
            render_node: render_node.as_raw_fd() as u32,
            gpu_id,
        };
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::acquire_vm(kfd.fd(), &args) }.context("giving the context addresses")?;
        let mut context = Self {
            kfd,
            gpu_id,
            properties: sysfs::properties(node)?,
            save_area: 0,
            render_node,
        };
        let (_, with_debugger) = context.save_area_bytes()?;
        let bytes = (with_debugger * context.property("num_xcc")?).next_multiple_of(PAGE);
        context.save_area = context.allocate(bytes)?.address;
        Ok(context)
    }

    pub fn kfd(&self) -> &Kfd {
        &self.kfd
    }

    /// Lets the context outlive the program's own execution of another.
    pub fn keep_over_exec(&self) -> Result<()> {
        // SAFETY: the file is open for as long as `self` lives.
        let file = unsafe { std::os::fd::BorrowedFd::borrow_raw(self.kfd.fd()) };
        fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        Ok(())
    }

    fn property(&self, name: &str) -> Result<u64> {
        let value = self.properties.get(name).copied();
        value.with_context(|| format!("the node has no property '{name}'"))
    }

    /// Memory of the GPU with nothing but zeros, at an address at which the program has
    /// other memory.
    fn allocate(&self, bytes: u64) -> Result<Decoy> {
        self.allocate_beside(bytes).map(|(decoy, _)| decoy)
    }

    /// Memory that the program and the GPU see at the same address.
    fn allocate_shared(&self, bytes: u64) -> Result<Decoy> {
        let (memory, offset) = self.allocate_beside(bytes)?;
        let length = NonZeroUsize::new(bytes as usize).context("no bytes of memory")?;
        let address = NonZeroUsize::new(memory.address as usize);
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        let (file, offset) = (&self.render_node, offset as nix::libc::off_t);
        // SAFETY: what is replaced is the memory of `memory`, which nothing has a reference
        // to yet, by a mapping of the same length and access.
        unsafe { mmap(address, length, access, flags, file, offset) }?;
        Ok(memory)
    }

    /// Memory of the GPU and of the program at the same address, and the offset at which
    /// the render node shows the GPU's.
    fn allocate_beside(&self, bytes: u64) -> Result<(Decoy, u64)> {
        let decoy = Decoy::new(bytes)?;
        let mut memory = AllocateArgs {
            address: decoy.address,
            bytes,
            handle: 0,
            mmap_offset: 0,
            gpu_id: self.gpu_id,
            flags: MEMORY,
        };
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::allocate(self.kfd.fd(), &mut memory) }.context("allocating memory")?;
        let gpus = [self.gpu_id];
        let mut map = MapArgs {
            handle: memory.handle,
            gpu_ids: gpus.as_ptr() as u64,
            count: 1,
            done: 0,
        };
        // SAFETY: the argument is the structure that the number's size names, and the array
        // is as long as it says.
        unsafe { raw::map(self.kfd.fd(), &mut map) }.context("mapping memory")?;
        Ok((decoy, memory.mmap_offset))
    }

    /// The driver's kfd_queue_ctx_save_restore_size(), of which sysfs shows a part: bytes
    /// of the save area of one XCC without and with what a debugger uses.
    fn save_area_bytes(&self) -> Result<(u64, u64)> {
        const WAVES_PER_UNIT: u64 = 40;
        const WAVES_PER_ENGINE: u64 = 512;
        const DEBUGGER_BYTES_PER_WAVE: u64 = 32;
        let xccs = self.property("num_xcc")?;
        let units = self.property("simd_count")? / self.property("simd_per_cu")? / xccs;
        let engines =
            self.property("array_count")? / xccs / self.property("simd_arrays_per_engine")?;
        let waves = (units * WAVES_PER_UNIT).min(engines * WAVES_PER_ENGINE);
        let debugger = (waves * DEBUGGER_BYTES_PER_WAVE).next_multiple_of(64);
        let bytes = self.property("cwsr_size")?;
        Ok((bytes, bytes + debugger))
    }

    /// Makes a queue without work. Whoever reads its pointers and its ring in the program
    /// finds `packets` that wait.
    pub fn create_queue(&self, priority: u32, packets: u64) -> Result<u32> {
        /// The header of a packet that dispatches a kernel.
        const DISPATCH: u32 = 2;
        let mut memory = QueueMemory {
            read_pointer: self.allocate(PAGE)?,
            write_pointer: self.allocate(PAGE)?,
            ring: self.allocate(RING_BYTES)?,
        };
        memory.submit(DISPATCH, packets);
        self.create_of(priority, &memory)
    }

    /// Makes a queue that hangs as often as it is put on the hardware: no GPU knows the
    /// kind of its packets.
    pub fn create_hanging_queue(&self, priority: u32) -> Result<u32> {
        const UNKNOWN: u32 = 0xff;
        const PACKETS: u64 = 8;
        let mut memory = QueueMemory {
            read_pointer: self.allocate_shared(PAGE)?,
            write_pointer: self.allocate_shared(PAGE)?,
            ring: self.allocate_shared(RING_BYTES)?,
        };
        memory.submit(UNKNOWN, PACKETS);
        self.create_of(priority, &memory)
    }

    /// Asks for a queue that no driver makes: its ring lies nowhere. Returns whether the
    /// driver refused it.
    pub fn is_refused_queue(&self) -> bool {
        let mut args = CreateQueueArgs {
            gpu_id: self.gpu_id,
            queue_type: AQL,
            percentage: WHOLE_SHARE,
            ..CreateQueueArgs::default()
        };
        // SAFETY: the argument is the structure that the number's size names, and names no
        // memory.
        unsafe { raw::create_queue(self.kfd.fd(), &mut args) }.is_err()
    }

    fn create_of(&self, priority: u32, memory: &QueueMemory) -> Result<u32> {
        let eop_buffer = self.allocate(PAGE)?;
        let (save_area_bytes, _) = self.save_area_bytes()?;
        let mut args = CreateQueueArgs {
            ring: memory.ring.address,
            write_pointer: memory.write_pointer.address,
            read_pointer: memory.read_pointer.address,
            ring_bytes: RING_BYTES as u32,
            gpu_id: self.gpu_id,
            queue_type: AQL,
            percentage: WHOLE_SHARE,
            priority,
            eop_buffer: eop_buffer.address,
            eop_buffer_bytes: PAGE,
            save_area: self.save_area,
            save_area_bytes: save_area_bytes as u32,
            control_stack_bytes: self.property("ctl_stack_size")? as u32,
            ..CreateQueueArgs::default()
        };
        // SAFETY: the argument is the structure that the number's size names; the GPU is
        // given addresses of the context alone, at which it has memory.
        unsafe { raw::create_queue(self.kfd.fd(), &mut args) }.context("making a queue")?;
        Ok(args.queue_id)
    }
}

/// What a queue is made of.
struct QueueMemory {
    read_pointer: Decoy,
    write_pointer: Decoy,
    ring: Decoy,
}

impl QueueMemory {
    /// Writes packets of one kind, as many as the ring holds, and says that some wait.
    fn submit(&mut self, header: u32, packets: u64) {
        const PACKET_WORDS: usize = 16;
        for packet in self.ring.words().chunks_mut(PACKET_WORDS) {
            packet[0] = header;
        }
        self.write_pointer.words()[0] = packets as u32;
        // Whoever reads it without faults finds only what was touched.
        self.read_pointer.words()[0] = 0;
    }
}

/// Memory of the program that stays until it ends or executes another.
struct Decoy {
    address: u64,
    bytes: u64,
}

impl Decoy {
    fn new(bytes: u64) -> Result<Self> {
        let length = NonZeroUsize::new(bytes as usize).context("no bytes of memory")?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: new memory, at an address that the kernel chooses.
        let address = unsafe { mmap_anonymous(None, length, access, flags) }?;
        Ok(Self {
            address: address.as_ptr() as u64,
            bytes,
        })
    }

    fn words(&mut self) -> &mut [u32] {
        // SAFETY: the memory was mapped for `self` alone, is never unmapped, and any bytes
        // are numbers. No queue is made of it yet, so that the GPU does not touch it.
        unsafe { std::slice::from_raw_parts_mut(self.address as *mut u32, self.bytes as usize / 4) }
    }
}
