// SPDX-License-Identifier: GPL-2.0-only

//! What a queue's descriptors say: its state while it is off the hardware, one for
//! each XCC of its node.

#![forbid(unsafe_code)]

use crate::driver::layout::*;
use crate::driver::node::Node;
use crate::driver::queue::Format;
use crate::driver::queue::QueueFacts;

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
        let mqd = queue.descriptor(xcc)?;
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
