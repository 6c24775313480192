// SPDX-License-Identifier: GPL-2.0-only

//! Memory of the kernel.

use crate::bindings;
use core::{alloc::Layout, ptr::NonNull};

/// There is not enough memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

/// How memory is asked for. There is one way here.
#[derive(Clone, Copy)]
pub struct Flags(());

/// The ways.
pub mod flags {
    use super::Flags;

    /// May sleep.
    pub const GFP_KERNEL: Flags = Flags(());
}

/// What a piece of memory is like. It is freed in one way, whatever it is like.
pub trait Allocator {
    /// Whether it is in one piece for devices, too, so that much of it is hard to get.
    const CONTIGUOUS: bool;
}

/// Memory in one piece.
pub struct Kmalloc;

impl Allocator for Kmalloc {
    const CONTIGUOUS: bool = true;
}

/// Memory of any size.
pub struct KVmalloc;

impl Allocator for KVmalloc {
    const CONTIGUOUS: bool = false;
}

/// How C's functions align all memory, at least.
const LEAST_ALIGN: usize = 8;

/// Memory for a layout, which holds nothing yet. What needs none gets a pointer that
/// only looks like one.
pub(crate) fn take<A: Allocator>(layout: Layout) -> Result<NonNull<u8>, AllocError> {
    let mut bytes = layout.size();
    if bytes == 0 {
        return Ok(dangling(layout));
    }
    if layout.align() > LEAST_ALIGN {
        // What is asked for with a power of two is aligned to that, up to a page; and no
        // more than that is ever needed.
        if layout.align() > crate::page::PAGE_SIZE {
            return Err(AllocError);
        }
        bytes = bytes
            .max(layout.align())
            .checked_next_power_of_two()
            .ok_or(AllocError)?;
    }
    // SAFETY: The runtime's function has no requirements but a size that is not zero.
    let memory = unsafe { bindings::gp_rt_alloc(bytes, A::CONTIGUOUS) };
    NonNull::new(memory.cast()).ok_or(AllocError)
}

/// Gives memory back.
///
/// # Safety
///
/// It must be from [`take`] for the same layout, and nobody may use it any more.
pub(crate) unsafe fn give(memory: NonNull<u8>, layout: Layout) {
    if layout.size() != 0 {
        // SAFETY: By the function's requirement it is from `gp_rt_alloc`, as it has a size.
        unsafe { bindings::gp_rt_free(memory.as_ptr().cast()) }
    }
}

/// A pointer that is aligned and to nothing.
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::new(core::ptr::without_provenance_mut(layout.align())).unwrap_or(NonNull::dangling())
}
