// SPDX-License-Identifier: GPL-2.0-only
//! Rings and doorbells: the queues that the GPU serves, where each is loaded,
//! and how far it has been read.
//!
//! A user's compute queue is one logical queue on all accelerator dies: the
//! first die reads its packets, every die runs its share of the workgroups.

mod fetch;
mod pointer;
mod sdma_ring;
mod signal;
mod table;

pub use fetch::{Failure, Flow};
pub use pointer::full_pointer;
pub use table::Queues;

use crate::account::Loaded;
use crate::layout::shader::ShaderRegisters;
use crate::memory::Space;
use crate::registers::table::sdma;
use crate::terms::{
    Exit, Format, GpuNanos, MappedQueue, QueueKind, Role, Seat, Slot, WaveSettings,
};

/// Offset of the read pointer in amd_queue_t.
const OWNER_READ_POINTER: u64 = 128;

/// Words of half a packet.
const HALF: usize = 8;

/// A buffer of packets that a ring refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    pub space: Space,
    pub address: u64,
    pub dwords: u32,
}

/// A queue on its way out of its slot, on some of its dies.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    pub exit: Exit,
    pub dies: u32,
    /// Distinguishes its events from those of an earlier attempt.
    pub serial: u64,
    /// The waves have been taken off the compute units.
    pub saving: bool,
}

/// What stays the same as long as a queue is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub role: Role,
    pub format: Format,
    pub seat: Seat,
    /// Dword index in BAR 2, unless its doorbell is disabled.
    pub doorbell: Option<u32>,
    pub space: Space,
    pub vmid: u32,
    pub pasid: u32,
    pub ring: u64,
    pub ring_bytes: u64,
    /// Where the read pointer is stored.
    pub report_address: u64,
    pub pipe_priority: u32,
    pub is_static: bool,
    /// What its waves find in registers that the driver sets.
    pub settings: WaveSettings,
}

/// A queue that the GPU serves: one of the driver's rings, or a user's.
#[derive(Clone, Debug)]
pub struct Queue {
    identity: Identity,
    /// Mask of dies on which it is loaded; for SDMA the first of its partition alone.
    dies: u32,
    /// The die that reads its packets.
    home: u32,
    /// The first die of the partition that it is a queue of.
    first: u32,
    /// Descriptor of the first die in the kernel's address space, and how far
    /// behind it the next die's is. SDMA rings loaded by register have none.
    descriptor: Option<u64>,
    stride: u64,
    /// Next to fetch, reported as read, and written, in units of the format.
    fetched: u64,
    read: u64,
    write: u64,
    /// Where its write pointer is, if that could not be read when it was loaded.
    unread_write: Option<u64>,
    /// A fetch is scheduled.
    fetching: bool,
    /// The second half of a packet that is read in halves, with the packet's number.
    half: Option<(u64, [u32; HALF])>,
    indirect: Option<Indirect>,
    /// The completion signal of the vendor packet whose buffer runs now.
    indirect_signal: Option<u64>,
    leaving: Option<Leaving>,
    /// Dies whose saved waves are being read back.
    restoring: u32,
    /// Its waves could not be read back.
    keeps_saved: bool,
    /// Why it has stopped permanently, if it has.
    fault: Option<String>,
    /// When the driver was told last that an access is tried again, and of which page.
    told: Option<(GpuNanos, u64)>,
    account: usize,
    /// What its packets have set of dispatches, if they are PM4's.
    shader: ShaderRegisters,
    /// The SDMA engine works on its current packet until then.
    busy_until: GpuNanos,
    /// How long the SDMA engine has worked for this queue, in nanoseconds.
    busy_nanos: u64,
}

impl Queue {
    /// A queue that was just loaded, with its pointers as they were left.
    pub fn new(identity: Identity, home: u32, dies: u32, read: u64, write: u64) -> Queue {
        Queue {
            identity,
            dies,
            home,
            first: home,
            descriptor: None,
            stride: 0,
            fetched: read,
            read,
            write,
            unread_write: None,
            fetching: false,
            half: None,
            indirect: None,
            indirect_signal: None,
            leaving: None,
            restoring: 0,
            keeps_saved: false,
            fault: None,
            told: None,
            account: 0,
            shader: ShaderRegisters::default(),
            busy_until: GpuNanos::default(),
            busy_nanos: 0,
        }
    }

