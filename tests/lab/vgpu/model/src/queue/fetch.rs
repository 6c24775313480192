// SPDX-License-Identifier: GPL-2.0-only
//! When a queue reads its next packet, and what stops it permanently.

use super::{Queue, Queues, HALF};
use crate::bus::Buses;
use crate::clock::Event;
use crate::interrupt::{client, sdma_node, source, xcc_node, Interrupt};
use crate::memory::{FaultCause, MemoryFault};
use crate::terms::{Format, QueueKey, Seat, Slot};

/// Of a message's first word, that a wave has sent it.
const WAVE_ENCODING: u32 = 1 << 26;

/// After how many tries the driver is told again of the same page.
const SAME_PAGE: u64 = 10;

/// What a queue does after a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Reads the next packet after this many nanoseconds.
    Next(u64),
    /// Has nothing to read until its doorbell rings.
    Idle,
    /// Tries again after the poll time.
    Poll,
    /// Waits for something that will resume it.
    Blocked,
}

/// Why a packet could not be executed.
pub enum Failure {
    Memory(MemoryFault),
    Packet(String),
}

impl From<MemoryFault> for Failure {
    fn from(fault: MemoryFault) -> Self {
        Failure::Memory(fault)
    }
}

impl Queues {
    /// Schedules the next packet of a queue, if it may read one.
    pub fn kick(&mut self, bus: &mut Buses, key: QueueKey) {
        let timing = &bus.config.timing;
        let nanos = match self.get(key).map(Queue::format) {
            Some(Format::Aql) => timing.aql_packet,
            _ => timing.packet,
        };
        self.fetch_after(bus, key, nanos);
    }

    fn fetch_after(&mut self, bus: &mut Buses, key: QueueKey, nanos: u64) {
        let Some(queue) = self.get_mut(key) else {
            return;
        };
        if queue.fetching || !queue.is_live() {
            return;
        }
        queue.fetching = true;
        let at = bus.now().after(nanos).max(queue.busy_until);
        bus.clock.at(at, Event::Fetch(key));
    }

    /// A scheduled fetch is due: returns the queue if it may read now.
    pub fn take_fetch(&mut self, bus: &mut Buses, key: QueueKey) -> Option<&Queue> {
        let queue = self.get_mut(key)?;
        queue.fetching = false;
        if bus.faults.copies_hung && queue.format() == Format::Sdma {
            bus.strike();
            return None;
        }
        (queue.is_live() && !bus.faults.hung).then_some(queue)
    }

    /// Tries once more to read a write pointer that could not be read when the queue was
    /// loaded. Returns what the queue does if it is still unknown.
    pub fn miss_write_pointer(&mut self, bus: &mut Buses, key: QueueKey) -> Option<Flow> {
        let queue = self.get_mut(key)?;
        let address = queue.unread_write?;
        match bus.memory.read_u64(queue.space(), address) {
            Ok(write) => {
                queue.learn_write_pointer(write);
                None
            }
            Err(fault) => Some(self.fault_of_packet(bus, key, fault, "write pointer")),
        }
    }

    /// Continues after a packet.
    pub fn flow(&mut self, bus: &mut Buses, key: QueueKey, flow: Flow) {
        match flow {
            Flow::Next(nanos) => self.fetch_after(bus, key, nanos),
            Flow::Poll => self.fetch_after(bus, key, bus.config.timing.poll),
            Flow::Idle | Flow::Blocked => {}
        }
    }

    /// Stops a queue that cannot continue: its packet or its memory is bad.
    pub fn fail(&mut self, bus: &mut Buses, key: QueueKey, reason: String) {
        let Some(queue) = self.get_mut(key) else {
            return;
        };
        if queue.fault.is_some() {
            return;
        }
        let name = format!(
            "queue with doorbell {:#x} of pasid {}",
            queue.doorbell_offset(),
            queue.pasid()
        );
        if queue.role().is_user() {
            bus.accounts.fault(queue.account, &reason);
        }
        bus.note(format!("{name} has stopped: {reason}"));
        queue.fault = Some(reason);
    }

    /// Stops a queue whose packet cannot be executed, and tells the driver.
    pub fn bad_packet(&mut self, bus: &mut Buses, key: QueueKey, reason: String) {
        self.fail(bus, key, reason);
        let Some(queue) = self.get(key) else {
            return;
        };
        bus.raise(&queue.processor_interrupt(source::BAD_OPCODE, 0));
    }

