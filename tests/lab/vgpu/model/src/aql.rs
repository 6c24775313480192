// SPDX-License-Identifier: GPL-2.0-only
//! Architected queueing: the 64-byte packets and signals of the HSA standard.

use crate::compute::{Dispatch, Kernel};
use crate::gpu::{Flow, Gpu};
use crate::memory::{MemoryFault, Space};
use crate::queue::Indirect;
use crate::terms::{GpuNanos, QueueKey, ReadPointer};

mod kind {
    pub const VENDOR: u32 = 0;
    pub const INVALID: u32 = 1;
    pub const KERNEL_DISPATCH: u32 = 2;
    pub const BARRIER_AND: u32 = 3;
    pub const AGENT_DISPATCH: u32 = 4;
    pub const BARRIER_OR: u32 = 5;
}

/// Formats of vendor packets, in the second byte of their second half-word.
mod vendor {
    pub const PM4_BUFFER: u32 = 1;
    pub const BARRIER_VALUE: u32 = 2;
}

const BARRIER_BIT: u32 = 1 << 8;

/// Dispatches of one queue that may be on the compute units at a time. The
/// control stack has room for their records.
pub const IN_FLIGHT: usize = 16;

/// Offsets in a signal (amd_signal_t).
mod signal {
    pub const VALUE: u64 = 8;
    pub const MAILBOX: u64 = 16;
    pub const EVENT: u64 = 24;
    pub const START: u64 = 32;
}

/// The packet by field.
struct Packet {
    words: [u32; 16],
}

impl Packet {
    fn wide(&self, index: usize) -> u64 {
        u64::from(self.words[index]) | (u64::from(self.words[index + 1]) << 32)
    }

    fn kind(&self) -> u32 {
        self.words[0] & 0xff
    }

    fn completion(&self) -> u64 {
        self.wide(14)
    }

    /// Signals that a barrier waits for.
    fn dependencies(&self) -> impl Iterator<Item = u64> + '_ {
        (0..5)
            .map(|index| self.wide(2 + index * 2))
            .filter(|signal| *signal != 0)
    }

    fn workgroup(&self) -> [u32; 3] {
        [
            self.words[1] & 0xffff,
            self.words[1] >> 16,
            self.words[2] & 0xffff,
        ]
    }

    fn grid(&self) -> [u32; 3] {
        [self.words[3], self.words[4], self.words[5]]
    }
}

impl Gpu {
    /// Reads the packet at the front of an AQL queue and launches it.
    pub fn aql_fetch(&mut self, key: QueueKey) -> Flow {
        let Some(queue) = self.queues.get(key) else {
            return Flow::Idle;
        };
        if queue.indirect.is_some() {
            return self.pm4_fetch(key);
        }
        // One packet at a time is launched.
        if queue
            .dispatches
            .last()
            .is_some_and(|dispatch| !dispatch.is_launched())
        {
            return Flow::Blocked;
        }
        if queue.fetched >= queue.write {
            return Flow::Idle;
        }
        let (space, number) = (queue.space, queue.fetched);
        let address = queue.ring_address(number);
        let words: [u32; 16] = match self.memory.read_dwords(space, address) {
            Ok(words) => words,
            Err(fault) => {
                self.memory_fault(key, fault, "packet fetch");
                return Flow::Blocked;
            }
        };
        let packet = Packet { words };
        // A header that is still invalid is published before its doorbell.
        if packet.kind() == kind::INVALID {
            return Flow::Idle;
        }
        let busy = !queue.dispatches.is_empty();
        if packet.words[0] & BARRIER_BIT != 0 && busy {
            return Flow::Blocked;
        }
        let result = match packet.kind() {
            kind::KERNEL_DISPATCH => self.aql_dispatch(key, number, &packet),
            kind::BARRIER_AND | kind::BARRIER_OR => self.aql_barrier(key, &packet),
            kind::VENDOR => self.aql_vendor(key, &packet),
            // No agent of this queue takes them: they complete as they are.
            kind::AGENT_DISPATCH => Ok(Launch::Done),
            other => Err(Failure::Packet(format!("unknown AQL packet {other}"))),
        };
        let nanos = self.config.timing.packet;
        match result {
            Ok(Launch::Done) => {
                if let Some(queue) = self.queues.get_mut(key) {
                    queue.fetched = number + 1;
                }
                self.aql_pass(key, number);
                let signal = packet.completion();
                if signal != 0 {
                    if let Err(fault) = self.complete_signal(key, space, signal, None) {
                        self.memory_fault(key, fault, "completion signal");
                        return Flow::Blocked;
                    }
                }
                Flow::Next(nanos)
            }
            Ok(Launch::Dispatched) => {
                if let Some(queue) = self.queues.get_mut(key) {
                    queue.fetched = number + 1;
                }
                if self.config.read_pointer == ReadPointer::Fetch {
                    self.aql_pass(key, number);
                }
                self.launch_all();
                Flow::Next(nanos)
            }
            Ok(Launch::Buffer) => {
                if let Some(queue) = self.queues.get_mut(key) {
                    queue.indirect_signal = Some(packet.completion());
                }
                Flow::Next(nanos)
            }
            Ok(Launch::Full) => Flow::Blocked,
            Ok(Launch::Wait) => Flow::Poll,
            Err(Failure::Memory(fault)) => {
                self.memory_fault(key, fault, "AQL packet");
                Flow::Blocked
            }
            Err(Failure::Packet(reason)) => {
                self.fail_queue(key, reason);
                Flow::Blocked
            }
        }
    }

