// SPDX-License-Identifier: GPL-2.0-only
//! Reading and executing PM4 packets. Kernel rings, user rings and buffers
//! that either refers to share one path; who the queue is decides what the
//! scheduling packets may do.

use crate::gpu::{Flow, Gpu};
use crate::interrupt::{client, source, xcc_node, Interrupt};
use crate::layout::pm4::{self as packet, opcode, Header};
use crate::memory::{MemoryFault, Space};
use crate::queue::Indirect;
use crate::registers::{place, xcc_base, Place};
use crate::terms::{Format, QueueKey, Role, Slot};

/// Dwords that one packet may have.
const PACKET_DWORDS: u32 = 1 << 14;

const UCONFIG_START: u32 = 0xc000;

/// Where the packet being read stands.
enum Source {
    Ring,
    Buffer(Indirect),
}

/// What a packet asks of the queue that carries it.
enum Outcome {
    Done,
    /// Not yet: look again, the packet stays.
    Wait,
    /// Started something that will start the queue again; the packet is done.
    Started,
    /// As above, but the packet stays until then.
    Held,
}

impl Gpu {
    /// Reads and executes the packet at the front of a queue.
    pub fn pm4_fetch(&mut self, key: QueueKey) -> Flow {
        let Some(queue) = self.queues.get(key) else {
            return Flow::Idle;
        };
        // The other dies' copies of the scheduler's ring only follow.
        if queue.role == Role::Scheduler && queue.home != 0 {
            let write = queue.write;
            self.pm4_advance_to(key, write);
            return Flow::Idle;
        }
        let (source, space, address, available) = match queue.indirect {
            Some(buffer) => (
                Source::Buffer(buffer),
                buffer.space,
                buffer.address,
                buffer.dwords,
            ),
            None => {
                let left = queue
                    .write
                    .wrapping_sub(queue.fetched)
                    .min(queue.ring_bytes / 4);
                if queue.write <= queue.fetched {
                    return Flow::Idle;
                }
                let address = queue.ring_address(queue.fetched);
                (Source::Ring, queue.space, address, left as u32)
            }
        };
        let word = match self.memory.read_u32(space, address) {
            Ok(word) => word,
            Err(fault) => {
                self.memory_fault(key, fault, "packet fetch");
                return Flow::Blocked;
            }
        };
        let packet = self.config.timing.packet;
        match packet::header(word) {
            Header::Filler => {
                self.pm4_advance(key, &source, 1);
                Flow::Next(packet.min(1))
            }
            Header::Unknown => {
                self.fail_queue(key, format!("unknown packet header {word:#010x}"));
                Flow::Blocked
            }
            Header::Packet { opcode, body } => {
                if body >= available || body >= PACKET_DWORDS {
                    // The rest of a packet in a ring may still be on its way.
                    if matches!(source, Source::Ring) && body < PACKET_DWORDS {
                        return Flow::Idle;
                    }
                    self.fail_queue(
                        key,
                        format!("packet {opcode:#x} of {body} dwords leaves its buffer"),
                    );
                    return Flow::Blocked;
                }
                let words = match self.pm4_body(key, &source, space, body) {
                    Ok(words) => words,
                    Err(fault) => {
                        self.memory_fault(key, fault, "packet fetch");
                        return Flow::Blocked;
                    }
                };
                match self.pm4_execute(key, opcode, &words) {
                    Ok(Outcome::Wait) => Flow::Poll,
                    Ok(Outcome::Held) => Flow::Blocked,
                    Ok(Outcome::Done) => {
                        self.pm4_advance(key, &source, body + 1);
                        Flow::Next(packet)
                    }
                    Ok(Outcome::Started) => {
                        self.pm4_advance(key, &source, body + 1);
                        Flow::Blocked
                    }
                    Err(Failure::Memory(fault)) => {
                        self.memory_fault(key, fault, &format!("packet {opcode:#x}"));
                        Flow::Blocked
                    }
                    Err(Failure::Packet(reason)) => {
                        self.bad_packet(key, reason);
                        Flow::Blocked
                    }
                }
            }
        }
    }

    fn pm4_body(
        &self,
        key: QueueKey,
        source: &Source,
        space: Space,
        body: u32,
    ) -> Result<Vec<u32>, MemoryFault> {
        let Some(queue) = self.queues.get(key) else {
            return Ok(Vec::new());
        };
        let at = |index: u32| match source {
            Source::Buffer(buffer) => buffer.address + u64::from(index) * 4,
            Source::Ring => queue.ring_address(queue.fetched + u64::from(index)),
        };
        (1..=body)
            .map(|index| self.memory.read_u32(space, at(index)))
            .collect()
    }

