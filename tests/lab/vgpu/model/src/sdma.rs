// SPDX-License-Identifier: GPL-2.0-only
//! The copy engines. A packet takes effect when it is read; its engine is
//! then busy for as long as the bytes take, and the next packet waits.

use crate::gpu::{Flow, Gpu};
use crate::interrupt::{client, source, Interrupt};
use crate::layout::pm4::compare;
use crate::memory::{MemoryFault, Space};
use crate::queue::Indirect;
use crate::terms::{QueueKey, Role, Seat};

mod operation {
    pub const NOP: u32 = 0;
    pub const COPY: u32 = 1;
    pub const WRITE: u32 = 2;
    pub const INDIRECT: u32 = 4;
    pub const FENCE: u32 = 5;
    pub const TRAP: u32 = 6;
    pub const POLL: u32 = 8;
    pub const CONDITIONAL: u32 = 9;
    pub const ATOMIC: u32 = 10;
    pub const FILL: u32 = 11;
    pub const PAGE_ENTRIES: u32 = 12;
    pub const TIMESTAMP: u32 = 13;
    pub const REGISTER_WRITE: u32 = 14;
    pub const PRE_EXECUTE: u32 = 15;
    pub const DUMMY_TRAP: u32 = 16;
}

/// Bytes moved per step, so that a copy needs no buffer of its own size.
const STEP: usize = 64 << 10;

const ATOMIC_ADD_64: u32 = 0x2f;

struct Reader {
    space: Space,
    /// Start, length in bytes, and offset of the packet.
    start: u64,
    length: u64,
    offset: u64,
}

impl Reader {
    fn word(&self, gpu: &Gpu, index: u64) -> Result<u32, MemoryFault> {
        let at = (self.offset + index * 4) % self.length.max(4);
        gpu.memory.read_u32(self.space, self.start + at)
    }
}

enum Outcome {
    /// Done, having moved so many bytes.
    Done(u64),
    Wait,
    /// Skip so many further dwords.
    Skip(u64),
}

enum Failure {
    Memory(MemoryFault),
    Packet(String),
}

impl From<MemoryFault> for Failure {
    fn from(fault: MemoryFault) -> Self {
        Failure::Memory(fault)
    }
}

/// Dwords of a packet, which for some depends on later words.
fn packet_dwords(
    header: u32,
    word: impl Fn(u64) -> Result<u32, MemoryFault>,
) -> Result<u64, Failure> {
    let broadcast = (header >> 27) & 1 != 0;
    Ok(match header & 0xff {
        operation::NOP => 1 + u64::from((header >> 16) & 0x3fff),
        operation::COPY if (header >> 8) & 0xff != 0 => {
            return Err(Failure::Packet(format!(
                "copy of kind {}",
                (header >> 8) & 0xff
            )));
        }
        operation::COPY if broadcast => 9,
        operation::COPY => 7,
        operation::WRITE => 5 + u64::from(word(3)? & 0xf_ffff),
        operation::INDIRECT => 6,
        operation::FENCE => 4,
        operation::TRAP => 2,
        operation::POLL => 6,
        operation::CONDITIONAL => 5,
        operation::ATOMIC => 8,
        operation::FILL => 5,
        operation::PAGE_ENTRIES => 10,
        operation::TIMESTAMP => 3,
        operation::REGISTER_WRITE => 3,
        operation::PRE_EXECUTE => 2,
        operation::DUMMY_TRAP => 2,
        other => return Err(Failure::Packet(format!("unknown SDMA packet {other}"))),
    })
}

