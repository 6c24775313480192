// SPDX-License-Identifier: GPL-2.0-only
//! Reading PM4 packets. Kernel rings, user rings and the buffers they refer to
//! share one path.

mod dispatch;
mod execute;
mod memory;
mod scheduling;

use crate::engines::Engines;
use crate::hws::Schedulers;
use crate::layout::pm4::{self, Header};
use crate::memory::{Memory, MemoryFault, Space, PAGE};
use crate::queue::{Failure, Flow, Indirect, Queue};
use crate::terms::{Format, QueueKey, Role};

/// Dwords that one packet may have.
const PACKET_DWORDS: u32 = 1 << 14;

/// Executes the packets of compute queues.
pub struct CommandProcessor<'a> {
    pub(super) engines: &'a mut Engines,
    schedulers: &'a mut Schedulers,
}

/// Where the packet being read is.
#[derive(Clone, Copy)]
enum Source {
    Ring,
    Buffer(Indirect),
}

/// The packet at the front of a queue.
struct Front {
    source: Source,
    space: Space,
    address: u64,
    /// Dwords from here to the end of what was written.
    available: u32,
}

/// What a packet asks of the queue that carries it.
enum Outcome {
    Done,
    /// Not yet: the packet stays and is tried again.
    Wait,
    /// The packet is done; what it started will resume the queue.
    Started,
    /// The packet is done, and so many dwords behind it are for others.
    Skip(u32),
    /// The packet stays until something resumes the queue.
    Held,
}

impl Front {
    fn of(queue: &Queue) -> Option<Front> {
        if let Some(buffer) = queue.indirect() {
            return Some(Front {
                source: Source::Buffer(buffer),
                space: buffer.space,
                address: buffer.address,
                available: buffer.dwords,
            });
        }
        if queue.write() <= queue.fetched() {
            return None;
        }
        let left = queue.write().wrapping_sub(queue.fetched());
        Some(Front {
            source: Source::Ring,
            space: queue.space(),
            address: queue.ring_address(queue.fetched()),
            available: left.min(queue.ring_bytes() / 4) as u32,
        })
    }

    /// How many dwords to fill up with are here one behind the other, the first of which
    /// was read. Of a buffer, those to the end of the page: it may have a million.
    fn fillers(&self, memory: &Memory) -> u32 {
        let Source::Buffer(_) = self.source else {
            return 1;
        };
        let page = (PAGE - self.address % PAGE) / 4;
        let mut bytes = [0; PAGE as usize];
        let bytes = &mut bytes[..self.available.min(page as u32) as usize * 4];
        if memory.read(self.space, self.address, bytes).is_err() {
            return 1;
        }
        let words = bytes.chunks_exact(4).skip(1);
        let others = words.take_while(|word| {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            matches!(pm4::header(word), Header::Filler)
        });
        1 + others.count() as u32
    }

    /// The address of a dword of the packet.
    fn dword(&self, queue: &Queue, index: u32) -> u64 {
        match self.source {
            Source::Buffer(buffer) => buffer.address.wrapping_add(u64::from(index) * 4),
            Source::Ring => queue.ring_address(queue.fetched().wrapping_add(u64::from(index))),
        }
    }
}

