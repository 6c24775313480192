// SPDX-License-Identifier: GPL-2.0-only

//! One user queue, and the process that owns it, as the driver has them.

#![forbid(unsafe_code)]

use crate::{
    driver::{
        foreign::{Foreign, Image},
        layout::*,
    },
    kernel::count::Count,
};
use gpreempt_policy::{words, Priority};

/// The length of an AQL packet.
pub(crate) const AQL_PACKET_BYTES: u64 = 64;

/// How many words of descriptors were read to tell whether a queue is stopped by us.
pub static WORDS: Count = Count::new();

/// What a queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Waves on compute units; the only kind that is ever stopped.
    Compute,
    /// Copies. Other queues wait for them, and one in flight is not saved.
    Copy,
    /// Something that is not known, and left alone.
    Other,
}

words! {
    /// What the packets of a queue look like.
    pub enum Format {
        /// Packets of the HSA standard, counted by the pointers.
        Aql "aql",
        /// Packets of the command processor, whose words the pointers count.
        Pm4 "pm4",
    }
}

/// Identifies a queue from one look to the next.
///
/// The addresses are names and never followed. A queue that is created anew in the place
/// of one that was destroyed gets its address, id and doorbell; it has its ring
/// or its pointers elsewhere, or else it is the same ring of the same process, for which
/// what was decided holds. In their order the queues of a process come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueKey {
    pub(crate) process: usize,
    pub(crate) queue: usize,
    pub(crate) id: u32,
    pub(crate) doorbell: u32,
    pub(crate) ring: u64,
    pub(crate) read_pointer: u64,
    pub(crate) write_pointer: u64,
}

impl QueueKey {
    /// KFD's number of the queue within the process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The process, by its name in the driver.
    pub fn process(&self) -> usize {
        self.process
    }

    #[cfg(CONFIG_KUNIT)]
    /// The queue, by its name in the driver, for tests.
    pub fn queue(&self) -> usize {
        self.queue
    }

    #[cfg(CONFIG_KUNIT)]
    /// A key for tests of code that takes keys.
    pub fn forged(queue: usize, process: usize, id: u32, doorbell: u32) -> Self {
        Self {
            queue,
            process,
            id,
            doorbell,
            ring: 0,
            read_pointer: 0,
            write_pointer: 0,
        }
    }
}

/// Whether the driver has a queue run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The driver offers it to the hardware.
    Active,
    /// The driver would offer it, were it not taken off by us: nothing of the
    /// driver's own keeps it from running.
    Stopped,
    /// The driver keeps it from running: evicted, suspended, without a ring, in
    /// reset.
    Held,
}

/// The fields of a queue that decide anything, read under the lock.
#[derive(Clone, Copy, Debug)]
pub struct QueueFacts {
    /// Identifies it in later looks.
    pub key: QueueKey,
    /// What it is for.
    pub kind: QueueKind,
    /// What its packets look like.
    pub format: Format,
    /// The priority that its process gave it; the lowest where that is none, as the driver
    /// takes it from a checkpoint.
    pub priority: Priority,
    /// Whether it runs.
    pub activity: Activity,
    /// Something about the queue or its process forbids stopping it.
    pub protected: bool,
    /// Something about the queue or its process forbids starting it: the driver
    /// is about to reset, move or destroy it.
    pub(crate) doomed: bool,
    /// The driver has reset a queue of its process, and does not say which.
    pub(crate) maybe_reset: bool,
    /// The driver counts it among those that take part in cooperative launches. Of a
    /// queue that does not run, that comes later than its part in them.
    pub(crate) counted_gws: bool,
    /// It takes part and runs, and the driver has left out to count it: it was
    /// given GWS while we had it stopped.
    pub(crate) uncounted_gws: bool,
    /// It seems to be stopped by us, and its descriptor, where it was compared, names
    /// another ring than its fields: its process is changing it, or has tried to and the
    /// driver has refused.
    pub changing: bool,
    /// Bytes of the ring.
    pub ring_bytes: u64,
    /// Bytes of the control stack that follows each of its descriptors.
    pub(crate) control_stack_bytes: u32,
    /// The XCC of the node that reads its packets and moves its read pointer.
    pub(crate) packet_xcc: u32,
    pub(crate) mqd: usize,
    pub(crate) pipe: u32,
    pub(crate) slot: u32,
}

/// A process with queues on a node, seen under the lock.
#[derive(Clone, Copy)]
pub(crate) struct ProcessFacts {
    /// The `struct kfd_process`.
    pub(crate) process: Foreign,
    /// The `struct qcm_process_device`.
    pub(crate) qpd: Foreign,
    /// It and its structures name each other and the node.
    pub(crate) fits: bool,
    /// Its main thread, which the driver keeps.
    pub(crate) lead_thread: Foreign,
    /// The memory that it was made with. See [`Owner::memory`].
    ///
    /// [`Owner::memory`]: crate::driver::locked::Owner::memory
    pub(crate) mm: Option<Foreign>,
    /// A debugger or a checkpoint is using it.
    pub(crate) protected: bool,
    /// One of its queues was reset, or is about to be.
    pub(crate) has_reset_queue: bool,
    /// It is its program's main context, whose GPU addresses are those of its memory.
    /// Others, which any program may make beside it, have addresses of their own.
    pub(crate) primary: bool,
}

