// SPDX-License-Identifier: GPL-2.0-only
//! The ioctls of /dev/kfd and of a render node that the tests call. Numbers and
//! layouts are those of the kernel's kfd_ioctl.h and amdgpu_drm.h.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, BorrowedFd};

use anyhow::Context;
use nix::errno::Errno;
use nix::Result;

pub const MAX_PRIORITY: u32 = 15;
pub const MAX_PERCENTAGE: u32 = 100;

#[repr(C)]
#[derive(Default)]
pub struct VersionArgs {
    major: u32,
    minor: u32,
}

#[repr(C)]
pub struct UpdateQueueArgs {
    ring_address: u64,
    queue_id: u32,
    ring_bytes: u32,
    percentage: u32,
    priority: u32,
}

#[repr(C)]
pub struct SetCuMaskArgs {
    queue_id: u32,
    bits: u32,
    mask: u64,
}

#[repr(C)]
pub struct WaveStateArgs {
    area: u64,
    control_stack_used: u32,
    save_area_used: u32,
    queue_id: u32,
    pad: u32,
}

#[repr(C)]
pub struct AllocQueueGwsArgs {
    queue_id: u32,
    count: u32,
    first: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct ClockCountersArgs {
    gpu: u64,
    cpu: u64,
    system: u64,
    system_frequency: u64,
    gpu_id: u32,
    pad: u32,
}

#[repr(C)]
pub struct RuntimeEnableArgs {
    debug_area: u64,
    mode: u32,
    capabilities: u32,
}

#[repr(C)]
pub struct AvailableMemoryArgs {
    available: u64,
    gpu_id: u32,
    pad: u32,
}

/// The operation's own arguments are a union of at most 24 bytes.
#[repr(C)]
pub struct DebugTrapArgs {
    pid: u32,
    operation: u32,
    arguments: [u64; 3],
}

/// One queue of a debugged process.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueSnapshot {
    pub exceptions: u64,
    pub ring_address: u64,
    pub write_pointer: u64,
    pub read_pointer: u64,
    pub save_area: u64,
    pub queue_id: u32,
    pub gpu_id: u32,
    pub ring_bytes: u32,
    pub queue_type: u32,
    pub save_area_bytes: u32,
    #[serde(skip)]
    reserved: u32,
}

/// `union drm_amdgpu_gem_create`: the answer overlays the question.
#[repr(C)]
pub struct GemCreateArgs {
    bytes_or_handle: u64,
    alignment: u64,
    domains: u64,
    flags: u64,
}

const _: () = assert!(size_of::<VersionArgs>() == 8);
const _: () = assert!(size_of::<UpdateQueueArgs>() == 24);
const _: () = assert!(size_of::<SetCuMaskArgs>() == 16);
const _: () = assert!(size_of::<WaveStateArgs>() == 24);
const _: () = assert!(size_of::<AllocQueueGwsArgs>() == 16);
const _: () = assert!(size_of::<ClockCountersArgs>() == 40);
const _: () = assert!(size_of::<RuntimeEnableArgs>() == 16);
const _: () = assert!(size_of::<AvailableMemoryArgs>() == 16);
const _: () = assert!(size_of::<DebugTrapArgs>() == 32);
const _: () = assert!(size_of::<QueueSnapshot>() == 64);
const _: () = assert!(size_of::<GemCreateArgs>() == 32);

mod raw {
    use super::*;
    nix::ioctl_read!(get_version, b'K', 0x01, VersionArgs);
    nix::ioctl_readwrite!(get_clock_counters, b'K', 0x05, ClockCountersArgs);
    nix::ioctl_write_ptr!(update_queue, b'K', 0x07, UpdateQueueArgs);
    nix::ioctl_write_ptr!(set_cu_mask, b'K', 0x1a, SetCuMaskArgs);
    nix::ioctl_readwrite!(get_queue_wave_state, b'K', 0x1b, WaveStateArgs);
    nix::ioctl_readwrite!(alloc_queue_gws, b'K', 0x1e, AllocQueueGwsArgs);
    nix::ioctl_readwrite!(available_memory, b'K', 0x23, AvailableMemoryArgs);
    nix::ioctl_readwrite!(runtime_enable, b'K', 0x25, RuntimeEnableArgs);
    nix::ioctl_readwrite!(debug_trap, b'K', 0x26, DebugTrapArgs);
    nix::ioctl_readwrite!(gem_create, b'd', 0x40, GemCreateArgs);
}

/// GPU clock and CLOCK_MONOTONIC_RAW, read one after the other by the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockCounters {
    pub gpu_ticks: u64,
    pub raw_ns: u64,
}

/// What GET_QUEUE_WAVE_STATE says of a queue that is not active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct WaveState {
    pub control_stack_bytes: u32,
    pub save_area_bytes: u32,
}

/// What KFD knows of the runtime of a debugged process, without the address that it has
/// given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RuntimeInfo {
    pub state: u32,
    pub saves_trap_registers: bool,
}

/// An open /dev/kfd. The driver knows its process by it: all calls on queues
/// must come from the process that owns them.
pub struct Kfd {
    file: File,
}

