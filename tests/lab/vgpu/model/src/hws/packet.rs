// SPDX-License-Identifier: GPL-2.0-only
//! Packets of the scheduler's ring.

use super::{Hws, Taken};
use crate::clock::SchedulerStep;
use crate::engines::Engines;
use crate::layout::pm4::{opcode, QueryStatus, RunList, SetResources, UnmapQueues};
use crate::memory::Space;
use crate::terms::{Fence, HiqAction, Moment, QueueKey};

impl Hws {
    pub fn set_resources(&mut self, packet: &SetResources<'_>) {
        self.vmid_mask = packet.vmid_mask();
        self.queue_mask = packet.queue_mask();
        self.unmap_latency = packet.unmap_latency();
    }

    /// Logs a packet of the scheduler's ring that needs no operation.
    pub fn log_other(&self, engines: &mut Engines, opcode: u32, body: &[u32]) {
        let action = if opcode == opcode::SET_RESOURCES {
            let packet = SetResources(body);
            HiqAction::SetResources {
                vmid_mask: packet.vmid_mask(),
                queue_mask: packet.queue_mask(),
                unmap_latency_units: packet.unmap_latency(),
            }
        } else if opcode == opcode::NOP {
            return;
        } else {
            HiqAction::Other { opcode }
        };
        let now = engines.bus.now();
        let record = engines.bus.accounts.hiq_fetched(now, action);
        engines.bus.accounts.hiq_completed(now, record);
    }

    /// RUN_LIST, UNMAP_QUEUES or QUERY_STATUS on the scheduler's ring.
    pub fn take(
        &mut self,
        engines: &mut Engines,
        ring: QueueKey,
        opcode: u32,
        body: &[u32],
    ) -> Taken {
        self.ring = Some(ring);
        if self.operation.is_some() {
            return Taken::Busy;
        }
        match opcode {
            opcode::RUN_LIST => self.run_list(engines, &RunList(body)),
            opcode::UNMAP_QUEUES => self.unmap(engines, &UnmapQueues(body)),
            _ => {
                self.query(engines, &QueryStatus(body));
                Taken::Done
            }
        }
    }

    fn query(&mut self, engines: &mut Engines, packet: &QueryStatus<'_>) {
        let (address, value) = (packet.address(), packet.value());
        let now = engines.bus.now();
        let action = HiqAction::QueryStatus { address, value };
        let record = engines.bus.accounts.hiq_fetched(now, action);
        let fence = SchedulerStep::Fence {
            record,
            address,
            value,
        };
        let faults = &engines.bus.faults;
        match faults.fence {
            _ if faults.held_fences.contains(&self.first) => self.held.push(fence),
            Fence::OnTime => self.step(engines, fence),
            Fence::Late(nanos) => self.after(engines, nanos, fence),
            Fence::Never => engines
                .bus
                .note("the scheduler's fence is withheld".to_owned()),
        }
    }

    /// Answers what it was asked while its answers were held.
    pub fn answer(&mut self, engines: &mut Engines) {
        if !engines.bus.faults.held_fences.contains(&self.first) {
            for fence in std::mem::take(&mut self.held) {
                self.step(engines, fence);
            }
        }
    }

    /// Something that the scheduler put off is due.
    pub fn step(&mut self, engines: &mut Engines, step: SchedulerStep) {
        if engines.bus.faults.hung {
            return;
        }
        match step {
            SchedulerStep::Fence {
                record,
                address,
                value,
            } => {
                let bus = &mut engines.bus;
                if let Err(fault) = bus.memory.write_u64(Space::Kernel, address, value) {
                    bus.note(format!("the scheduler's fence: {fault}"));
                }
                let now = bus.now();
                bus.accounts.hiq_completed(now, record);
                bus.reach(Moment::Unmapped, record);
            }
            SchedulerStep::MapNext { serial } if self.is_running(serial) => {
                self.map_next(engines);
            }
            SchedulerStep::Deadline { serial } if self.is_running(serial) => {
                self.give_up_waiting(engines);
            }
            SchedulerStep::Slice { serial } if serial == self.slice_serial => {
                self.slice_look(engines);
            }
            _ => {}
        }
    }
}