    fn aql_dispatch(
        &mut self,
        key: QueueKey,
        number: u64,
        packet: &Packet,
    ) -> Result<Launch, Failure> {
        let Some(queue) = self.queues.get(key) else {
            return Ok(Launch::Wait);
        };
        if queue.dispatches.len() >= IN_FLIGHT {
            return Ok(Launch::Full);
        }
        let space = queue.space;
        let kernel = Kernel::read(&self.memory, space, packet.wide(8), packet.words[7])?;
        let kernarg = packet.wide(10);
        let workgroup = packet.workgroup();
        let grid = packet.grid();
        if workgroup.contains(&0) || grid.contains(&0) {
            return Err(Failure::Packet(format!(
                "dispatch of grid {grid:?} in workgroups {workgroup:?}"
            )));
        }
        let items: u32 = workgroup.iter().product();
        if items > 1024 {
            return Err(Failure::Packet(format!(
                "workgroup of {items} items, at most 1024"
            )));
        }
        let workgroups = grid
            .iter()
            .zip(workgroup)
            .map(|(g, w)| u64::from(g.div_ceil(w)))
            .product();
        let dispatch = Dispatch {
            packet: number,
            workgroups,
            waves: items.div_ceil(64),
            vgprs: kernel.vgprs,
            lds: kernel.lds,
            counters: self.memory.read_u64(space, kernarg)?,
            cost: self.memory.read_u64(space, kernarg + 8)?,
            signal: packet.completion(),
            started: None,
            shares: Vec::new(),
        };
        if let Err(reason) = dispatch.check() {
            return Err(Failure::Packet(reason));
        }
        self.begin_dispatch(key, dispatch);
        Ok(Launch::Dispatched)
    }

    fn aql_barrier(&mut self, key: QueueKey, packet: &Packet) -> Result<Launch, Failure> {
        let Some(queue) = self.queues.get(key) else {
            return Ok(Launch::Wait);
        };
        let space = queue.space;
        let mut values = Vec::new();
        for signal in packet.dependencies() {
            values.push(self.memory.read_u64(space, signal + signal::VALUE)?);
        }
        let passes = match packet.kind() {
            kind::BARRIER_AND => values.iter().all(|value| *value == 0),
            _ => values.is_empty() || values.contains(&0),
        };
        Ok(if passes { Launch::Done } else { Launch::Wait })
    }

