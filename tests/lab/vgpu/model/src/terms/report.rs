// SPDX-License-Identifier: GPL-2.0-only
//! What the owner may ask of the model: accounts, logs and the present state.
//! These types are the vocabulary of the control socket.

use serde::{Deserialize, Serialize};

use super::time::GpuNanos;

/// A user queue as the GPU knows it. KFD's queue id never reaches the GPU.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct QueueId {
    /// Byte offset in BAR 2.
    pub doorbell: u64,
    pub pasid: u32,
    /// Counts the queues that had this doorbell and process address space
    /// before: both are used again after a queue is destroyed.
    pub generation: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueKind {
    Aql,
    Pm4,
    Sdma,
}

/// The account of one user queue. Times are GPU nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueReport {
    pub queue: QueueId,
    pub kind: QueueKind,
    /// Hardware class, 0 (low) to 2 (high).
    pub pipe_priority: u32,
    /// The slot and address space it has now, if it is mapped.
    pub mapped: Option<MappedQueue>,
    /// Workgroups whose counter was increased.
    pub workgroups_done: u64,
    /// Workgroups that run now, and those whose state lies in the save area.
    pub workgroups_resident: u64,
    pub workgroups_saved: u64,
    pub dispatches_started: u64,
    pub dispatches_done: u64,
    /// How often the queue was mapped and unmapped.
    pub maps: u64,
    pub unmaps: u64,
    /// Saves and restores that moved at least one wave, and their bytes.
    pub saves: u64,
    pub restores: u64,
    pub bytes_saved: u64,
    pub bytes_restored: u64,
    /// Time with at least one wave on a compute unit.
    pub running_time: u64,
    /// Time unmapped with waves in the save area.
    pub saved_time: u64,
    /// Read and write pointer in packets (AQL), dwords (PM4) or bytes (SDMA).
    pub read_pointer: u64,
    pub write_pointer: u64,
    /// Why the queue has stopped permanently, if it has.
    pub fault: Option<String>,
}

/// In strict mode, the accesses that met a cached translation which the tables no longer
/// have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleReport {
    /// How many there were: of each translation that was missed, the first.
    pub accesses: u64,
    /// The first hundred.
    pub first: Vec<StaleAccess>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleAccess {
    /// The root of the process's page table.
    pub table: u64,
    pub address: u64,
    pub write: bool,
    /// Where the page was, and where it is.
    pub cached: String,
    pub now: String,
}

/// At which instructions waves of a queue were when they were saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    pub queue: QueueId,
    /// Addresses in order, and how many waves each time.
    pub addresses: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedQueue {
    pub vmid: u32,
    pub me: u32,
    pub pipe: u32,
    pub queue: u32,
}

/// What a packet on the scheduler firmware's ring asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HiqAction {
    SetResources {
        vmid_mask: u32,
        queue_mask: u64,
        unmap_latency_units: u32,
    },
    RunList {
        processes: u32,
        queues: u32,
        chained: bool,
    },
    Unmap {
        action: u32,
        filter: u32,
        filter_value: u32,
        queues: u32,
    },
    QueryStatus {
        address: u64,
        value: u64,
    },
    Other {
        opcode: u32,
    },
}

/// One packet of the scheduler firmware's ring, with GPU times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiqRecord {
    /// Counts all packets since the device was made; gaps mean dropped ones.
    pub sequence: u64,
    pub action: HiqAction,
    pub fetched: GpuNanos,
    /// When its effect was complete: queues mapped, waves saved, fence written.
    pub completed: Option<GpuNanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineChange {
    Mapped,
    Unmapped,
    SaveBegins {
        bytes: u64,
    },
    SaveEnds,
    RestoreBegins {
        bytes: u64,
    },
    RestoreEnds,
    DispatchBegins {
        packet: u64,
        workgroups: u64,
    },
    DispatchEnds {
        packet: u64,
    },
    /// Waves of this queue on compute units, over all XCCs.
    Waves {
        count: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRecord {
    /// Counts all records since the device was made; gaps mean dropped ones.
    pub sequence: u64,
    pub at: GpuNanos,
    pub queue: QueueId,
    pub change: TimelineChange,
}

/// From this time on so many compute units of one XCC hold at least one wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitsRecord {
    pub at: GpuNanos,
    pub xcc: u32,
    pub busy: u32,
}

/// Compute units of one XCC that hold at least one wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    pub xcc: u32,
    pub units: u32,
    pub units_busy: u32,
    pub waves: u64,
}

/// Everything about this moment, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateDump {
    pub now: GpuNanos,
    pub next_event: Option<GpuNanos>,
    pub occupancy: Vec<Occupancy>,
    pub queues: Vec<QueueReport>,
    /// One line for each slot that holds a queue, kernel queues included.
    pub slots: Vec<String>,
    /// What the scheduler firmware holds: processes of the runlist in order.
    pub runlist: Vec<String>,
    pub interrupts: u64,
    pub resets: u64,
    /// How often others have had the hardware of a virtual function.
    pub world_switches: u64,
    /// How often faults on demand of interrupts, doorbells, pointers, memory or copies
    /// made a difference.
    pub struck: u64,
    /// Oddities seen: unknown packets, wild accesses, faults. Latest last.
    pub notes: Vec<String>,
}
