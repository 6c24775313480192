// SPDX-License-Identifier: GPL-2.0-only

//! What is remembered of a node's queues from pass to pass.

use crate::node::{policy::NodePolicy, record::Record, roster::Roster};
use kernel::prelude::*;

/// What is remembered of a node's queues from pass to pass.
pub(crate) struct Memory {
    /// Which queue is which, and what was done to it.
    pub(crate) roster: Roster,
    /// What to do about them, and why.
    pub(crate) policy: NodePolicy,
    /// What was done, for the tables.
    pub(crate) record: Record,
}

impl Memory {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            roster: Roster::new()?,
            policy: NodePolicy::new()?,
            record: Record::new()?,
        })
    }
}
