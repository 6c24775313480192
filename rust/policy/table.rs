// SPDX-License-Identifier: GPL-2.0
//! What is remembered of a queue.

/// What is remembered of one queue, or a free place for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueSlot {}