    /// Of the partition that begins with a die, which is its home unless that is said.
    pub fn of_partition(mut self, first: u32) -> Queue {
        self.first = first;
        self
    }

    pub fn with_descriptor(mut self, first: u64, stride: u64) -> Queue {
        self.set_descriptor(Some(first), stride);
        self
    }

    /// Continues the SDMA activity counter from when the queue was last loaded.
    pub fn with_busy_nanos(mut self, nanos: u64) -> Queue {
        self.busy_nanos = nanos;
        self
    }

    pub fn role(&self) -> Role {
        self.identity.role
    }

    pub fn format(&self) -> Format {
        self.identity.format
    }

    pub fn seat(&self) -> Seat {
        self.identity.seat
    }

    pub fn slot(&self) -> Option<Slot> {
        match self.identity.seat {
            Seat::Compute(slot) => Some(slot),
            Seat::Sdma(_) => None,
        }
    }

    pub fn space(&self) -> Space {
        self.identity.space
    }

    pub fn vmid(&self) -> u32 {
        self.identity.vmid
    }

    pub fn pasid(&self) -> u32 {
        self.identity.pasid
    }

    pub fn pipe_priority(&self) -> u32 {
        self.identity.pipe_priority
    }

    pub fn settings(&self) -> WaveSettings {
        self.identity.settings
    }

    /// Where its owner keeps pointers and sizes (amd_queue_t), in which the read
    /// pointer is at a fixed place.
    pub fn owner_record(&self) -> u64 {
        self.identity
            .report_address
            .wrapping_sub(OWNER_READ_POINTER)
    }

    pub fn is_static(&self) -> bool {
        self.identity.is_static
    }

    pub fn doorbell(&self) -> Option<u32> {
        self.identity.doorbell
    }

    /// Doorbell as the API names it: bytes in BAR 2.
    pub fn doorbell_offset(&self) -> u64 {
        self.identity
            .doorbell
            .map_or(0, |index| u64::from(index) * 4)
    }

    /// Which of its process's doorbells it has: each has 8 bytes, and a process 1024.
    pub fn doorbell_number(&self) -> u32 {
        (self.identity.doorbell.unwrap_or(0) >> 1) & 0x3ff
    }

    pub fn account(&self) -> usize {
        self.account
    }

    // What a dispatch by PM4 packets is made of.

    pub fn shader(&self) -> &ShaderRegisters {
        &self.shader
    }

    pub fn shader_mut(&mut self) -> &mut ShaderRegisters {
        &mut self.shader
    }

    pub fn load_shader(&mut self, registers: ShaderRegisters) {
        self.shader = registers;
    }

    // Its dies and descriptors.

    pub fn home(&self) -> u32 {
        self.home
    }

    /// The first die of its partition.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Whether the scheduler of the partition that begins with a die has mapped it.
    pub fn is_mapped_by(&self, first: u32) -> bool {
        self.role() == Role::User && self.first == first
    }

    pub fn set_home(&mut self, die: u32) {
        self.home = die;
    }

    pub fn die_mask(&self) -> u32 {
        self.dies
    }

    pub fn is_on(&self, die: u32) -> bool {
        (self.dies >> die) & 1 != 0
    }

    pub fn dies(&self) -> impl Iterator<Item = u32> {
        let dies = self.dies;
        (0..32).filter(move |die| (dies >> die) & 1 != 0)
    }

    /// It was loaded on another die.
    pub fn join(&mut self, die: u32) {
        self.dies |= 1 << die;
    }

    /// The descriptor of its partition's first die.
    pub fn descriptor(&self) -> Option<u64> {
        self.descriptor
    }

    pub fn descriptor_of(&self, die: u32) -> Option<u64> {
        let position = die.checked_sub(self.first)?;
        Some(self.descriptor? + u64::from(position) * self.stride)
    }

    pub fn set_descriptor(&mut self, first: Option<u64>, stride: u64) {
        self.descriptor = first;
        self.stride = stride;
    }

    // Leaving and coming back.

    pub fn leaving(&self) -> Option<&Leaving> {
        self.leaving.as_ref()
    }

    pub fn begin_leaving(&mut self, leaving: Leaving) {
        self.leaving = Some(leaving);
    }

    pub fn stay(&mut self) {
        self.leaving = None;
    }

