// SPDX-License-Identifier: GPL-2.0
//! Pairs of processes that are left alone for a while.

/// One pair of processes that is left alone, or a free place for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PairSlot {}