    /// Moves past what was read, in the ring or in the buffer.
    fn pm4_advance(&mut self, key: QueueKey, source: &Source, dwords: u32) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        match source {
            Source::Ring => {
                let target = queue.fetched + u64::from(dwords);
                self.pm4_advance_to(key, target);
            }
            Source::Buffer(buffer) => {
                // A packet in the buffer may have chained to another buffer.
                if queue.indirect == Some(*buffer) {
                    let left = buffer.dwords.saturating_sub(dwords);
                    queue.indirect = (left > 0).then_some(Indirect {
                        address: buffer.address + u64::from(dwords) * 4,
                        dwords: left,
                        ..*buffer
                    });
                    if left == 0 && queue.format == Format::Aql {
                        self.vendor_buffer_done(key);
                    }
                }
            }
        }
    }

    fn pm4_advance_to(&mut self, key: QueueKey, target: u64) {
        if let Some(queue) = self.queues.get_mut(key) {
            queue.fetched = target;
            queue.read = target;
            if queue.role != Role::Scheduler || queue.home == 0 {
                self.report_read_pointer(key);
            }
        }
    }

    fn bad_packet(&mut self, key: QueueKey, reason: String) {
        self.fail_queue(key, reason);
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let interrupt = Interrupt {
            client: client::COMMAND_PROCESSOR,
            source: source::BAD_OPCODE,
            ring: queue.slot().map_or(0, Slot::ring_id),
            vmid: queue.vmid,
            pasid: queue.pasid,
            node: xcc_node(queue.home),
            data: [0; 4],
        };
        self.interrupt(&interrupt);
    }

    fn pm4_execute(
        &mut self,
        key: QueueKey,
        opcode: u32,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        let Some(queue) = self.queues.get(key) else {
            return Ok(Outcome::Done);
        };
        let (role, home, space) = (queue.role, queue.home, queue.space);
        let privileged = matches!(role, Role::Privileged | Role::Kernel | Role::Scheduler);
        let local = |register| local_register(home, register);
        match opcode {
            opcode::NOP
            | opcode::EVENT_WRITE
            | opcode::ACQUIRE_MEM
            | opcode::SET_SH_REG
            | opcode::SET_CONFIG_REG
            | opcode::SET_QUEUE_REG
            | opcode::FRAME_CONTROL
            | opcode::SWITCH_BUFFER
            | opcode::PFP_SYNC_ME
            | opcode::CLEAR_STATE
            | opcode::CONTEXT_CONTROL
            | opcode::RUN_CLEANER_SHADER
            // Translations are never cached, so there is nothing to flush.
            | opcode::INVALIDATE_TLBS => {}
            opcode::SET_UCONFIG_REG if privileged => {
                for (index, value) in body.iter().skip(1).enumerate() {
                    let register = UCONFIG_START + (body[0] & 0xffff) + index as u32;
                    self.write_register(local(register), *value);
                }
            }
            opcode::WRITE_DATA => {
                let packet = packet::WriteData(body);
                if packet.to_register() {
                    if !privileged {
                        return Err(Failure::Packet("register write by a user".into()));
                    }
                    for (index, value) in packet.values().iter().enumerate() {
                        let step = if packet.same_address() { 0 } else { index as u32 };
                        self.write_register(local(packet.register() + step), *value);
                    }
                } else {
                    for (index, value) in packet.values().iter().enumerate() {
                        let step = if packet.same_address() { 0 } else { index as u64 * 4 };
                        self.memory.write_u32(space, packet.address() + step, *value)?;
                    }
                }
            }
            opcode::COPY_DATA => self.copy_data(space, privileged, home, body)?,
            opcode::WAIT_REG_MEM => {
                let packet = packet::WaitRegMem(body);
                let value = if packet.in_memory() {
                    self.memory.read_u32(space, packet.address())?
                } else if !privileged {
                    return Err(Failure::Packet("register wait by a user".into()));
                } else if packet.write_first() {
                    self.write_register(local(packet.register()), packet.reference());
                    self.read_register(local(packet.second_register()))
                } else {
                    self.read_register(local(packet.register()))
                };
                let wanted = packet.reference() & packet.mask();
                if !packet::compare(packet.function(), value & packet.mask(), wanted) {
                    return Ok(Outcome::Wait);
                }
            }
            opcode::INDIRECT_BUFFER => {
                let packet = packet::IndirectBuffer(body);
                let space = match (role.is_user(), packet.vmid()) {
                    (false, vmid @ 1..) => self.context_space(vmid, Some(home)),
                    _ => space,
                };
                let buffer = Indirect {
                    space,
                    address: packet.address(),
                    dwords: packet.dwords(),
                };
                if let Some(queue) = self.queues.get_mut(key) {
                    // In a buffer this is a chain: the rest is not read.
                    queue.indirect = (buffer.dwords > 0).then_some(buffer);
                }
            }
            opcode::RELEASE_MEM => self.release_mem(key, space, body)?,
            opcode::SET_RESOURCES if privileged => {
                let packet = packet::SetResources(body);
                if packet.is_scheduler() && role == Role::Scheduler {
                    self.hws_set_resources(&packet);
                }
            }
            opcode::MAP_QUEUES if role == Role::Privileged => {
                self.map_driver_ring(home, &packet::MapQueues(body))?;
            }
            opcode::UNMAP_QUEUES if role == Role::Privileged => {
                let packet = packet::UnmapQueues(body);
                if packet.action() != packet::unmap_action::PREEMPT_NO_UNMAP {
                    for doorbell in packet.doorbells() {
                        self.unmap_kernel_ring(home, doorbell);
                    }
                }
            }
            opcode::QUERY_STATUS if role == Role::Privileged => {
                let packet = packet::QueryStatus(body);
                self.memory.write_u64(space, packet.address(), packet.value())?;
            }
            opcode::RUN_LIST | opcode::UNMAP_QUEUES | opcode::QUERY_STATUS
                if role == Role::Scheduler =>
            {
                return Ok(match self.hws_packet(key, opcode, body) {
                    crate::hws::Taken::Done => Outcome::Done,
                    crate::hws::Taken::Started => Outcome::Started,
                    crate::hws::Taken::Busy => Outcome::Held,
                });
            }
            _ => return Err(Failure::Packet(format!("unknown packet {opcode:#x}"))),
        }
        if role == Role::Scheduler {
            self.hws_log_other(opcode, body);
        }
        Ok(Outcome::Done)
    }

    fn copy_data(
        &mut self,
        space: Space,
        privileged: bool,
        home: u32,
        body: &[u32],
    ) -> Result<(), Failure> {
        let packet = packet::CopyData(body);
        let touches_register = packet.source() == 0 || packet.destination() == 0;
        if touches_register && !privileged {
            return Err(Failure::Packet("register copy by a user".into()));
        }
        let value = match packet.source() {
            0 => {
                let register = local_register(home, packet.source_register());
                u64::from(self.read_register(register))
            }
            1 | 2 if packet.is_wide() => self.memory.read_u64(space, packet.source_address())?,
            1 | 2 => u64::from(self.memory.read_u32(space, packet.source_address())?),
            5 => packet.source_address(),
            9 => self.now.ticks(),
            other => return Err(Failure::Packet(format!("copy from unknown source {other}"))),
        };
        match packet.destination() {
            0 => {
                let register = local_register(home, packet.destination_register());
                self.write_register(register, value as u32);
            }
            1 | 2 | 5 if packet.is_wide() => {
                self.memory
                    .write_u64(space, packet.destination_address(), value)?;
            }
            1 | 2 | 5 => {
                self.memory
                    .write_u32(space, packet.destination_address(), value as u32)?;
            }
            other => return Err(Failure::Packet(format!("copy to unknown place {other}"))),
        }
        Ok(())
    }

    fn release_mem(&mut self, key: QueueKey, space: Space, body: &[u32]) -> Result<(), Failure> {
        let packet = packet::ReleaseMem(body);
        match packet.data() {
            0 => {}
            1 => self
                .memory
                .write_u32(space, packet.address(), packet.value() as u32)?,
            2 => self
                .memory
                .write_u64(space, packet.address(), packet.value())?,
            3 => self
                .memory
                .write_u64(space, packet.address(), self.now.ticks())?,
            other => return Err(Failure::Packet(format!("release of unknown data {other}"))),
        }
        if packet.interrupt() != 0 {
            self.end_of_pipe_interrupt(key, packet.context());
        }
        Ok(())
    }

    /// Tells the driver that a queue has reached a fence or a signal.
    pub fn end_of_pipe_interrupt(&mut self, key: QueueKey, context: u32) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let is_user = queue.role.is_user();
        let interrupt = Interrupt {
            client: client::COMMAND_PROCESSOR,
            source: source::END_OF_PIPE,
            ring: queue.slot().map_or(0, Slot::ring_id),
            vmid: queue.vmid,
            pasid: queue.pasid,
            node: xcc_node(queue.home),
            data: [if is_user { context } else { 0 }, 0, 0, 0],
        };
        self.interrupt(&interrupt);
    }

    /// MAP_QUEUES on the privileged ring.
    fn map_driver_ring(&mut self, die: u32, packet: &packet::MapQueues<'_>) -> Result<(), Failure> {
        let me = if packet.second_me() { 2 } else { 1 };
        let slot = Slot {
            me,
            pipe: packet.pipe(),
            queue: packet.queue(),
        };
        let role = match packet.engine() {
            0 => Role::Kernel,
            1 => Role::Scheduler,
            other => return Err(Failure::Packet(format!("map on unknown engine {other}"))),
        };
        let (descriptor, write) = (packet.mqd(), packet.write_address());
        self.map_kernel_ring(die, slot, role, descriptor, write, packet.doorbell())?;
        Ok(())
    }
}

/// Why a packet could not be executed.
enum Failure {
    Memory(MemoryFault),
    Packet(String),
}

impl From<MemoryFault> for Failure {
    fn from(fault: MemoryFault) -> Self {
        Failure::Memory(fault)
    }
}

/// Packets name graphics registers as those of the die that reads them.
fn local_register(home: u32, register: u32) -> u32 {
    match place(register) {
        Place::Graphics { xcc: 0, register } => xcc_base(home) + register,
        _ => register,
    }
}
