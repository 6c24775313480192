// SPDX-License-Identifier: GPL-2.0-only
//! What the GPU will do on its own.

use crate::terms::{Exit, QueueKey, SdmaRing, Slot};

#[derive(Clone, Debug)]
pub enum Event {
    Doorbell {
        index: u32,
        value: u64,
    },
    /// The driver set CP_HQD_ACTIVE.
    Activate {
        xcc: u32,
        slot: Slot,
    },
    /// The driver asked a slot to give up its queue.
    Dequeue {
        xcc: u32,
        slot: Slot,
        exit: Exit,
    },
    /// The driver wrote the control register of an SDMA ring.
    SdmaControl {
        ring: SdmaRing,
    },
    /// A queue reads its next packet.
    Fetch(QueueKey),
    /// As much work is done on a die as its next workgroup to end needs.
    WorkDone {
        xcc: u32,
        number: u64,
    },
    /// A workgroup of machine code has had its turn, or one is let go of.
    WorkgroupEnd {
        xcc: u32,
        index: usize,
        serial: u64,
    },
    /// A leaving queue has waited long enough for its waves to end.
    GraceEnd {
        queue: QueueKey,
        serial: u64,
    },
    SaveEnd {
        queue: QueueKey,
        serial: u64,
    },
    RestoreEnd {
        queue: QueueKey,
        dies: u32,
    },
    /// Of the partition that begins with a die.
    Scheduler {
        first: u32,
        step: SchedulerStep,
    },
    /// Of the host of a virtual function.
    Host(HostStep),
    /// The faults in force have changed, or a queue was mapped that is to have one.
    FaultsChanged,
}

/// What the host of a virtual function does.
#[derive(Clone, Copy, Debug)]
pub enum HostStep {
    /// It looks at what the guest has sent.
    Hear,
    /// It answers a request, whose first word behind the number this is.
    Answer { request: u32, first: u32 },
    /// The security processor looks at its registers.
    Security,
}

/// What the scheduler firmware does later.
#[derive(Clone, Debug)]
pub enum SchedulerStep {
    MapNext {
        serial: u64,
    },
    /// The scheduler stops waiting for queues that have not yielded.
    Deadline {
        serial: u64,
    },
    /// Checks whether the time slice is over.
    Slice {
        serial: u64,
    },
    Fence {
        record: u64,
        address: u64,
        value: u64,
    },
}