impl<'a> CommandProcessor<'a> {
    pub fn new(engines: &'a mut Engines, schedulers: &'a mut Schedulers) -> CommandProcessor<'a> {
        CommandProcessor {
            engines,
            schedulers,
        }
    }

    /// Reads and executes the packet at the front of a queue.
    pub fn pm4_fetch(&mut self, key: QueueKey) -> Flow {
        let Some(queue) = self.engines.queues.get_mut(key) else {
            return Flow::Idle;
        };
        // Other dies' copies of the scheduler's ring only follow.
        if is_follower(queue) {
            queue.follow_to(queue.write());
            return Flow::Idle;
        }
        let Some(front) = Front::of(queue) else {
            return Flow::Idle;
        };
        let word = match self.engines.bus.memory.read_u32(front.space, front.address) {
            Ok(word) => word,
            Err(fault) => return self.stop_for_memory(key, fault, "packet fetch"),
        };
        match pm4::header(word) {
            Header::Filler => {
                let dwords = front.fillers(&self.engines.bus.memory);
                self.pm4_advance(key, front.source, dwords);
                Flow::Next(u64::from(dwords) * self.engines.bus.config.timing.packet.min(1))
            }
            Header::Unknown => self.stop(key, format!("unknown packet header {word:#010x}")),
            Header::Packet { opcode, body } => self.pm4_packet(key, &front, opcode, body),
        }
    }

    fn pm4_packet(&mut self, key: QueueKey, front: &Front, opcode: u32, body: u32) -> Flow {
        if body >= front.available || body >= PACKET_DWORDS {
            // The rest of a packet in a ring may not have been written yet.
            if matches!(front.source, Source::Ring) && body < PACKET_DWORDS {
                return Flow::Idle;
            }
            let reason = format!("packet {opcode:#x} of {body} dwords leaves its buffer");
            return self.stop(key, reason);
        }
        let words = match self.pm4_body(key, front, body) {
            Ok(words) => words,
            Err(fault) => return self.stop_for_memory(key, fault, "packet fetch"),
        };
        match self.pm4_execute(key, opcode, &words) {
            Ok(Outcome::Wait) => Flow::Poll,
            Ok(Outcome::Held) => Flow::Blocked,
            Ok(Outcome::Done) => {
                self.pm4_advance(key, front.source, body + 1);
                Flow::Next(self.engines.bus.config.timing.packet)
            }
            Ok(Outcome::Started) => {
                self.pm4_advance(key, front.source, body + 1);
                Flow::Blocked
            }
            Ok(Outcome::Skip(dwords)) => {
                let whole = body + 1 + dwords;
                if whole > front.available {
                    let reason =
                        format!("packet {opcode:#x} skips {dwords} dwords, beyond its buffer");
                    return self.stop(key, reason);
                }
                self.pm4_advance(key, front.source, whole);
                Flow::Next(self.engines.bus.config.timing.packet)
            }
            Err(Failure::Memory(fault)) => {
                self.stop_for_memory(key, fault, &format!("packet {opcode:#x}"))
            }
            Err(Failure::Packet(reason)) => {
                let engines = &mut *self.engines;
                engines.queues.bad_packet(&mut engines.bus, key, reason);
                Flow::Blocked
            }
        }
    }

    fn pm4_body(&self, key: QueueKey, front: &Front, body: u32) -> Result<Vec<u32>, MemoryFault> {
        let Some(queue) = self.engines.queues.get(key) else {
            return Ok(Vec::new());
        };
        let memory = &self.engines.bus.memory;
        (1..=body)
            .map(|index| memory.read_u32(front.space, front.dword(queue, index)))
            .collect()
    }

    /// Moves past what was read, in the ring or in the buffer.
    fn pm4_advance(&mut self, key: QueueKey, source: Source, dwords: u32) {
        let engines = &mut *self.engines;
        let Some(queue) = engines.queues.get_mut(key) else {
            return;
        };
        match source {
            Source::Ring => {
                let target = queue.fetched().wrapping_add(u64::from(dwords));
                queue.fetch_to(target);
                engines.queues.read_to(&mut engines.bus, key, target);
            }
            // A packet in the buffer may have chained to another buffer.
            Source::Buffer(buffer) if queue.indirect() == Some(buffer) => {
                let ended = queue.advance_in_buffer(buffer, dwords);
                if ended && queue.format() == Format::Aql {
                    self.vendor_buffer_done(key);
                }
            }
            Source::Buffer(_) => {}
        }
    }

    /// Stops the queue because its packet is bad.
    pub(super) fn stop(&mut self, key: QueueKey, reason: String) -> Flow {
        let engines = &mut *self.engines;
        engines.queues.fail(&mut engines.bus, key, reason);
        Flow::Blocked
    }

    /// Stops the queue because it accessed memory that it must not, unless that is to be
    /// tried again.
    pub(super) fn stop_for_memory(
        &mut self,
        key: QueueKey,
        fault: MemoryFault,
        doing: &str,
    ) -> Flow {
        let engines = &mut *self.engines;
        engines
            .queues
            .fault_of_packet(&mut engines.bus, key, fault, doing)
    }
}

/// A die's copy of the scheduler's ring that executes nothing.
fn is_follower(queue: &Queue) -> bool {
    queue.role() == Role::Scheduler && queue.home() != queue.first()
}