impl Kfd {
    pub fn open() -> anyhow::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/kfd")
            .context("opening /dev/kfd: is amdgpu loaded with a GPU?")?;
        Ok(Self { file })
    }

    pub(super) fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    pub fn version(&self) -> Result<(u32, u32)> {
        let mut args = VersionArgs::default();
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::get_version(self.fd(), &mut args) }?;
        Ok((args.major, args.minor))
    }

    pub fn clock_counters(&self, gpu_id: u32) -> Result<ClockCounters> {
        let mut args = ClockCountersArgs {
            gpu_id,
            ..Default::default()
        };
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::get_clock_counters(self.fd(), &mut args) }?;
        Ok(ClockCounters {
            gpu_ticks: args.gpu,
            raw_ns: args.cpu,
        })
    }

    /// Sets a queue's priority and percentage. 0 percent takes it off the
    /// runlist. Ring and size must be those it was created with.
    pub fn update_queue(&self, queue: &OwnQueue, percentage: u32, priority: u32) -> Result<()> {
        let args = UpdateQueueArgs {
            ring_address: queue.ring_address,
            queue_id: queue.id,
            ring_bytes: queue.ring_bytes,
            percentage,
            priority,
        };
        // SAFETY: the argument is the structure that the number's size names; the driver checks
        // that the ring is mapped memory of this process.
        unsafe { raw::update_queue(self.fd(), &args) }.map(drop)
    }

    /// Restricts a queue to the compute units whose bits are set.
    pub fn set_cu_mask(&self, queue_id: u32, mask: &[u32]) -> Result<()> {
        let bits = u32::try_from(mask.len() * 32).map_err(|_| Errno::EINVAL)?;
        let args = SetCuMaskArgs {
            queue_id,
            bits,
            mask: mask.as_ptr() as u64,
        };
        // SAFETY: the mask holds as many bits as are announced and outlives the call.
        unsafe { raw::set_cu_mask(self.fd(), &args) }.map(drop)
    }

    /// Has a queue take part in cooperative launches, as at most one of a process may.
    pub fn alloc_queue_gws(&self, queue_id: u32) -> Result<()> {
        let mut args = AllocQueueGwsArgs {
            queue_id,
            count: 64,
            first: 0,
            pad: 0,
        };
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::alloc_queue_gws(self.fd(), &mut args) }.map(drop)
    }

    /// Reads the saved state of an inactive queue. The driver copies the control
    /// stack into `area`, which is as large as the save area of all XCCs.
    pub fn queue_wave_state(&self, queue_id: u32, area: &mut [u8]) -> Result<WaveState> {
        let mut args = WaveStateArgs {
            area: area.as_mut_ptr() as u64,
            control_stack_used: 0,
            save_area_used: 0,
            queue_id,
            pad: 0,
        };
        // SAFETY: `area` is exclusively borrowed, and the driver writes no further than the
        // queue's save area, whose size the caller provides.
        unsafe { raw::get_queue_wave_state(self.fd(), &mut args) }?;
        Ok(WaveState {
            control_stack_bytes: args.control_stack_used,
            save_area_bytes: args.save_area_used,
        })
    }

    pub fn available_memory(&self, gpu_id: u32) -> Result<u64> {
        let mut args = AvailableMemoryArgs {
            available: 0,
            gpu_id,
            pad: 0,
        };
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::available_memory(self.fd(), &mut args) }?;
        Ok(args.available)
    }

    /// The callers pass pointers to buffers that they own over the call.
    pub(super) fn debug_trap(
        &self,
        pid: u32,
        operation: u32,
        arguments: [u64; 3],
    ) -> Result<(i32, [u64; 3])> {
        let mut args = DebugTrapArgs {
            pid,
            operation,
            arguments,
        };
        // SAFETY: the argument is the structure that the number's size names; the callers pass
        // pointers to buffers that they own over the call.
        let value = unsafe { raw::debug_trap(self.fd(), &mut args) }?;
        Ok((value, args.arguments))
    }

    /// Says that the program's runtime is there, for whom a debugger may wait, or that it
    /// goes. Where a debugger is attached, the call lasts until that has answered.
    pub fn runtime_enable(&self, enable: bool) -> Result<()> {
        const ENABLE_AND_SAVE_TRAP_REGISTERS: u32 = 3;
        let mut args = RuntimeEnableArgs {
            debug_area: 0,
            mode: if enable {
                ENABLE_AND_SAVE_TRAP_REGISTERS
            } else {
                0
            },
            capabilities: 0,
        };
        // SAFETY: the argument is the structure that the number's size names.
        unsafe { raw::runtime_enable(self.fd(), &mut args) }.map(drop)
    }

    /// Starts a debug session on a process that the calling thread traces, which is told of
    /// these exceptions.
    pub fn debug_enable(
        &self,
        pid: u32,
        notify: BorrowedFd<'_>,
        exceptions: u64,
    ) -> Result<RuntimeInfo> {
        let mut info = [0u64; 2];
        let pointer = info.as_mut_ptr() as u64;
        let size = size_of_val(&info) as u64;
        let descriptor = notify.as_raw_fd() as u32;
        let arguments = [exceptions, pointer, size | (u64::from(descriptor) << 32)];
        self.debug_trap(pid, 0, arguments)?;
        Ok(RuntimeInfo {
            state: info[1] as u32,
            saves_trap_registers: info[1] >> 32 != 0,
        })
    }

    pub fn debug_disable(&self, pid: u32) -> Result<()> {
        self.debug_trap(pid, 1, [0; 3]).map(drop)
    }
}

/// A queue of this process, as UPDATE_QUEUE names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnQueue {
    pub id: u32,
    pub ring_address: u64,
    pub ring_bytes: u32,
}

const DOMAIN_VRAM: u64 = 0x4;

/// Allocates video memory as a graphics client does; returns the object's handle.
pub fn gem_create(render_node: &File, bytes: u64) -> Result<u32> {
    let mut args = GemCreateArgs {
        bytes_or_handle: bytes,
        alignment: 2 << 20,
        domains: DOMAIN_VRAM,
        flags: 0,
    };
    // SAFETY: the argument is the structure that the number's size names.
    unsafe { raw::gem_create(render_node.as_raw_fd(), &mut args) }?;
    Ok(args.bytes_or_handle as u32)
}
