// SPDX-License-Identifier: GPL-2.0-only
//! Architected queueing: reading the packets of AQL queues.

use super::pm4::CommandProcessor;
use super::IN_FLIGHT;
use crate::compute::{private_bytes, Dispatch, Kernel, Origin, Program, Scratch, Work};
use crate::layout::aql::{inactive, kind, signal, vendor, Packet};
use crate::memory::Space;
use crate::queue::{Failure, Flow, Indirect, Queue};
use crate::terms::{GpuNanos, QueueKey, ReadPointer};

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

/// A packet at the front of a queue.
struct Front {
    key: QueueKey,
    number: u64,
    space: Space,
    packet: Packet,
}

impl CommandProcessor<'_> {
    /// Reads the packet at the front of an AQL queue and launches it.
    pub fn aql_fetch(&mut self, key: QueueKey) -> Flow {
        let Some(queue) = self.engines.queues.get(key) else {
            return Flow::Idle;
        };
        if queue.indirect().is_some() {
            return self.pm4_fetch(key);
        }
        // One packet at a time is launched.
        if self.engines.compute.is_launching(key) {
            return Flow::Blocked;
        }
        let number = queue.fetched();
        if number >= queue.write() {
            return Flow::Idle;
        }
        let space = queue.space();
        let address = queue.ring_address(number);
        let mut packet = match self.engines.bus.memory.read_dwords(space, address) {
            Ok(words) => Packet { words },
            Err(fault) => return self.stop_for_memory(key, fault, "packet fetch"),
        };
        if packet.kind() == kind::INVALID {
            return self.not_written(key, number, &packet);
        }
        self.complete_half(key, number, &mut packet);
        if packet.has_barrier() && self.engines.compute.in_flight(key) > 0 {
            return Flow::Blocked;
        }
        let front = Front {
            key,
            number,
            space,
            packet,
        };
        match self.launch(&front) {
            Ok(launch) => self.launched(&front, launch),
            Err(Failure::Memory(fault)) => self.stop_for_memory(key, fault, "AQL packet"),
            Err(Failure::Packet(reason)) => self.stop(key, reason),
        }
    }

    /// The packet is not written yet. Its header becomes valid before the doorbell rings for
    /// it, so that nothing is to be done until then.
    fn not_written(&mut self, key: QueueKey, number: u64, packet: &Packet) -> Flow {
        if !self.engines.bus.faults.packets_in_halves {
            return Flow::Idle;
        }
        if let Some(queue) = self.engines.queues.get_mut(key) {
            queue.keep_half(number, &packet.words);
        }
        Flow::Poll
    }

    /// A packet whose second half was read before it was written has that half.
    fn complete_half(&mut self, key: QueueKey, number: u64, packet: &mut Packet) {
        let queue = self.engines.queues.get_mut(key);
        if queue.is_some_and(|queue| queue.take_half(number, &mut packet.words)) {
            self.engines.bus.strike();
        }
    }

    fn launch(&mut self, front: &Front) -> Result<Launch, Failure> {
        match front.packet.kind() {
            kind::KERNEL_DISPATCH => self.dispatch(front),
            kind::BARRIER_AND | kind::BARRIER_OR => self.barrier(front),
            kind::VENDOR => self.vendor_packet(front),
            // This queue has no agent for them: they complete at once.
            kind::AGENT_DISPATCH => Ok(Launch::Done),
            other => Err(Failure::Packet(format!("unknown AQL packet {other}"))),
        }
    }

    fn launched(&mut self, front: &Front, launch: Launch) -> Flow {
        let (key, number) = (front.key, front.number);
        match launch {
            Launch::Done => {
                self.fetch_to(key, number.wrapping_add(1));
                self.pass(key, number);
                let now = self.engines.bus.now();
                if let Some(flow) = self.complete(key, front.packet.completion(), Some(now)) {
                    return flow;
                }
            }
            Launch::Dispatched => {
                self.fetch_to(key, number.wrapping_add(1));
                if self.engines.bus.config.read_pointer == ReadPointer::Fetch {
                    self.pass(key, number);
                }
                self.engines.launch_all();
            }
            Launch::Buffer => {
                if let Some(queue) = self.engines.queues.get_mut(key) {
                    queue.set_buffer_signal(front.packet.completion());
                }
            }
            Launch::Full => return Flow::Blocked,
            Launch::Wait => return Flow::Poll,
        }
        Flow::Next(self.engines.bus.config.timing.aql_packet)
    }

    fn fetch_to(&mut self, key: QueueKey, target: u64) {
        if let Some(queue) = self.engines.queues.get_mut(key) {
            queue.fetch_to(target);
        }
    }

    fn pass(&mut self, key: QueueKey, number: u64) {
        let engines = &mut *self.engines;
        engines
            .compute
            .pass(&mut engines.bus, &mut engines.queues, key, number);
    }

    /// Completes a packet's signal. Returns a flow only if that stopped the queue.
    fn complete(&mut self, key: QueueKey, signal: u64, started: Option<GpuNanos>) -> Option<Flow> {
        let engines = &mut *self.engines;
        let result = engines
            .queues
            .complete_signal(&mut engines.bus, key, signal, started);
        let fault = result.err()?;
        Some(self.stop_for_memory(key, fault, "completion signal"))
    }

    fn dispatch(&mut self, front: &Front) -> Result<Launch, Failure> {
        let engines = &mut *self.engines;
        if engines.compute.in_flight(front.key) >= IN_FLIGHT {
            return Ok(Launch::Full);
        }
        let (memory, space, packet) = (&engines.bus.memory, front.space, &front.packet);
        let kernel = Kernel::read(
            memory,
            space,
            packet.kernel_object(),
            packet.group_segment(),
            engines.bus.config.local_memory(),
        )?;
        let (items, workgroups) = shape(packet)?;
        let work = if kernel.is_countable {
            Work::read(memory, space, packet.kernarg())?
        } else {
            let queue = engines.queues.get(front.key);
            let owner = queue.map_or(0, Queue::owner_record);
            let wanted = private_bytes(memory, space, packet)?;
            let scratch = match wanted {
                0 => Scratch::default(),
                _ => match Scratch::read(memory, space, owner, wanted)? {
                    None => return self.want_scratch(front),
                    Some(scratch) if !scratch.is_for_once() => scratch,
                    Some(_) if engines.compute.in_flight(front.key) > 0 => return Ok(Launch::Full),
                    Some(_) if queue.map_or(Ok(false), |queue| queue.has_asked(memory))? => {
                        return Ok(Launch::Wait)
                    }
                    Some(scratch) => scratch,
                },
            };
            let origin = Origin {
                packet: queue.map_or(0, |queue| queue.ring_address(front.number)),
                owner,
                number: front.number,
                scratch,
            };
            let program = Program::read(memory, space, packet, &origin)?;
            Work::Machine(Box::new(program))
        };
        let (waves, signal) = (items.div_ceil(64), packet.completion());
        let dispatch = Dispatch::new(front.number, workgroups, waves, kernel, work, signal)
            .map_err(Failure::Packet)?;
        engines
            .compute
            .begin_dispatch(&mut engines.bus, &engines.queues, front.key, dispatch);
        Ok(Launch::Dispatched)
    }

    /// The queue has less scratch than a dispatch wants: its owner is told, once nothing
    /// uses what there is.
    fn want_scratch(&mut self, front: &Front) -> Result<Launch, Failure> {
        let engines = &mut *self.engines;
        if engines.compute.in_flight(front.key) > 0 {
            return Ok(Launch::Full);
        }
        let (bus, what) = (&mut engines.bus, inactive::WANTS_SCRATCH);
        if !engines.queues.ask_owner(bus, front.key, what)? {
            let reason = "a dispatch wants scratch, and nobody can be asked for it";
            return Err(Failure::Packet(reason.to_owned()));
        }
        Ok(Launch::Wait)
    }

    fn barrier(&self, front: &Front) -> Result<Launch, Failure> {
        let memory = &self.engines.bus.memory;
        let mut values = Vec::new();
        for signal in front.packet.dependencies() {
            values.push(memory.read_u64(front.space, signal.wrapping_add(signal::VALUE))?);
        }
        let passes = match front.packet.kind() {
            kind::BARRIER_AND => values.iter().all(|value| *value == 0),
            _ => values.is_empty() || values.contains(&0),
        };
        Ok(if passes { Launch::Done } else { Launch::Wait })
    }

    fn vendor_packet(&mut self, front: &Front) -> Result<Launch, Failure> {
        let packet = &front.packet;
        match packet.vendor_format() {
            vendor::PM4_BUFFER => {
                // The packet carries an INDIRECT_BUFFER of PM4.
                let buffer = Indirect {
                    space: front.space,
                    address: packet.wide(2) & !3,
                    dwords: packet.words[4] & 0xf_ffff,
                };
                if buffer.dwords == 0 {
                    return Ok(Launch::Done);
                }
                if let Some(queue) = self.engines.queues.get_mut(front.key) {
                    queue.enter_buffer(buffer);
                }
                Ok(Launch::Buffer)
            }
            vendor::BARRIER_VALUE => self.value_barrier(front),
            other => Err(Failure::Packet(format!("unknown vendor packet {other}"))),
        }
    }

    fn value_barrier(&self, front: &Front) -> Result<Launch, Failure> {
        let packet = &front.packet;
        let (signal, value, mask) = (packet.wide(2), packet.wide(4), packet.wide(6));
        if signal == 0 {
            return Ok(Launch::Done);
        }
        let memory = &self.engines.bus.memory;
        let masked = memory.read_u64(front.space, signal.wrapping_add(signal::VALUE))? & mask;
        let (masked, value) = (masked as i64, value as i64);
        let passes = match packet.words[8] {
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

    /// The PM4 buffer of a vendor packet has run.
    pub(super) fn vendor_buffer_done(&mut self, key: QueueKey) {
        let Some(queue) = self.engines.queues.get_mut(key) else {
            return;
        };
        let Some(signal) = queue.take_buffer_signal() else {
            return;
        };
        let number = queue.fetched();
        queue.fetch_to(number.wrapping_add(1));
        self.pass(key, number);
        self.complete(key, signal, None);
    }
}

/// Items of a workgroup and the number of workgroups of a dispatch.
fn shape(packet: &Packet) -> Result<(u32, u64), Failure> {
    let (grid, workgroup) = (packet.grid(), packet.workgroup());
    if workgroup.contains(&0) || grid.contains(&0) {
        return Err(Failure::Packet(format!(
            "dispatch of grid {grid:?} in workgroups {workgroup:?}"
        )));
    }
    let items: u64 = workgroup.map(u64::from).iter().product();
    let items = u32::try_from(items).ok().filter(|&items| items <= 1024);
    let items = items.ok_or_else(|| {
        Failure::Packet(format!("workgroup of {workgroup:?} items, at most 1024"))
    })?;
    let mut workgroups = 1u64;
    for (whole, part) in grid.into_iter().zip(workgroup) {
        let along = u64::from(whole.div_ceil(part));
        workgroups = workgroups.checked_mul(along).ok_or_else(|| {
            Failure::Packet(format!(
                "dispatch of grid {grid:?} in workgroups {workgroup:?}, more than can be counted"
            ))
        })?;
    }
    Ok((items, workgroups))
}
