// SPDX-License-Identifier: GPL-2.0

//! What user memory and the hardware say of a queue.

use crate::bindings;
use crate::gpu::Away;
use crate::gpu::Present;
use crate::layout::*;
use crate::node::Node;
use crate::process::Inside;
use crate::queue::Format;
use crate::queue::QueueFacts;
use crate::survey::WaveSource;
use gpreempt_policy::Head;
use gpreempt_policy::Waves;
use kernel::prelude::*;

/// The length of an AQL packet.
const AQL_PACKET_BYTES: u64 = 64;

/// What is known of a queue's work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// What the hardware has consumed: packets or ring words.
    pub read: Option<u64>,
    /// What the process has submitted.
    pub write: Option<u64>,
    /// The packet at the read pointer.
    pub head: Head,
    /// The waves on the compute units.
    pub waves: Waves,
}

impl Sample {
    /// What was submitted and not consumed.
    ///
    /// The process writes its own pointers: whatever they say is bounded by the
    /// ring, and a write pointer behind the read pointer is no backlog.
    pub fn backlog(&self, facts: &QueueFacts) -> Option<u32> {
        let (read, write) = (self.read?, self.write?);
        let pending = match facts.format {
            Format::Aql => {
                let pending = write.wrapping_sub(read);
                let room = facts.ring_bytes / AQL_PACKET_BYTES;
                if pending > i64::MAX.unsigned_abs() {
                    0
                } else {
                    pending.min(room)
                }
            }
            Format::Pm4 => {
                let room = facts.ring_bytes / 4;
                write.wrapping_sub(read).checked_rem(room).unwrap_or(0)
            }
        };
        Some(u32::try_from(pending).unwrap_or(u32::MAX))
    }

    /// Reads the pointers and, if there is work, the packet that is next.
    pub(crate) fn read_pointers(&mut self, facts: &QueueFacts, inside: &Inside<'_>) {
        // The read pointer first: what it overtakes in between makes the
        // backlog too large for a moment, never negative.
        self.read = inside.read(facts.read_pointer);
        self.write = inside.read(facts.write_pointer);
        self.head = match self.backlog(facts) {
            Some(backlog) if backlog > 0 => self.peek(facts, inside),
            _ => Head::Unknown,
        };
    }

    /// The kind of the packet at the read pointer.
    fn peek(&self, facts: &QueueFacts, inside: &Inside<'_>) -> Head {
        const INVALID: u16 = 1;
        const KERNEL_DISPATCH: u16 = 2;
        const BARRIER_AND: u16 = 3;
        const AGENT_DISPATCH: u16 = 4;
        const BARRIER_OR: u16 = 5;
        let packets = facts.ring_bytes / AQL_PACKET_BYTES;
        let slot = match (facts.format, self.read) {
            (Format::Aql, Some(read)) => read.checked_rem(packets),
            _ => None,
        };
        let header = slot
            .and_then(|slot| facts.ring.checked_add(slot.checked_mul(AQL_PACKET_BYTES)?))
            .and_then(|packet| inside.read::<u16>(packet));
        match header.map(|header| header & 0xff) {
            Some(INVALID) => Head::Invalid,
            Some(KERNEL_DISPATCH | AGENT_DISPATCH) => Head::Runnable,
            Some(BARRIER_AND | BARRIER_OR) => Head::Barrier,
            _ => Head::Unknown,
        }
    }
}

/// How many hardware queues the driver tells about.
const AMDGPU_MAX_QUEUES: usize = 128;

/// The waves of each hardware queue of one node.
pub struct Occupancy {
    /// Waves and doorbell of each, as in the shim's `struct gp_occupancy`.
    queues: KVec<[u32; 2]>,
    max_waves: i32,
}

impl Occupancy {
    /// Room for the answer.
    pub fn new() -> Result<Self> {
        const {
            assert!(core::mem::offset_of!(bindings::gp_occupancy, wave_count) == 0);
            assert!(core::mem::offset_of!(bindings::gp_occupancy, doorbell_offset) == 4);
            assert!(size_of::<bindings::gp_occupancy>() == size_of::<[u32; 2]>());
        }
        Ok(Self {
            queues: KVec::from_elem([0; 2], AMDGPU_MAX_QUEUES, GFP_KERNEL)?,
            max_waves: 0,
        })
    }

    /// Asks the hardware, which takes the locks of the register windows. No
    /// lock of the driver may be held.
    pub(crate) fn ask(&mut self, gpu: &Present<'_>, source: WaveSource) -> Result<(), Away> {
        gpu.usable()?;
        for queue in self.queues.iter_mut() {
            *queue = [0; 2];
        }
        // SAFETY: `gpu` proves that the device is there; the function is the
        // driver's get_cu_occupancy, whose type the build compared, and fills at
        // most `AMDGPU_MAX_QUEUES` entries, which is what there is room for.
        unsafe {
            bindings::gp_call_cu_occupancy(
                source.function.as_ptr(),
                gpu.adev().as_ptr(),
                self.queues.as_mut_ptr().cast(),
                &mut self.max_waves,
                source.xcc,
            )
        };
        Ok(())
    }

    /// The waves of the queue with a doorbell, as far as the last answer says.
    pub(crate) fn waves(&self, doorbell: u32) -> u32 {
        self.queues
            .iter()
            .filter(|[_, of]| *of == doorbell)
            .fold(0, |sum: u32, [waves, _]| sum.saturating_add(*waves))
    }
}

impl Node<'_> {
    /// Whom to ask for the waves of this node, if that may be asked at all.
    pub fn wave_source(&self) -> Option<WaveSource> {
        if self.gpu().is_virtual_function() {
            return None;
        }
        let function = self
            .address()
            .pointer(KFD_NODE_KFD2KGD)?
            .pointer(KFD2KGD_CALLS_GET_CU_OCCUPANCY)?;
        Some(WaveSource {
            function,
            xcc: self
                .xcc_mask()
                .checked_ilog2()
                .map(|_| self.xcc_mask().trailing_zeros())?,
        })
    }
}
