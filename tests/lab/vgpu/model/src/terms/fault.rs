// SPDX-License-Identifier: GPL-2.0-only
//! Faults on demand. All off by default; each may change while the guest runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// How QUERY_STATUS of the scheduler firmware answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fence {
    #[default]
    OnTime,
    /// This many nanoseconds of GPU time after it is due.
    Late(u64),
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Queues, by doorbell (byte offset in BAR 2), that do not yield when they
    /// are unmapped: the firmware gives up on them after its latency limit.
    pub unyielding: BTreeSet<u64>,
    /// Queues, by doorbell, whose running waves never end.
    pub endless: BTreeSet<u64>,
    pub fence: Fence,
    /// The command processors fetch nothing more until the next reset.
    pub hung: bool,
    /// Register reads return all ones, as when the device has left the bus.
    pub bus_lost: bool,
    /// No interrupt is raised; entries still reach the interrupt ring.
    pub interrupts_lost: bool,
    /// Queues, by doorbell, whose saved waves are spoiled in memory.
    pub corrupt_saves: BTreeSet<u64>,
}
