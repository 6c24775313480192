// SPDX-License-Identifier: GPL-2.0-only
//! Hints to the module: this process prepares a request.
//!
//! The layout of the page is that of `bindings/amd_gpreempt_hint.h`.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{ensure, Context, Result};
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};

const DEVICE: &str = "/dev/amd_gpreempt";
/// What is mapped of it.
const BYTES: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
const MAGIC: u32 = 0x7472_6770;
const VERSION: u32 = 1;

#[repr(C)]
struct Words {
    magic: AtomicU32,
    version: AtomicU32,
    preparing: AtomicU32,
}

/// The page of this process.
///
/// # Invariants
///
/// The pointer is to a page that is mapped, readable and writable, until `drop`.
#[derive(Debug)]
pub struct Page(NonNull<Words>);

// SAFETY: The words are atomic, and any thread may unmap the page.
unsafe impl Send for Page {}
// SAFETY: The words are atomic.
unsafe impl Sync for Page {}

impl Page {
    /// Opens the device and maps its page.
    pub fn open() -> Result<Page> {
        let file = open()?;
        // SAFETY: A mapping at an address of the kernel's choice replaces no other.
        let page = unsafe {
            mmap(
                None,
                BYTES,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                file.as_fd(),
                0,
            )
        };
        // INVARIANT: Just mapped so.
        let page = Page(page.with_context(|| format!("mapping {DEVICE}"))?.cast());
        let version = page.words().version.load(Ordering::Relaxed);
        ensure!(
            page.words().magic.load(Ordering::Relaxed) == MAGIC && version == VERSION,
            "{DEVICE} has pages of version {version}, and this program knows {VERSION}"
        );
        Ok(page)
    }

    fn words(&self) -> &Words {
        // SAFETY: By the type's invariant the page is mapped as long as `self` is there, it
        // is larger than the words and aligned to more than they need, and any bits are a
        // value of them.
        unsafe { self.0.as_ref() }
    }

    /// Says that a request is being prepared. No system call is made.
    pub fn prepare(&self) {
        self.words().preparing.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant the page is mapped, and no reference into it
        // outlives `self`.
        let _ = unsafe { munmap(self.0.cast(), BYTES.get()) };
    }
}

fn open() -> Result<File> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).open(DEVICE);
    opened.context(DEVICE)
}