    /// Its waves are off the units and their state is being moved.
    pub fn begin_saving(&mut self) -> Option<Leaving> {
        let leaving = self.leaving.as_mut()?;
        leaving.saving = true;
        Some(*leaving)
    }

    /// It has left some dies; true if those were the last.
    pub fn leave(&mut self, dies: u32) -> bool {
        self.leaving = None;
        self.dies &= !dies;
        self.dies == 0
    }

    pub fn begin_restoring(&mut self, dies: u32) {
        self.restoring |= dies;
    }

    pub fn end_restoring(&mut self, dies: u32) {
        self.restoring &= !dies;
    }

    /// Dies whose saved waves are being read back.
    pub fn restoring(&self) -> u32 {
        self.restoring
    }

    /// Its waves could not be read back: descriptor and save area stay as they are,
    /// so that it does not begin anew when it is loaded the next time.
    pub fn keep_saved(&mut self) {
        self.keeps_saved = true;
    }

    /// Whether descriptor and save area are to stay as they are.
    pub fn keeps_saved(&self) -> bool {
        self.keeps_saved
    }

    /// Whether it may fetch and launch.
    pub fn is_live(&self) -> bool {
        self.fault.is_none()
            && self.leaving.is_none()
            && self.restoring == 0
            && self.is_on(self.home)
    }

    /// Whether it may put workgroups on a die.
    pub fn may_launch(&self, die: u32) -> bool {
        self.fault.is_none()
            && self.is_on(die)
            && (self.restoring >> die) & 1 == 0
            && self
                .leaving
                .as_ref()
                .is_none_or(|leaving| (leaving.dies >> die) & 1 == 0)
    }

    /// Why it has stopped permanently, if it has.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    // How busy it keeps an SDMA engine.

    /// The engine is busy for this many nanoseconds from now.
    pub fn occupy(&mut self, now: GpuNanos, nanos: u64) {
        self.busy_until = now.after(nanos);
        self.busy_nanos += nanos;
    }

    pub fn busy_until(&self) -> GpuNanos {
        self.busy_until
    }

    /// The SDMA activity counter, in units of the reference clock.
    pub fn busy_ticks(&self) -> u64 {
        GpuNanos(self.busy_nanos).ticks()
    }

    // How it is reported.

    fn loaded(&self) -> Loaded {
        let vmid = self.vmid();
        let place = match self.seat() {
            Seat::Compute(slot) => MappedQueue {
                vmid,
                me: slot.me,
                pipe: slot.pipe,
                queue: slot.queue,
            },
            Seat::Sdma(ring) => MappedQueue {
                vmid,
                me: 0,
                pipe: ring.engine,
                queue: (ring.registers - sdma::GFX) / sdma::RING_SPAN,
            },
        };
        Loaded {
            doorbell: self.doorbell_offset(),
            pasid: self.pasid(),
            kind: match self.format() {
                Format::Aql => QueueKind::Aql,
                Format::Pm4 => QueueKind::Pm4,
                Format::Sdma => QueueKind::Sdma,
            },
            place,
            pipe_priority: self.pipe_priority(),
            read: self.read,
        }
    }

    /// One line for a person to read.
    pub fn describe(&self, dispatches: usize) -> String {
        let seat = match self.seat() {
            Seat::Compute(slot) => {
                format!("me {} pipe {} queue {}", slot.me, slot.pipe, slot.queue)
            }
            Seat::Sdma(ring) => format!("sdma {} ring {:#x}", ring.engine, ring.registers),
        };
        let state = match (&self.fault, &self.leaving) {
            (Some(fault), _) => format!("stopped: {fault}"),
            (None, Some(leaving)) if leaving.saving => "saving".to_owned(),
            (None, Some(_)) => "leaving".to_owned(),
            (None, None) if self.restoring != 0 => "restoring".to_owned(),
            (None, None) => "mapped".to_owned(),
        };
        format!(
            "{seat} dies {:#x}: {:?} {:?} doorbell {:#x} vmid {} pasid {} read {:#x} fetched \
             {:#x} write {:#x} dispatches {dispatches} {state}",
            self.dies,
            self.role(),
            self.format(),
            self.doorbell_offset(),
            self.vmid(),
            self.pasid(),
            self.read,
            self.fetched,
            self.write,
        )
    }
}