    /// Whether an access that found no memory is to be tried again. The driver is told,
    /// but not each time.
    pub fn retries(&mut self, bus: &mut Buses, key: QueueKey, fault: MemoryFault) -> bool {
        let (now, pause) = (bus.now(), bus.config.timing.retry);
        let Some(queue) = self.get_mut(key) else {
            return false;
        };
        let is_final = matches!(fault.cause, FaultCause::Final | FaultCause::Nowhere);
        let may_retry = queue.role().is_user() && queue.settings().retries;
        if is_final || !may_retry || queue.fault.is_some() {
            return false;
        }
        let page = fault.address >> 12;
        let is_due = |(told, of)| {
            let tries = if of == page { SAME_PAGE } else { 1 };
            now.since(told) >= tries * pause
        };
        if queue.told.is_none_or(is_due) {
            queue.told = Some((now, page));
            bus.raise(&queue.fault_interrupt(fault, true));
        }
        true
    }

    /// What a queue does whose packet found no memory: it stops, unless the packet is to be
    /// tried again.
    pub fn fault_of_packet(
        &mut self,
        bus: &mut Buses,
        key: QueueKey,
        fault: MemoryFault,
        doing: &str,
    ) -> Flow {
        if self.retries(bus, key, fault) {
            return Flow::Next(bus.config.timing.retry);
        }
        self.memory_fault(bus, key, fault, doing);
        Flow::Blocked
    }

    /// Stops a queue that accessed memory it must not, and tells the driver.
    pub fn memory_fault(
        &mut self,
        bus: &mut Buses,
        key: QueueKey,
        fault: MemoryFault,
        doing: &str,
    ) {
        if self.get(key).is_none_or(|queue| queue.fault.is_some()) {
            return;
        }
        self.fail(bus, key, format!("{doing}: {fault}"));
        let Some(queue) = self.get(key) else {
            return;
        };
        if queue.role().is_user() {
            bus.raise(&queue.fault_interrupt(fault, false));
        }
    }
}

impl Queue {
    /// Keeps the second half of a packet whose first half is read later.
    pub fn keep_half(&mut self, number: u64, words: &[u32; 2 * HALF]) {
        self.half = words.last_chunk().map(|second| (number, *second));
    }

    /// Completes a packet with the half that was read before. Whether there was one.
    pub fn take_half(&mut self, number: u64, words: &mut [u32; 2 * HALF]) -> bool {
        match self.half.take() {
            Some((of, second)) if of == number => {
                words[HALF..].copy_from_slice(&second);
                true
            }
            _ => false,
        }
    }

    /// An interrupt of the command processor about this queue.
    pub fn processor_interrupt(&self, source: u32, context: u32) -> Interrupt {
        Interrupt {
            client: client::COMMAND_PROCESSOR,
            source,
            ring: self.slot().map_or(0, Slot::ring_id),
            vmid: self.vmid(),
            pasid: self.pasid(),
            node: xcc_node(self.home),
            data: [context, 0, 0, 0],
        }
    }

    /// A message that a wave sends to the driver: 24 bits, and whether its trap handler
    /// has sent it.
    pub fn wave_interrupt(&self, die: u32, data: u32, privileged: bool) -> Interrupt {
        let lower = (data & 0xfff) | ((data & 0xf000) << 16);
        Interrupt {
            client: client::SHADER_ENGINE,
            source: source::WAVE_MESSAGE,
            ring: 0,
            vmid: self.vmid(),
            pasid: self.pasid(),
            node: xcc_node(die),
            data: [
                lower | WAVE_ENCODING | (u32::from(privileged) << 13),
                (data >> 16) & 0xff,
                0,
                0,
            ],
        }
    }

    fn fault_interrupt(&self, fault: MemoryFault, retries: bool) -> Interrupt {
        let (is_sdma, node) = match self.seat() {
            Seat::Sdma(ring) => (true, sdma_node(ring.engine)),
            Seat::Compute(_) => (false, xcc_node(self.home)),
        };
        let page = fault.address >> 12;
        let access = if fault.write { 1 << 5 } else { 1 << 4 };
        let valid = u32::from(fault.cause == FaultCause::Forbidden) << 3;
        Interrupt {
            client: if is_sdma {
                client::SYSTEM_MEMORY
            } else {
                client::GRAPHICS_MEMORY
            },
            source: source::MEMORY_FAULT,
            ring: valid | access,
            vmid: self.vmid(),
            pasid: self.pasid(),
            node,
            data: [
                page as u32,
                (page >> 32) as u32 & 0xf
                    | (u32::from(fault.write) << 5)
                    | (u32::from(retries) << 7),
                0,
                0,
            ],
        }
    }
}