const P: Offset = QUEUE_PROPERTIES;

/// What does not fit between a queue and what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Its memory cannot be read.
    Unreadable,
    /// It names another node.
    Device,
    /// It names another process.
    Process,
}

/// Whether an enumerator of the driver has a value.
fn is(value: u32, enumerator: i64) -> bool {
    i64::from(value) == enumerator
}

/// AMDGPU_GPU_PAGE_SIZE, by which the driver aligns a descriptor and its stack.
const GPU_PAGE: usize = 4096;

impl QueueFacts {
    /// Its descriptor for an XCC, counted within the node.
    ///
    /// The place is the driver's mqd_stride_v9() with wave saving. A descriptor names
    /// the same distance, but can come from a checkpoint, whose word is not enough to
    /// go by it to any memory.
    pub(crate) fn descriptor(&self, xcc: usize) -> Option<Foreign> {
        let stack = usize::try_from(self.control_stack_bytes).ok()?;
        let stride = stack
            .checked_next_multiple_of(GPU_PAGE)?
            .checked_add(V9_MQD_SIZE.next_multiple_of(GPU_PAGE))?;
        Foreign::new(self.mqd)?.part(stride.checked_mul(xcc)?)
    }

    /// A word of its descriptor, which is in video memory: a read takes about as long
    /// as the rest of the look at the queue.
    fn word(&self, at: Offset) -> Option<u32> {
        WORDS.add();
        Foreign::new(self.mqd)?.read(at)
    }

    /// Whether its descriptor names a ring, or cannot be read. The lock must be held.
    ///
    /// One that names none is of a queue that the driver has disabled, whatever the
    /// fields say. See [`QueueFacts::compare_descriptor`].
    pub(crate) fn names_ring(&self) -> bool {
        let names_none = |at| self.word(at) == Some(0);
        !(names_none(V9_MQD_CP_HQD_PQ_BASE_LO) && names_none(V9_MQD_CP_HQD_PQ_BASE_HI))
    }

    /// Which ring the queue's descriptor names, as its place and its length in the
    /// descriptor's terms.
    fn described_ring(&self) -> Option<(u64, u32)> {
        /// CP_HQD_PQ_CONTROL__QUEUE_SIZE_MASK.
        const LENGTH: u32 = 0x3f;
        let low = self.word(V9_MQD_CP_HQD_PQ_BASE_LO)?;
        let high = self.word(V9_MQD_CP_HQD_PQ_BASE_HI)?;
        let place = (u64::from(high) << 32) | u64::from(low);
        Some((place, self.word(V9_MQD_CP_HQD_PQ_CONTROL)? & LENGTH))
    }

    /// Judges a queue that seems to be stopped, and of which nobody remembers to have
    /// stopped it, by its descriptor. The lock must be held.
    ///
    /// UPDATE_QUEUE writes a queue's fields before it waits for the lock, under which it
    /// writes the descriptor and sets the flag. Of a queue that its process had disabled
    /// and now enables again, the fields say in between that it may run, and the flag that
    /// it does not. If it was disabled by taking its ring away, the descriptor names none.
    /// If it was set to 0 percent, the descriptor is the one that it will run with, or the
    /// ring is another.
    ///
    /// A queue that may have been reset is the driver's to run again: its descriptor is as
    /// it was before.
    pub(crate) fn compare_descriptor(&mut self) {
        if !self.may_be_started() {
            return;
        }
        if self.maybe_reset {
            self.activity = Activity::Held;
            return;
        }
        // The driver's update_mqd().
        let words = u32::try_from(self.ring_bytes / 4).unwrap_or(u32::MAX);
        let length = words.checked_next_power_of_two().map(u32::trailing_zeros);
        let fields = (self.key.ring >> 8, length.unwrap_or(0).wrapping_sub(1));
        match self.described_ring() {
            Some((0, _)) => self.activity = Activity::Held,
            Some(described) => self.changing = described != fields,
            None => {}
        }
    }

    /// Whether nothing but a stop of ours keeps the queue from running, as far as its
    /// fields and what is known of its descriptor say.
    ///
    /// Nothing has to be remembered of a stop, and nothing that is forgotten leaves a queue
    /// stopped: the driver would run it, so that whoever has stopped it was this module, in
    /// this load or in one before.
    pub fn may_be_started(&self) -> bool {
        self.kind == QueueKind::Compute && self.activity == Activity::Stopped && !self.doomed
    }

    /// The same, where nobody remembers to have stopped it.
    pub(crate) fn may_be_started_unremembered(&self) -> bool {
        self.may_be_started() && !self.maybe_reset
    }

