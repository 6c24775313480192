// SPDX-License-Identifier: GPL-2.0-only
//! What each PM4 packet does. The role of the queue decides what the
//! scheduling packets may do.

use super::{CommandProcessor, Outcome};
use crate::host::By;
use crate::layout::pm4::{self, opcode};
use crate::queue::{Failure, Indirect, Queue};
use crate::registers::table::nbio;
use crate::registers::{place, xcc_base, Place};
use crate::terms::{QueueKey, Role};
use crate::{aperture, memory::Space};

const UCONFIG_START: u32 = 0xc000;

/// The queue that carries a packet.
#[derive(Clone, Copy)]
pub(super) struct Carrier {
    pub key: QueueKey,
    pub role: Role,
    /// The die that reads its packets.
    pub home: u32,
    pub space: Space,
}

impl Carrier {
    /// It may access registers.
    pub fn is_privileged(&self) -> bool {
        !self.role.is_user()
    }

    /// Packets name graphics registers as if they were the first die's; the die
    /// that reads them is meant.
    pub fn local(&self, register: u32) -> u32 {
        match place(register) {
            Place::Graphics { xcc: 0, register } => xcc_base(self.home) + register,
            _ => register,
        }
    }
}

impl CommandProcessor<'_> {
    pub(super) fn pm4_execute(
        &mut self,
        key: QueueKey,
        opcode: u32,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        let Some(queue) = self.engines.queues.get(key) else {
            return Ok(Outcome::Done);
        };
        let carrier = Carrier {
            key,
            role: queue.role(),
            home: queue.home(),
            space: queue.space(),
        };
        let in_users_buffer = carrier.role.is_user() && queue.indirect().is_some();
        let outcome = match opcode {
            opcode::NOP
            | opcode::ACQUIRE_MEM
            | opcode::SET_CONFIG_REG
            | opcode::SET_QUEUE_REG
            | opcode::FRAME_CONTROL
            | opcode::SWITCH_BUFFER
            | opcode::PFP_SYNC_ME
            | opcode::CLEAR_STATE
            | opcode::CONTEXT_CONTROL
            | opcode::RUN_CLEANER_SHADER => Outcome::Done,
            opcode::INVALIDATE_TLBS if carrier.is_privileged() => {
                let packet = pm4::InvalidateTlbs(body);
                self.engines.bus.flush_process(packet.pasid(), carrier.home);
                Outcome::Done
            }
            opcode::SET_UCONFIG_REG if carrier.is_privileged() => {
                self.set_registers(&carrier, body)
            }
            opcode::SET_SH_REG => self.set_shader_registers(&carrier, body)?,
            opcode::EVENT_WRITE => self.event(&carrier, body),
            opcode::DISPATCH_DIRECT => self.dispatch_direct(&carrier, body)?,
            opcode::WRITE_DATA => self.write_data(&carrier, body)?,
            opcode::COPY_DATA => self.copy_data(&carrier, body)?,
            opcode::WAIT_REG_MEM => self.wait(&carrier, body)?,
            opcode::INDIRECT_BUFFER => self.enter_buffer(&carrier, body),
            opcode::PRED_EXEC if in_users_buffer => self.for_some_dies(&carrier, body),
            opcode::RELEASE_MEM => self.release_mem(&carrier, body)?,
            _ => self.scheduling_packet(&carrier, opcode, body)?,
        };
        // The scheduler logs its operations itself.
        let is_logged = matches!(
            opcode,
            opcode::RUN_LIST | opcode::UNMAP_QUEUES | opcode::QUERY_STATUS
        );
        if carrier.role == Role::Scheduler && !is_logged && matches!(outcome, Outcome::Done) {
            let scheduler = self.schedulers.of(carrier.home);
            scheduler.log_other(self.engines, opcode, body);
        }
        Ok(outcome)
    }

    fn set_registers(&mut self, carrier: &Carrier, body: &[u32]) -> Outcome {
        for (index, value) in body.iter().skip(1).enumerate() {
            let register = UCONFIG_START + (body[0] & 0xffff) + index as u32;
            aperture::write(self.engines, carrier.local(register), *value, By::Packet);
        }
        Outcome::Done
    }

    fn wait(&mut self, carrier: &Carrier, body: &[u32]) -> Result<Outcome, Failure> {
        let packet = pm4::WaitRegMem(body);
        let value = if packet.in_memory() {
            let memory = &self.engines.bus.memory;
            memory.read_u32(carrier.space, packet.address())?
        } else if !carrier.is_privileged() && !flushes_bridge(&packet) {
            return Err(Failure::Packet("register wait by a user".into()));
        } else if packet.write_first() {
            let (first, second) = (packet.register(), packet.second_register());
            aperture::write(
                self.engines,
                carrier.local(first),
                packet.reference(),
                By::Packet,
            );
            aperture::read(self.engines, carrier.local(second), By::Packet)
        } else {
            aperture::read(self.engines, carrier.local(packet.register()), By::Packet)
        };
        let wanted = packet.reference() & packet.mask();
        let holds = pm4::compare(packet.function(), value & packet.mask(), wanted);
        Ok(if holds { Outcome::Done } else { Outcome::Wait })
    }

    /// The dwords behind the packet are for the dies that it names, counted from the first
    /// of the queue's partition. One die reads for all of them.
    fn for_some_dies(&self, carrier: &Carrier, body: &[u32]) -> Outcome {
        let packet = pm4::PredExec(body);
        let queue = self.engines.queues.get(carrier.key);
        let first = queue.map_or(carrier.home, Queue::first);
        match packet.dies() & (1 << (carrier.home - first)) {
            0 => Outcome::Skip(packet.dwords()),
            _ => Outcome::Done,
        }
    }

    fn enter_buffer(&mut self, carrier: &Carrier, body: &[u32]) -> Outcome {
        let packet = pm4::IndirectBuffer(body);
        let space = match (carrier.role.is_user(), packet.vmid()) {
            (false, vmid @ 1..) => self.engines.bus.context_space(vmid, Some(carrier.home)),
            _ => carrier.space,
        };
        if let Some(queue) = self.engines.queues.get_mut(carrier.key) {
            // Within a buffer this is a chain: the rest is not read.
            queue.enter_buffer(Indirect {
                space,
                address: packet.address(),
                dwords: packet.dwords(),
            });
        }
        Outcome::Done
    }
}

/// Whether a packet asks the bridge to the host's memory to write back what it holds, and
/// waits until that is done. Users may do that, and reach no other registers by waiting.
fn flushes_bridge(packet: &pm4::WaitRegMem) -> bool {
    packet.write_first()
        && packet.register() == nbio::BIF_BX_PF0_GPU_HDP_FLUSH_REQ
        && packet.second_register() == nbio::BIF_BX_PF0_GPU_HDP_FLUSH_DONE
}
