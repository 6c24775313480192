// SPDX-License-Identifier: GPL-2.0-only
//! Packets that map and unmap queues: on the privileged ring the driver's own
//! rings, on the scheduler's ring those of users.

use super::execute::Carrier;
use super::{CommandProcessor, Outcome};
use crate::hws::Taken;
use crate::layout::pm4::{self, opcode, unmap_action};
use crate::queue::Failure;
use crate::slot;
use crate::terms::{Role, Slot};

impl CommandProcessor<'_> {
    pub(super) fn scheduling_packet(
        &mut self,
        carrier: &Carrier,
        opcode: u32,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        match (opcode, carrier.role) {
            (opcode::SET_RESOURCES, role) if !role.is_user() => {
                let packet = pm4::SetResources(body);
                if packet.is_scheduler() && role == Role::Scheduler {
                    self.schedulers.of(carrier.home).set_resources(&packet);
                }
            }
            (opcode::MAP_QUEUES, Role::Privileged) => self.map_driver_ring(carrier, body)?,
            (opcode::UNMAP_QUEUES, Role::Privileged) => {
                let packet = pm4::UnmapQueues(body);
                if packet.action() != unmap_action::PREEMPT_NO_UNMAP {
                    for doorbell in packet.doorbells() {
                        slot::unmap_kernel_ring(self.engines, carrier.home, doorbell);
                    }
                }
            }
            (opcode::QUERY_STATUS, Role::Privileged) => {
                let packet = pm4::QueryStatus(body);
                let memory = &mut self.engines.bus.memory;
                memory.write_u64(carrier.space, packet.address(), packet.value())?;
            }
            (opcode::RUN_LIST | opcode::UNMAP_QUEUES | opcode::QUERY_STATUS, Role::Scheduler) => {
                let scheduler = self.schedulers.of(carrier.home);
                let taken = scheduler.take(self.engines, carrier.key, opcode, body);
                return Ok(match taken {
                    Taken::Done => Outcome::Done,
                    Taken::Started => Outcome::Started,
                    Taken::Busy => Outcome::Held,
                });
            }
            _ => return Err(Failure::Packet(format!("unknown packet {opcode:#x}"))),
        }
        Ok(Outcome::Done)
    }

    /// MAP_QUEUES on the privileged ring.
    fn map_driver_ring(&mut self, carrier: &Carrier, body: &[u32]) -> Result<(), Failure> {
        let packet = pm4::MapQueues(body);
        let place = Slot {
            me: if packet.second_me() { 2 } else { 1 },
            pipe: packet.pipe(),
            queue: packet.queue(),
        };
        let role = match packet.engine() {
            0 => Role::Kernel,
            1 => Role::Scheduler,
            other => return Err(Failure::Packet(format!("map on unknown engine {other}"))),
        };
        let ring = slot::KernelRing {
            role,
            descriptor: packet.mqd(),
            write_address: packet.write_address(),
            doorbell: packet.doorbell(),
        };
        slot::map_kernel_ring(self.engines, carrier.home, place, &ring)?;
        Ok(())
    }
}