    /// Reads a queue and checks that it belongs to a node and a process.
    pub(crate) fn read(
        queue: Foreign,
        node: Foreign,
        owner: &ProcessFacts,
    ) -> Result<Self, Misfit> {
        let process = owner.process;
        let image = Image::read(queue, QUEUE_SIZE.get() as usize).ok_or(Misfit::Unreadable)?;
        if image.pointer(QUEUE_DEVICE) != Some(node) {
            return Err(Misfit::Device);
        }
        if image.pointer(QUEUE_PROCESS) != Some(process) {
            return Err(Misfit::Process);
        }
        let kind = kind(image.int(P + QUEUE_PROPERTIES_TYPE));
        // The driver looks up by the priority how it is to have the queue run, and finds
        // anything where there is none: such a queue is left alone.
        let priority = Priority::new(image.int(P + QUEUE_PROPERTIES_PRIORITY));
        let aql = is(image.int(P + QUEUE_PROPERTIES_FORMAT), KFD_QUEUE_FORMAT_AQL);
        let reset = image.flag_if_any(QUEUE_PROPERTIES_IS_RESET.get().map(|at| P.offset() + at));
        let counted_gws = image.flag(P + QUEUE_PROPERTIES_IS_GWS);
        let gws = counted_gws || image.pointer(QUEUE_GWS).is_some();
        let doomed = reset
            || image.flag(P + QUEUE_PROPERTIES_IS_BEING_DESTROYED)
            || image.flag_if_any(QUEUE_NEEDS_MQD_REPIN.get());
        let may_run = may_run(&image, reset);
        let activity = match image.flag(P + QUEUE_PROPERTIES_IS_ACTIVE) {
            true => Activity::Active,
            false if may_run => Activity::Stopped,
            false => Activity::Held,
        };
        // One that runs though it may not, since the driver could not take it off the GPU
        // when that was asked, could not be started again.
        let left_alone = owner.protected
            || owner.has_reset_queue
            || doomed
            || priority.is_none()
            || (activity == Activity::Active && !may_run);
        Ok(Self {
            key: QueueKey {
                queue: queue.address(),
                process: process.address(),
                id: image.int(P + QUEUE_PROPERTIES_QUEUE_ID),
                doorbell: image.int(P + QUEUE_PROPERTIES_DOORBELL_OFF),
                ring: image.long(P + QUEUE_PROPERTIES_QUEUE_ADDRESS),
                read_pointer: image.long(P + QUEUE_PROPERTIES_READ_PTR),
                write_pointer: image.long(P + QUEUE_PROPERTIES_WRITE_PTR),
            },
            kind,
            format: if aql { Format::Aql } else { Format::Pm4 },
            priority: priority.unwrap_or(Priority::LOWEST),
            activity,
            protected: left_alone || gws || kind != QueueKind::Compute,
            doomed,
            maybe_reset: owner.has_reset_queue && QUEUE_PROPERTIES_IS_RESET.get().is_none(),
            counted_gws,
            uncounted_gws: gws && !counted_gws && activity == Activity::Active && !left_alone,
            ring_bytes: image.long(P + QUEUE_PROPERTIES_QUEUE_SIZE),
            control_stack_bytes: image.int(P + QUEUE_PROPERTIES_CTL_STACK_SIZE),
            packet_xcc: if aql {
                0
            } else {
                image.int(P + QUEUE_PROPERTIES_PM4_TARGET_XCC)
            },
            mqd: image.pointer(QUEUE_MQD).map_or(0, Foreign::address),
            pipe: image.int(QUEUE_PIPE),
            slot: image.int(QUEUE_QUEUE),
            changing: false,
        })
    }
}

/// What a queue is for, and whether the driver has it run, though it may not fit: these it
/// counts all the same.
pub(crate) fn counted_as(queue: Foreign) -> Option<(QueueKind, bool)> {
    let of_type = queue.read(P + QUEUE_PROPERTIES_TYPE)?;
    Some((kind(of_type), queue.flag(P + QUEUE_PROPERTIES_IS_ACTIVE)?))
}

/// What a queue of a type is for.
fn kind(of_type: u32) -> QueueKind {
    let copies = [KFD_QUEUE_TYPE_SDMA_XGMI, KFD_QUEUE_TYPE_SDMA_BY_ENG_ID];
    let is_copies = |copies: Amount| copies.get() == u64::from(of_type);
    if is(of_type, KFD_QUEUE_TYPE_COMPUTE) {
        QueueKind::Compute
    } else if is(of_type, KFD_QUEUE_TYPE_SDMA) || copies.into_iter().any(is_copies) {
        QueueKind::Copy
    } else {
        QueueKind::Other
    }
}

/// The driver's QUEUE_IS_ACTIVE, which says whether it would let a queue run.
fn may_run(image: &Image, reset: bool) -> bool {
    image.long(P + QUEUE_PROPERTIES_QUEUE_SIZE) > 0
        && image.long(P + QUEUE_PROPERTIES_QUEUE_ADDRESS) != 0
        && image.int(P + QUEUE_PROPERTIES_QUEUE_PERCENT) > 0
        && !image.flag(P + QUEUE_PROPERTIES_IS_EVICTED)
        && !image.flag(P + QUEUE_PROPERTIES_IS_SUSPENDED)
        && !reset
}