impl Gpu {
    /// Reads and executes the packet at the front of an SDMA ring.
    pub fn sdma_fetch(&mut self, key: QueueKey) -> Flow {
        let Some(queue) = self.queues.get(key) else {
            return Flow::Idle;
        };
        let reader = match queue.indirect {
            Some(buffer) => Reader {
                space: buffer.space,
                start: buffer.address,
                length: u64::from(buffer.dwords) * 4,
                offset: 0,
            },
            None => {
                if queue.write <= queue.fetched {
                    return Flow::Idle;
                }
                Reader {
                    space: queue.space,
                    start: queue.ring,
                    length: queue.ring_bytes,
                    offset: queue.fetched,
                }
            }
        };
        let available = match queue.indirect {
            Some(buffer) => u64::from(buffer.dwords),
            None => (queue.write - queue.fetched) / 4,
        };
        let result = self.sdma_packet(key, &reader, available);
        let packet = self.config.timing.packet;
        match result {
            Ok((dwords, Outcome::Done(bytes))) => {
                let moving = bytes * 1000 / self.config.timing.sdma_bytes_per_microsecond;
                let busy = self.now.after(packet + moving);
                if let Some(queue) = self.queues.get_mut(key) {
                    queue.busy_until = busy;
                    queue.busy_nanos += packet + moving;
                }
                self.sdma_advance(key, &reader, dwords);
                Flow::Next(packet + moving)
            }
            Ok((dwords, Outcome::Skip(more))) => {
                self.sdma_advance(key, &reader, dwords + more);
                Flow::Next(packet)
            }
            Ok((_, Outcome::Wait)) => Flow::Poll,
            Err(Failure::Memory(fault)) => {
                self.memory_fault(key, fault, "SDMA packet");
                Flow::Blocked
            }
            Err(Failure::Packet(reason)) => {
                self.fail_queue(key, reason);
                Flow::Blocked
            }
        }
    }

