// SPDX-License-Identifier: GPL-2.0-only

//! A queue's descriptors: its state while it is off the hardware, one for each XCC
//! of its node.

use crate::driver::foreign::Foreign;
use crate::driver::layout::*;
use crate::driver::node::Node;
use crate::driver::queue::Format;
use crate::driver::queue::QueueFacts;

/// AMDGPU_GPU_PAGE_SIZE, by which the driver aligns a descriptor and its stack.
const GPU_PAGE: usize = 4096;

/// A queue's descriptor for an XCC, counted within the node.
///
/// The place is the driver's mqd_stride_v9() with wave saving. A descriptor names
/// the same distance, but can come from a checkpoint, whose word is not enough to
/// go by it to any memory.
pub(crate) fn descriptor(queue: &QueueFacts, xcc: usize) -> Option<Foreign> {
    let stack = usize::try_from(queue.control_stack_bytes).ok()?;
    let stride = stack
        .checked_next_multiple_of(GPU_PAGE)?
        .checked_add(V9_MQD_SIZE.next_multiple_of(GPU_PAGE))?;
    Foreign::new(queue.mqd)?.part(stride.checked_mul(xcc)?)
}

/// Whether a queue that is off the hardware has neither work nor saved waves, as
/// its descriptors say. Those of a PM4 queue do not tell: it may have left off in a
/// buffer to which the last word of its ring refers, before or between dispatches.
///
/// The word read need not be more than a place in the ring, while the words written
/// are counted on. So a full ring looks like an empty one here; that there is work in
/// it, its process's own pointers tell.
pub(crate) fn saved_nothing(queue: &QueueFacts, node: &Node<'_>) -> bool {
    let descriptors = usize::try_from(node.xcc_mask().count_ones()).unwrap_or(0);
    let room = queue.ring_bytes / 4;
    let empty = |xcc| {
        let mqd = descriptor(queue, xcc)?;
        let word = |at| mqd.read::<u32>(at);
        // The first reads the packets.
        if xcc == 0 {
            let written = word(V9_MQD_CP_HQD_PQ_WPTR_LO)?;
            let left = written.wrapping_sub(word(V9_MQD_CP_HQD_PQ_RPTR)?);
            if u64::from(left).checked_rem(room)? > 0 {
                return Some(false);
            }
        }
        Some(word(V9_MQD_CP_HQD_CNTL_STACK_OFFSET)? == word(V9_MQD_CP_HQD_CNTL_STACK_SIZE)?)
    };
    queue.format == Format::Aql && (0..descriptors).all(|xcc| empty(xcc) == Some(true))
}
