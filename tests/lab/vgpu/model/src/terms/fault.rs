// SPDX-License-Identifier: GPL-2.0-only
//! Faults on demand. All off by default; each may change while the guest runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::GpuNanos;

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

/// What is wrong of waves of machine code when they are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spoil {
    /// A scalar register is as others have left it.
    Scalar(u8),
    /// A vector register is, in all lanes.
    Vector(u8),
    /// The halves of EXEC are swapped.
    Exec,
    /// Local memory is shifted by four bytes.
    Share,
    /// The program counter is four bytes too far.
    ProgramCounter,
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
    /// Partitions, by their first die, whose schedulers answer no QUERY_STATUS for as long as
    /// that is so.
    pub held_fences: BTreeSet<u32>,
    /// The command processors fetch nothing more until the next reset.
    pub hung: bool,
    /// Register reads return all ones, as when the device has left the bus.
    pub bus_lost: bool,
    /// The host of a virtual function hears nothing of what its guest asks.
    pub host_silent: bool,
    /// No interrupt is raised; entries still reach the interrupt ring.
    pub interrupts_lost: bool,
    /// Each entry of the interrupt ring comes twice.
    pub interrupts_repeated: bool,
    /// Before each entry comes one of the same source and process that says nothing.
    pub interrupts_spurious: bool,
    /// The interrupt ring has no room for any entry, and says so.
    pub interrupts_overflow: bool,
    /// What users write to doorbells does not arrive. The firmware reads their write
    /// pointers again when it maps them.
    pub doorbells_lost: bool,
    /// The read pointers that users' queues show to their owners stay where they are.
    pub read_pointers_stuck: bool,
    /// A packet that was not written yet when its queue came to it is read again in halves,
    /// the second some time before the first. What is published in between is executed with
    /// what the ring had before in its second half.
    pub packets_in_halves: bool,
    /// Copies take a thousand times as long.
    pub copies_slow: bool,
    /// Until the next reset the copy engines fetch nothing, and a user's ring with
    /// packets left does not yield.
    pub copies_hung: bool,
    /// Queues, by doorbell, that run into a fault in memory as soon as they are mapped.
    pub faulting: BTreeSet<u64>,
    /// Queues, by doorbell, whose saved waves are spoiled in memory.
    pub corrupt_saves: BTreeSet<u64>,
    /// What all waves of machine code that are restored have wrong.
    pub spoiled_waves: Option<Spoil>,
}

/// When faults begin that are to begin within a transaction of the scheduler's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// UNMAP_QUEUES is fetched.
    Unmap,
    /// The query that follows it has been answered, and nothing else was fetched yet.
    Unmapped,
    /// RUN_LIST is fetched.
    Map,
}

/// That faults began within a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    pub at: GpuNanos,
    pub moment: Moment,
    /// The number in the ring's log of the packet at which they began.
    pub packet: u64,
}

/// Faults that wait for their moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    waiting: Option<(Moment, Faults)>,
    began: Option<Began>,
}

impl Schedule {
    pub fn wait(&mut self, moment: Moment, faults: Faults) {
        self.waiting = Some((moment, faults));
        self.began = None;
    }

    pub fn forget(&mut self) {
        self.waiting = None;
    }

    pub fn began(&self) -> Option<Began> {
        self.began
    }

    /// The faults that begin now, if they waited for this moment.
    pub fn reach(&mut self, moment: Moment, at: GpuNanos, packet: u64) -> Option<Faults> {
        let (_, faults) = self.waiting.take_if(|(awaited, _)| *awaited == moment)?;
        self.began = Some(Began { at, moment, packet });
        Some(faults)
    }
}
