// SPDX-License-Identifier: GPL-2.0-only
//! A queue of PM4 packets, which the runtime itself does not offer: the library
//! below it makes one, as profilers and AMD's own tests have it made.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_uint, c_void, CStr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use anyhow::{ensure, Context, Result};

use super::{Buffer, Place, Runtime};

/// `HSA_QUEUE_COMPUTE`.
const COMPUTE: c_uint = 1;
/// `HSA_QUEUE_PRIORITY_MINIMUM`, KFD's priority 0. The type has values below zero and
/// one of 32 bits, for which C takes a long.
const LOWEST: c_long = -3;
const WHOLE_SHARE: u32 = 100;
const RING_BYTES: usize = 4096;

/// `HsaQueueResource`.
#[repr(C)]
struct Resource {
    id: u64,
    doorbell: *mut u64,
    write: *mut u64,
    read: *mut u64,
    error: *mut i64,
}

const _: () = assert!(size_of::<Resource>() == 40);

type CreateQueue = unsafe extern "C" fn(
    node: u32,
    kind: c_uint,
    percentage: u32,
    priority: c_long,
    ring: *mut c_void,
    ring_bytes: u64,
    event: *mut c_void,
    resource: *mut Resource,
) -> c_int;
type DestroyQueue = unsafe extern "C" fn(id: u64) -> c_int;

/// A queue of the lowest priority.
pub struct Pm4Queue {
    resource: Resource,
    ring: Buffer,
    written: u64,
    destroy: DestroyQueue,
}

impl Pm4Queue {
    pub fn create(runtime: &Arc<Runtime>, gpu: usize) -> Result<Self> {
        let node = runtime.gpu(gpu)?.info.node;
        let ring = Buffer::allocate(runtime, gpu, Place::Host, RING_BYTES)?;
        // SAFETY: the functions are those of hsakmt.h by these names.
        let (create, destroy) = unsafe {
            (
                std::mem::transmute::<*mut c_void, CreateQueue>(find(c"hsaKmtCreateQueue")?),
                std::mem::transmute::<*mut c_void, DestroyQueue>(find(c"hsaKmtDestroyQueue")?),
            )
        };
        let mut resource = Resource {
            id: 0,
            doorbell: std::ptr::null_mut(),
            write: std::ptr::null_mut(),
            read: std::ptr::null_mut(),
            error: std::ptr::null_mut(),
        };
        // SAFETY: the library is set up, for the runtime is; the ring is as large as said and
        // stays until the queue is destroyed.
        let status = unsafe {
            create(
                node,
                COMPUTE,
                WHOLE_SHARE,
                LOWEST,
                ring.address() as *mut c_void,
                RING_BYTES as u64,
                std::ptr::null_mut(),
                &mut resource,
            )
        };
        ensure!(status == 0, "hsaKmtCreateQueue fails with {status}");
        Ok(Self {
            resource,
            ring,
            written: 0,
            destroy,
        })
    }

    /// Appends a packet. What is in the ring must have been read but for less than a
    /// ring's worth.
    pub fn submit(&mut self, packet: &[u32]) {
        let words = self.ring.words();
        for word in packet {
            words[self.written as usize % words.len()].store(*word, Ordering::Relaxed);
            self.written += 1;
        }
        // SAFETY: the library gave both for this queue, which lives.
        unsafe {
            (*self.resource.write.cast::<AtomicU64>()).store(self.written, Ordering::Release);
            self.resource.doorbell.write_volatile(self.written);
        }
    }
}

impl Drop for Pm4Queue {
    fn drop(&mut self) {
        // SAFETY: the queue was made in create and is used no more.
        unsafe { (self.destroy)(self.resource.id) };
    }
}

/// A function of the library that the runtime has loaded.
fn find(name: &CStr) -> Result<*mut c_void> {
    // SAFETY: the name is a string, and nothing of the library is run.
    let found = unsafe { nix::libc::dlsym(nix::libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null())
        .then_some(found)
        .with_context(|| format!("the runtime brings no {}", name.to_string_lossy()))
}