    fn sdma_advance(&mut self, key: QueueKey, reader: &Reader, dwords: u64) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        match queue.indirect {
            // The packet was in the buffer, and did not start another one.
            Some(buffer) if buffer.address == reader.start && buffer.space == reader.space => {
                let done = (dwords as u32).min(buffer.dwords);
                let left = buffer.dwords - done;
                queue.indirect = (left > 0).then_some(Indirect {
                    address: buffer.address + u64::from(done) * 4,
                    dwords: left,
                    ..buffer
                });
            }
            _ => queue.fetched += dwords * 4,
        }
        // What a ring refers to is part of its packet.
        if queue.indirect.is_none() && queue.read != queue.fetched {
            queue.read = queue.fetched;
            self.report_read_pointer(key);
        }
    }

    fn sdma_packet(
        &mut self,
        key: QueueKey,
        reader: &Reader,
        available: u64,
    ) -> Result<(u64, Outcome), Failure> {
        let header = reader.word(self, 0)?;
        let dwords = packet_dwords(header, |index| reader.word(self, index))?;
        if dwords > available {
            return Err(Failure::Packet(format!(
                "SDMA packet {:#x} of {dwords} dwords leaves its buffer",
                header & 0xff
            )));
        }
        let operation = header & 0xff;
        if operation == operation::NOP {
            return Ok((dwords, Outcome::Done(0)));
        }
        let words: Vec<u32> = (0..dwords)
            .map(|index| reader.word(self, index))
            .collect::<Result<_, MemoryFault>>()?;
        let outcome = self.sdma_execute(key, operation, &words, reader.space)?;
        Ok((dwords, outcome))
    }

    fn sdma_execute(
        &mut self,
        key: QueueKey,
        operation: u32,
        words: &[u32],
        space: Space,
    ) -> Result<Outcome, Failure> {
        let wide = |index: usize| u64::from(words[index]) | (u64::from(words[index + 1]) << 32);
        let Some(queue) = self.queues.get(key) else {
            return Ok(Outcome::Done(0));
        };
        let role = queue.role;
        match operation {
            operation::COPY => {
                let bytes = u64::from(words[1] & 0x3fff_ffff) + 1;
                let broadcast = (words[0] >> 27) & 1 != 0;
                self.memory.probe(space, wide(3), bytes as usize, false)?;
                self.memory.probe(space, wide(5), bytes as usize, true)?;
                if broadcast {
                    self.memory.probe(space, wide(7), bytes as usize, true)?;
                    self.sdma_copy(space, wide(3), wide(7), bytes)?;
                }
                self.sdma_copy(space, wide(3), wide(5), bytes)?;
                return Ok(Outcome::Done(bytes));
            }
            operation::WRITE => {
                let bytes: Vec<u8> = words[4..].iter().flat_map(|w| w.to_le_bytes()).collect();
                self.memory.write(space, wide(1) & !3, &bytes)?;
                return Ok(Outcome::Done(bytes.len() as u64));
            }
            operation::INDIRECT => {
                let vmid = (words[0] >> 16) & 0xf;
                let space = match (role, vmid) {
                    (Role::Kernel, 1..) => self.context_space(vmid, None),
                    _ => space,
                };
                let buffer = Indirect {
                    space,
                    address: wide(1) & !0x1f,
                    dwords: words[3] & 0xf_ffff,
                };
                if let Some(queue) = self.queues.get_mut(key) {
                    if queue.indirect.is_some() {
                        return Err(Failure::Packet("SDMA buffer within a buffer".into()));
                    }
                    queue.indirect = (buffer.dwords > 0).then_some(buffer);
                }
                return Ok(Outcome::Skip(0));
            }
            operation::FENCE => self.memory.write_u32(space, wide(1) & !3, words[3])?,
            operation::TRAP => self.sdma_trap(key, words[1] & 0xfff_ffff),
            operation::POLL => {
                let in_memory = words[0] >> 31 != 0;
                let is_flush = (words[0] >> 26) & 1 != 0;
                let function = (words[0] >> 28) & 7;
                // The runtime flushes with a poll that always holds.
                if is_flush || function == 0 {
                    return Ok(Outcome::Done(0));
                }
                let value = if in_memory {
                    self.memory.read_u32(space, wide(1) & !3)?
                } else if role == Role::Kernel {
                    self.read_register(words[1] >> 2)
                } else {
                    return Err(Failure::Packet("SDMA register poll by a user".into()));
                };
                let mask = words[4];
                if !compare(function, value & mask, words[3] & mask) {
                    return Ok(Outcome::Wait);
                }
            }
            operation::CONDITIONAL => {
                let value = self.memory.read_u32(space, wide(1) & !3)?;
                if value != words[3] {
                    return Ok(Outcome::Skip(u64::from(words[4] & 0x3fff)));
                }
            }
            operation::ATOMIC => {
                let kind = (words[0] >> 25) & 0x7f;
                if kind != ATOMIC_ADD_64 {
                    return Err(Failure::Packet(format!("SDMA atomic of kind {kind:#x}")));
                }
                self.memory.add_u64(space, wide(1) & !7, wide(3))?;
            }
            operation::FILL => {
                let bytes = (u64::from(words[4] & 0x3fff_ffff) + 1) as usize;
                self.memory.probe(space, wide(1), bytes, true)?;
                self.memory.fill(space, wide(1), bytes, words[3])?;
                return Ok(Outcome::Done(bytes as u64));
            }
            operation::PAGE_ENTRIES => {
                let (mask, mut value, step) = (wide(3), wide(5), wide(7));
                let count = u64::from(words[9] & 0x7_ffff) + 1;
                let mut bytes = Vec::with_capacity(count as usize * 8);
                for _ in 0..count {
                    bytes.extend_from_slice(&(value | mask).to_le_bytes());
                    value = value.wrapping_add(step);
                }
                self.memory.write(space, wide(1) & !7, &bytes)?;
                return Ok(Outcome::Done(bytes.len() as u64));
            }
            operation::TIMESTAMP => {
                let now = self.now.ticks();
                self.memory.write_u64(space, wide(1) & !7, now)?;
            }
            operation::REGISTER_WRITE => {
                if role != Role::Kernel {
                    return Err(Failure::Packet("SDMA register write by a user".into()));
                }
                self.write_register(words[1] & 0x3ffff, words[2]);
            }
            _ => {}
        }
        Ok(Outcome::Done(0))
    }

    fn sdma_copy(
        &mut self,
        space: Space,
        from: u64,
        to: u64,
        bytes: u64,
    ) -> Result<(), MemoryFault> {
        let mut buffer = vec![0; STEP.min(bytes as usize)];
        let mut done = 0;
        while done < bytes {
            let part = (STEP as u64).min(bytes - done);
            let buffer = &mut buffer[..part as usize];
            self.memory.read(space, from + done, buffer)?;
            self.memory.write(space, to + done, buffer)?;
            done += part;
        }
        Ok(())
    }

    fn sdma_trap(&mut self, key: QueueKey, context: u32) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let Seat::Sdma(ring) = queue.seat else {
            return;
        };
        // The driver tells rings of an engine apart by this number.
        let ring_id = match ring.registers {
            crate::registers::table::sdma::GFX => 0,
            crate::registers::table::sdma::PAGE => 1,
            _ => 0,
        };
        let interrupt = Interrupt {
            client: client::SDMA[ring.engine as usize % 4],
            source: source::SDMA_TRAP,
            ring: ring_id,
            vmid: queue.vmid,
            pasid: queue.pasid,
            node: 0,
            data: [context, 0, 0, 0],
        };
        self.interrupt(&interrupt);
    }
}
