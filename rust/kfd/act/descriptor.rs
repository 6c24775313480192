// SPDX-License-Identifier: GPL-2.0-only

//! What a queue's descriptors say: its state while it is off the hardware, one for
//! each XCC of its node.

#![forbid(unsafe_code)]

use crate::{
    act::transaction::Done,
    driver::{
        layout::*,
        node::Node,
        queue::{Format, QueueFacts},
    },
};

/// How a stop that was carried out found a queue, as its descriptors say, which are
/// those of a queue that is off the hardware. A PM4 queue's do not tell: it may have
/// left off in a buffer to which the last word of its ring refers, before or between
/// dispatches. One XCC with waves is enough for the queue to have some; for it to have
/// none, the descriptors of all must say so.
pub(crate) fn found(queue: &QueueFacts, node: &Node<'_>) -> Done {
    let descriptors = usize::try_from(node.xcc_mask().count_ones()).unwrap_or(0);
    let saved_nothing = |xcc| {
        let mqd = queue.descriptor(xcc)?;
        let word = |at| mqd.read::<u32>(at);
        Some(word(V9_MQD_CP_HQD_CNTL_STACK_OFFSET)? == word(V9_MQD_CP_HQD_CNTL_STACK_SIZE)?)
    };
    if queue.format != Format::Aql {
        return Done::Yes;
    }
    let mut empty = true;
    for nothing in (0..descriptors).map(saved_nothing) {
        if nothing == Some(false) {
            return Done::StoppedWithWaves;
        }
        empty &= nothing.is_some();
    }
    match words_left(queue).filter(|_| empty) {
        Some(0) => Done::StoppedIdle,
        Some(_) => Done::StoppedWithoutWaves,
        None => Done::Yes,
    }
}

/// What is left in the ring, of which the first XCC reads the packets.
///
/// The word read need not be more than a place in the ring, while the words written
/// are counted on. So a full ring looks like an empty one here; that there is work in
/// it, its process's own pointers tell.
fn words_left(queue: &QueueFacts) -> Option<u64> {
    let mqd = queue.descriptor(0)?;
    let word = |at| mqd.read::<u32>(at);
    let written = word(V9_MQD_CP_HQD_PQ_WPTR_LO)?;
    let left = written.wrapping_sub(word(V9_MQD_CP_HQD_PQ_RPTR)?);
    u64::from(left).checked_rem(queue.ring_bytes / 4)
}
