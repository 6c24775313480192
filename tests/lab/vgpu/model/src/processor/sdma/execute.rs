// SPDX-License-Identifier: GPL-2.0-only
//! What each SDMA packet does.

use super::packet::operation;
use crate::aperture;
use crate::engines::Engines;
use crate::host::By;
use crate::interrupt::{client, sdma_node, source, Interrupt};
use crate::layout::pm4::compare;
use crate::memory::{Memory, MemoryFault, Space};
use crate::queue::{Failure, Indirect};
use crate::registers::table::sdma;
use crate::terms::{QueueKey, Role, Seat};

/// Bytes moved per step, to keep the buffer of a large copy small.
const STEP: usize = 64 << 10;

const ATOMIC_ADD_64: u32 = 0x2f;

pub enum Outcome {
    /// Done, having moved this many bytes.
    Done(u64),
    Wait,
    /// Skip this many further dwords.
    Skip(u64),
}

/// The queue that carries a packet.
pub struct Carrier {
    pub key: QueueKey,
    pub role: Role,
    /// The address space of the ring or buffer that the packet is in.
    pub space: Space,
}

fn wide(words: &[u32], index: usize) -> u64 {
    u64::from(words[index]) | (u64::from(words[index + 1]) << 32)
}

impl Carrier {
    pub fn execute(&self, engines: &mut Engines, words: &[u32]) -> Result<Outcome, Failure> {
        let space = self.space;
        let ticks = engines.bus.ticks();
        let memory = &mut engines.bus.memory;
        match words[0] & 0xff {
            operation::COPY => return copy(memory, space, words),
            operation::WRITE => {
                let bytes: Vec<u8> = words[4..].iter().flat_map(|w| w.to_le_bytes()).collect();
                memory.write(space, wide(words, 1) & !3, &bytes)?;
                return Ok(Outcome::Done(bytes.len() as u64));
            }
            operation::INDIRECT => return self.enter_buffer(engines, words),
            operation::FENCE => memory.write_u32(space, wide(words, 1) & !3, words[3])?,
            operation::TRAP => self.trap(engines, words[1] & 0xfff_ffff),
            operation::POLL => return self.poll(engines, words),
            operation::CONDITIONAL => {
                let value = memory.read_u32(space, wide(words, 1) & !3)?;
                if value != words[3] {
                    return Ok(Outcome::Skip(u64::from(words[4] & 0x3fff)));
                }
            }
            operation::ATOMIC => {
                let kind = (words[0] >> 25) & 0x7f;
                if kind != ATOMIC_ADD_64 {
                    return Err(Failure::Packet(format!("SDMA atomic of kind {kind:#x}")));
                }
                memory.add_u64(space, wide(words, 1) & !7, wide(words, 3))?;
            }
            operation::FILL => {
                let bytes = (u64::from(words[4] & 0x3fff_ffff) + 1) as usize;
                memory.probe(space, wide(words, 1), bytes, true)?;
                memory.fill(space, wide(words, 1), bytes, words[3])?;
                return Ok(Outcome::Done(bytes as u64));
            }
            operation::PAGE_ENTRIES => return write_page_entries(memory, space, words),
            operation::TIMESTAMP => memory.write_u64(space, wide(words, 1) & !7, ticks)?,
            operation::REGISTER_WRITE => {
                if self.role != Role::Kernel {
                    return Err(Failure::Packet("SDMA register write by a user".into()));
                }
                aperture::write(engines, words[1] & 0x3ffff, words[2], By::Packet);
            }
            _ => {}
        }
        Ok(Outcome::Done(0))
    }

    fn enter_buffer(&self, engines: &mut Engines, words: &[u32]) -> Result<Outcome, Failure> {
        let vmid = (words[0] >> 16) & 0xf;
        let space = match (self.role, vmid) {
            (Role::Kernel, 1..) => engines.bus.context_space(vmid, None),
            _ => self.space,
        };
        if let Some(queue) = engines.queues.get_mut(self.key) {
            if queue.indirect().is_some() {
                return Err(Failure::Packet("SDMA buffer within a buffer".into()));
            }
            queue.enter_buffer(Indirect {
                space,
                address: wide(words, 1) & !0x1f,
                dwords: words[3] & 0xf_ffff,
            });
        }
        Ok(Outcome::Skip(0))
    }

    fn poll(&self, engines: &mut Engines, words: &[u32]) -> Result<Outcome, Failure> {
        let in_memory = words[0] >> 31 != 0;
        let is_flush = (words[0] >> 26) & 1 != 0;
        let function = (words[0] >> 28) & 7;
        // The runtime flushes with a poll whose condition always holds.
        if is_flush || function == 0 {
            return Ok(Outcome::Done(0));
        }
        let value = if in_memory {
            let memory = &engines.bus.memory;
            memory.read_u32(self.space, wide(words, 1) & !3)?
        } else if self.role == Role::Kernel {
            aperture::read(engines, words[1] >> 2, By::Packet)
        } else {
            return Err(Failure::Packet("SDMA register poll by a user".into()));
        };
        let mask = words[4];
        let holds = compare(function, value & mask, words[3] & mask);
        Ok(if holds {
            Outcome::Done(0)
        } else {
            Outcome::Wait
        })
    }

    fn trap(&self, engines: &mut Engines, context: u32) {
        let Some(queue) = engines.queues.get(self.key) else {
            return;
        };
        let Seat::Sdma(ring) = queue.seat() else {
            return;
        };
        // The driver distinguishes an engine's rings by this number.
        let ring_id = match ring.registers {
            sdma::PAGE => 1,
            _ => 0,
        };
        let interrupt = Interrupt {
            client: client::SDMA[ring.engine as usize % 4],
            source: source::SDMA_TRAP,
            ring: ring_id,
            vmid: queue.vmid(),
            pasid: queue.pasid(),
            node: sdma_node(ring.engine),
            data: [context, 0, 0, 0],
        };
        engines.bus.raise(&interrupt);
    }
}

/// The whole range is checked before anything is moved.
fn copy(memory: &mut Memory, space: Space, words: &[u32]) -> Result<Outcome, Failure> {
    let bytes = u64::from(words[1] & 0x3fff_ffff) + 1;
    let broadcast = (words[0] >> 27) & 1 != 0;
    let (from, to) = (wide(words, 3), wide(words, 5));
    memory.probe(space, from, bytes as usize, false)?;
    memory.probe(space, to, bytes as usize, true)?;
    if broadcast {
        let second = wide(words, 7);
        memory.probe(space, second, bytes as usize, true)?;
        move_bytes(memory, space, from, second, bytes)?;
    }
    move_bytes(memory, space, from, to, bytes)?;
    Ok(Outcome::Done(bytes))
}

fn move_bytes(
    memory: &mut Memory,
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
        memory.read(space, from.wrapping_add(done), buffer)?;
        memory.write(space, to.wrapping_add(done), buffer)?;
        done += part;
    }
    Ok(())
}

fn write_page_entries(
    memory: &mut Memory,
    space: Space,
    words: &[u32],
) -> Result<Outcome, Failure> {
    let (mask, mut value, step) = (wide(words, 3), wide(words, 5), wide(words, 7));
    let count = u64::from(words[9] & 0x7_ffff) + 1;
    let mut bytes = Vec::with_capacity(count as usize * 8);
    for _ in 0..count {
        bytes.extend_from_slice(&(value | mask).to_le_bytes());
        value = value.wrapping_add(step);
    }
    memory.write(space, wide(words, 1) & !7, &bytes)?;
    Ok(Outcome::Done(bytes.len() as u64))
}
