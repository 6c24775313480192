// SPDX-License-Identifier: GPL-2.0-only
//! The copy engines. A packet takes effect when it is read; its engine is
//! then busy for as long as the bytes take, and the next packet waits.

mod execute;
mod packet;

use crate::engines::Engines;
use crate::memory::MemoryFault;
use crate::queue::{Failure, Flow};
use crate::terms::QueueKey;
use execute::{Carrier, Outcome};
use packet::{operation, packet_dwords, Reader};

/// How many times as long copies take that are slow on demand.
const SLOW: u64 = 1000;

/// Reads and executes the packet at the front of an SDMA ring.
pub fn fetch(engines: &mut Engines, key: QueueKey) -> Flow {
    let Some(queue) = engines.queues.get(key) else {
        return Flow::Idle;
    };
    let Some(reader) = Reader::of(queue) else {
        return Flow::Idle;
    };
    let carrier = Carrier {
        key,
        role: queue.role(),
        space: reader.space,
    };
    let result = take(engines, &carrier, &reader);
    let timing = &engines.bus.config.timing;
    let packet = timing.packet;
    match result {
        Ok((dwords, Outcome::Done(bytes))) => {
            let moving = bytes * 1000 / timing.sdma_bytes_per_microsecond;
            let mut takes = packet + moving;
            if engines.bus.faults.copies_slow {
                engines.bus.strike();
                takes *= SLOW;
            }
            if let Some(queue) = engines.queues.get_mut(key) {
                queue.occupy(engines.bus.now(), takes);
            }
            advance(engines, key, &reader, dwords);
            Flow::Next(takes)
        }
        Ok((dwords, Outcome::Skip(more))) => {
            advance(engines, key, &reader, dwords + more);
            Flow::Next(packet)
        }
        Ok((_, Outcome::Wait)) => Flow::Poll,
        Err(Failure::Memory(fault)) => {
            let (queues, bus) = (&mut engines.queues, &mut engines.bus);
            queues.fault_of_packet(bus, key, fault, "SDMA packet")
        }
        Err(Failure::Packet(reason)) => {
            engines.queues.fail(&mut engines.bus, key, reason);
            Flow::Blocked
        }
    }
}

fn advance(engines: &mut Engines, key: QueueKey, reader: &Reader, dwords: u64) {
    let Some(queue) = engines.queues.get_mut(key) else {
        return;
    };
    if reader.advance(queue, dwords) {
        let target = queue.fetched();
        engines.queues.read_to(&mut engines.bus, key, target);
    }
}

/// Reads a packet and executes it. Returns its dwords and its outcome.
fn take(
    engines: &mut Engines,
    carrier: &Carrier,
    reader: &Reader,
) -> Result<(u64, Outcome), Failure> {
    let word = |index| reader.word(&engines.bus.memory, index);
    let header = word(0)?;
    let dwords = packet_dwords(header, word)?;
    if dwords > reader.available {
        return Err(Failure::Packet(format!(
            "SDMA packet {:#x} of {dwords} dwords leaves its buffer",
            header & 0xff
        )));
    }
    if header & 0xff == operation::NOP {
        return Ok((dwords, Outcome::Done(0)));
    }
    let words: Vec<u32> = (0..dwords).map(word).collect::<Result<_, MemoryFault>>()?;
    let outcome = carrier.execute(engines, &words)?;
    Ok((dwords, outcome))
}
