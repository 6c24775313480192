// SPDX-License-Identifier: GPL-2.0-only
//! Giving a queue of the runlist an address space and a slot.

use super::{Hws, Listed};
use crate::engines::Engines;
use crate::layout::pm4::Engine;
use crate::memory::{MemoryFault, Space, Via};
use crate::preempt;
use crate::registers::table::sdma;
use crate::slot::{self, ListedRing, Loading};
use crate::terms::{QueueKey, Role, SdmaRing, Slot};

impl Hws {
    pub(super) fn map_next(&mut self, engines: &mut Engines) {
        let Some(operation) = &mut self.operation else {
            return;
        };
        if let Some(index) = operation.next_to_map() {
            if let Err(fault) = self.map_listed(engines, index) {
                let doorbell = u64::from(self.listed[index].doorbell) * 4;
                engines.bus.note(format!(
                    "mapping the queue with doorbell {doorbell:#x}: {fault}"
                ));
            }
        }
        self.operation_progress(engines);
    }

    fn map_listed(&mut self, engines: &mut Engines, index: usize) -> Result<(), MemoryFault> {
        let listed = self.listed[index].clone();
        let Some(vmid) = self.vmid_for(engines, listed.process) else {
            engines
                .bus
                .note("no address space is free for the process".to_owned());
            return Ok(());
        };
        let mapped = match listed.engine {
            Engine::Compute => self.map_compute(engines, &listed, vmid)?,
            Engine::Sdma(engine) => self.map_sdma(engines, &listed, vmid, engine)?,
        };
        self.listed[index].key = mapped;
        Ok(())
    }

    /// The address space of a process, a free one if it has none.
    fn vmid_for(&mut self, engines: &mut Engines, process: usize) -> Option<u32> {
        let pasid = self.processes[process].pasid;
        let known = self.vmids.iter().find(|(_, owner)| **owner == pasid);
        if let Some((vmid, _)) = known {
            return Some(*vmid);
        }
        let vmid = (1..16)
            .find(|vmid| (self.vmid_mask >> vmid) & 1 != 0 && !self.vmids.contains_key(vmid))?;
        let root = self.processes[process].root;
        engines.bus.memory.give_table(root, pasid);
        self.vmids.insert(vmid, pasid);
        engines.bus.set_pasid_of(vmid, pasid);
        Some(vmid)
    }

    /// Address spaces without a queue are free again.
    pub(super) fn release_vmids(&mut self, engines: &mut Engines) {
        let unused: Vec<u32> = self
            .vmids
            .keys()
            .copied()
            .filter(|vmid| {
                engines
                    .queues
                    .find(|queue| queue.is_mapped_by(self.first) && queue.vmid() == *vmid)
                    .is_none()
            })
            .collect();
        for vmid in unused {
            if let Some(pasid) = self.vmids.remove(&vmid) {
                engines.bus.memory.take_tables(pasid);
            }
            engines.bus.set_pasid_of(vmid, 0);
        }
    }

    /// A free slot on the pipe with the fewest queues.
    fn free_slot(&self, engines: &Engines) -> Option<Slot> {
        let mut used = [0u32; 4];
        let mut free = Vec::new();
        for bit in (0..32).filter(|bit| (self.queue_mask >> bit) & 1 != 0) {
            let slot = Slot::from_mask_bit(bit);
            if engines.queues.in_slot(self.first, slot).is_some() {
                used[slot.pipe as usize] += 1;
            } else {
                free.push(slot);
            }
        }
        free.into_iter()
            .min_by_key(|slot| (used[slot.pipe as usize], slot.queue, slot.pipe))
    }

    fn map_compute(
        &self,
        engines: &mut Engines,
        listed: &Listed,
        vmid: u32,
    ) -> Result<Option<QueueKey>, MemoryFault> {
        let Some(place) = self.free_slot(engines) else {
            engines.bus.note("no slot is free for the queue".to_owned());
            return Ok(None);
        };
        let process = &self.processes[listed.process];
        let partition = engines.bus.partition_of(self.first);
        let stride = slot::descriptor_stride(&engines.bus, listed.descriptor)?;
        for (position, die) in (0..).zip(partition.dies()) {
            let descriptor = listed.descriptor.wrapping_add(position * stride);
            slot::load_registers(&mut engines.bus, die, place, descriptor, vmid)?;
        }
        let home = slot::reading_die(&engines.bus, listed.descriptor, partition)?;
        let loading = Loading {
            role: Role::User,
            vmid,
            pasid: process.pasid,
            space: Space::Process {
                root: process.root,
                via: Via::Die(home),
            },
            write_address: Some(listed.write_address),
            doorbell: Some(listed.doorbell),
            descriptor: Some((listed.descriptor, stride)),
            is_static: listed.is_static,
            settings: process.settings,
        };
        let key = slot::load_slot(engines, home, partition.mask(), place, loading);
        engines.queues.account_mapped(&mut engines.bus, key);
        for die in partition.dies() {
            slot::load_die_settings(engines, key, die)?;
        }
        preempt::begin_restore(engines, key, partition.mask());
        Ok(Some(key))
    }

    fn map_sdma(
        &self,
        engines: &mut Engines,
        listed: &Listed,
        vmid: u32,
        engine: u32,
    ) -> Result<Option<QueueKey>, MemoryFault> {
        let Some(engine) = self.copy_engines(engines).nth(engine as usize) else {
            let text = format!("there is no SDMA engine {engine}");
            engines.bus.note(text);
            return Ok(None);
        };
        let ring = (0..sdma::RLC_COUNT)
            .map(|index| SdmaRing {
                engine,
                registers: sdma::RLC0 + index * sdma::RING_SPAN,
            })
            .find(|ring| engines.queues.on_ring(*ring).is_none());
        let Some(ring) = ring else {
            engines
                .bus
                .note(format!("no ring is free on SDMA engine {engine}"));
            return Ok(None);
        };
        let process = &self.processes[listed.process];
        let listed = ListedRing {
            ring,
            die: self.first,
            space: Space::Process {
                root: process.root,
                via: Via::MemoryHub,
            },
            vmid,
            pasid: process.pasid,
            descriptor: listed.descriptor,
            write_address: listed.write_address,
            doorbell: listed.doorbell,
            is_static: listed.is_static,
            settings: process.settings,
        };
        slot::load_listed(engines, &listed).map(Some)
    }
}