    fn aql_vendor(&mut self, key: QueueKey, packet: &Packet) -> Result<Launch, Failure> {
        let Some(queue) = self.queues.get_mut(key) else {
            return Ok(Launch::Wait);
        };
        let space = queue.space;
        match (packet.words[0] >> 16) & 0xff {
            vendor::PM4_BUFFER => {
                // The packet carries an INDIRECT_BUFFER of PM4.
                let address = packet.wide(2) & !3;
                let dwords = packet.words[4] & 0xf_ffff;
                if dwords == 0 {
                    return Ok(Launch::Done);
                }
                queue.indirect = Some(Indirect {
                    space,
                    address,
                    dwords,
                });
                Ok(Launch::Buffer)
            }
            vendor::BARRIER_VALUE => {
                let (signal, value, mask) = (packet.wide(2), packet.wide(4), packet.wide(6));
                let condition = packet.words[8];
                if signal == 0 {
                    return Ok(Launch::Done);
                }
                let masked = self.memory.read_u64(space, signal + signal::VALUE)? & mask;
                let (masked, value) = (masked as i64, value as i64);
                let passes = match condition {
                    0 => masked == value,
                    1 => masked != value,
                    2 => masked < value,
                    3 => masked >= value,
                    other => {
                        return Err(Failure::Packet(format!("barrier condition {other}")));
                    }
                };
                Ok(if passes { Launch::Done } else { Launch::Wait })
            }
            other => Err(Failure::Packet(format!("unknown vendor packet {other}"))),
        }
    }

    /// The PM4 buffer of a vendor packet has run.
    pub fn vendor_buffer_done(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let Some(signal) = queue.indirect_signal.take() else {
            return;
        };
        let (space, number) = (queue.space, queue.fetched);
        queue.fetched = number + 1;
        self.aql_pass(key, number);
        if signal != 0 {
            if let Err(fault) = self.complete_signal(key, space, signal, None) {
                self.memory_fault(key, fault, "completion signal");
            }
        }
    }

    /// The read pointer may pass a packet: its slot is free for the producer.
    /// Packets pass in order, so an earlier one that has not passed holds it.
    pub fn aql_pass(&mut self, key: QueueKey, number: u64) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        if queue.read > number {
            return;
        }
        let (space, address) = (queue.space, queue.ring_address(number));
        let target = self.aql_passable(key);
        let invalidate = |gpu: &mut Gpu| -> Result<(), MemoryFault> {
            let header = gpu.memory.read_u32(space, address)?;
            gpu.memory
                .write_u32(space, address, header & 0xffff_0000 | kind::INVALID)
        };
        if let Err(fault) = invalidate(self) {
            self.memory_fault(key, fault, "packet header");
            return;
        }
        if let Some(queue) = self.queues.get_mut(key) {
            if target > queue.read {
                queue.read = target;
                self.report_read_pointer(key);
            }
        }
    }

    /// How far the read pointer may be.
    fn aql_passable(&self, key: QueueKey) -> u64 {
        let Some(queue) = self.queues.get(key) else {
            return 0;
        };
        let holds = |dispatch: &&Dispatch| match self.config.read_pointer {
            ReadPointer::Fetch => false,
            ReadPointer::Launch => !dispatch.is_launched(),
            ReadPointer::Completion => true,
        };
        let first = queue
            .dispatches
            .iter()
            .find(holds)
            .map(|dispatch| dispatch.packet);
        first.unwrap_or(queue.fetched)
    }

    /// Decrements a completion signal, and wakes whoever waits for it.
    /// `started` gives a dispatch its time stamps.
    pub fn complete_signal(
        &mut self,
        key: QueueKey,
        space: Space,
        signal: u64,
        started: Option<GpuNanos>,
    ) -> Result<(), MemoryFault> {
        if let Some(started) = started {
            self.memory
                .write_u64(space, signal + signal::START, started.ticks())?;
            self.memory
                .write_u64(space, signal + signal::START + 8, self.now.ticks())?;
        }
        self.memory
            .add_u64(space, signal + signal::VALUE, u64::MAX)?;
        let mailbox = self.memory.read_u64(space, signal + signal::MAILBOX)?;
        if mailbox != 0 {
            let event = self.memory.read_u32(space, signal + signal::EVENT)?;
            self.memory.write_u64(space, mailbox, u64::from(event))?;
            self.end_of_pipe_interrupt(key, event);
        }
        Ok(())
    }
}

enum Launch {
    /// Complete as soon as it was read.
    Done,
    Dispatched,
    /// Continues with a buffer of PM4 packets.
    Buffer,
    /// Too many dispatches are in flight.
    Full,
    /// Its condition does not hold yet.
    Wait,
}

pub enum Failure {
    Memory(MemoryFault),
    Packet(String),
}

impl From<MemoryFault> for Failure {
    fn from(fault: MemoryFault) -> Self {
        Failure::Memory(fault)
    }
}
