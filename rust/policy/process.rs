// SPDX-License-Identifier: GPL-2.0
//! What is remembered of a process.

/// What is remembered of one process, or a free place for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessSlot {}
