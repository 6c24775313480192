// SPDX-License-Identifier: GPL-2.0-only
//! Giving a queue of the runlist an address space and a slot.

use super::Listed;
use crate::gpu::Gpu;
use crate::layout::descriptor as mqd;
use crate::layout::pm4::Engine;
use crate::memory::{MemoryFault, Space};
use crate::queue::{Indirect, Queue};
use crate::registers::sdma_register;
use crate::registers::table::sdma;
use crate::rings::Loading;
use crate::terms::{Format, GpuNanos, QueueKey, Role, SdmaRing, Seat, Slot};

const SDMA_DOORBELL_ENABLE: u32 = 1 << 28;

impl Gpu {
    pub(super) fn map_next(&mut self) {
        let Some(operation) = &mut self.hws.operation else {
            return;
        };
        if let Some(index) = operation.to_map.pop_front() {
            if let Err(fault) = self.map_listed(index) {
                let doorbell = u64::from(self.hws.listed[index].doorbell) * 4;
                self.note(format!(
                    "mapping the queue with doorbell {doorbell:#x}: {fault}"
                ));
            }
        }
        self.operation_progress();
    }

    fn map_listed(&mut self, index: usize) -> Result<(), MemoryFault> {
        let listed = self.hws.listed[index].clone();
        let Some(vmid) = self.vmid_for(listed.process) else {
            self.note("no address space is free for the process".to_owned());
            return Ok(());
        };
        let mapped = match listed.engine {
            Engine::Compute => self.map_compute(&listed, vmid)?,
            Engine::Sdma(engine) => self.map_sdma(&listed, vmid, engine)?,
        };
        self.hws.listed[index].key = mapped;
        Ok(())
    }

    /// The address space of a process, a free one if it has none.
    fn vmid_for(&mut self, process: usize) -> Option<u32> {
        let pasid = self.hws.processes[process].pasid;
        let known = self.hws.vmids.iter().find(|(_, owner)| **owner == pasid);
        if let Some((vmid, _)) = known {
            return Some(*vmid);
        }
        let vmid = (1..16).find(|vmid| {
            (self.hws.vmid_mask >> vmid) & 1 != 0 && !self.hws.vmids.contains_key(vmid)
        })?;
        self.hws.vmids.insert(vmid, pasid);
        self.set_pasid_of(vmid, pasid);
        Some(vmid)
    }

    /// Address spaces without a queue are free again.
    pub(super) fn release_vmids(&mut self) {
        let unused: Vec<u32> = self
            .hws
            .vmids
            .keys()
            .copied()
            .filter(|vmid| {
                self.queues
                    .find(|queue| queue.role == Role::User && queue.vmid == *vmid)
                    .is_none()
            })
            .collect();
        for vmid in unused {
            self.hws.vmids.remove(&vmid);
            self.set_pasid_of(vmid, 0);
        }
    }

    /// A free slot on the pipe with the fewest queues.
    fn free_slot(&self) -> Option<Slot> {
        let mut used = [0u32; 4];
        let mut free = Vec::new();
        for bit in (0..32).filter(|bit| (self.hws.queue_mask >> bit) & 1 != 0) {
            let slot = Slot::from_mask_bit(bit);
            if self.queues.in_slot(0, slot).is_some() {
                used[slot.pipe as usize] += 1;
            } else {
                free.push(slot);
            }
        }
        free.into_iter()
            .min_by_key(|slot| (used[slot.pipe as usize], slot.queue, slot.pipe))
    }

    fn map_compute(&mut self, listed: &Listed, vmid: u32) -> Result<Option<QueueKey>, MemoryFault> {
        let Some(slot) = self.free_slot() else {
            self.note("no slot is free for the queue".to_owned());
            return Ok(None);
        };
        let process = self.hws.processes[listed.process].clone();
        let stride = self.descriptor_stride(listed.descriptor)?;
        for die in 0..self.config.xcc_count {
            let descriptor = listed.descriptor + u64::from(die) * stride;
            self.load_registers(die, slot, descriptor, vmid)?;
        }
        let dies = (1 << self.config.xcc_count) - 1;
        let loading = Loading {
            role: Role::User,
            vmid,
            pasid: process.pasid,
            space: Space::Process { root: process.root },
            write_address: Some(listed.write_address),
            is_static: listed.is_static,
        };
        let key = self.load_slot(0, dies, slot, loading);
        if let Some(queue) = self.queues.get_mut(key) {
            queue.mqd = Some(listed.descriptor);
            queue.stride = stride;
            queue.doorbell = Some(listed.doorbell);
        }
        for die in 0..self.config.xcc_count {
            self.load_die_settings(key, die)?;
        }
        self.account_mapped(key);
        self.begin_restore(key, dies);
        Ok(Some(key))
    }

    /// How far apart the dies' descriptors of a queue are.
    pub fn descriptor_stride(&self, descriptor: u64) -> Result<u64, MemoryFault> {
        if self.config.xcc_count == 1 {
            return Ok(0);
        }
        let at = descriptor + mqd::STRIDE * 4;
        Ok(u64::from(self.memory.read_u32(Space::Kernel, at)?))
    }

    /// What a die's descriptor says beside the slot's registers.
    pub fn load_die_settings(&mut self, key: QueueKey, die: u32) -> Result<(), MemoryFault> {
        let Some(queue) = self.queues.get(key) else {
            return Ok(());
        };
        let descriptor = queue.mqd.unwrap_or(0) + u64::from(die) * queue.stride;
        let read = |dword: u64| self.memory.read_u32(Space::Kernel, descriptor + dword * 4);
        let mut masks = [0; 4];
        for (mask, dword) in masks.iter_mut().zip(mqd::STATIC_THREAD_MGMT) {
            *mask = read(dword)?;
        }
        let logical = read(mqd::CURRENT_LOGIC_XCC)?;
        let chunk = read(mqd::TG_CHUNK_SIZE)?;
        let buffer = Indirect {
            space: queue.space,
            address: u64::from(read(mqd::IB_BASE)?) | (u64::from(read(mqd::IB_BASE + 1)?) << 32),
            dwords: read(mqd::IB_RPTR)?,
        };
        if let Some(queue) = self.queues.get_mut(key) {
            let die_index = die as usize;
            queue.cu_masks[die_index] = masks;
            if queue.format == Format::Aql {
                queue.logical_dies[die_index] = logical;
                queue.chunk = u64::from(chunk.max(1));
            } else if die == queue.home && buffer.dwords > 0 {
                queue.indirect = Some(buffer);
            }
        }
        Ok(())
    }

    fn map_sdma(
        &mut self,
        listed: &Listed,
        vmid: u32,
        engine: u32,
    ) -> Result<Option<QueueKey>, MemoryFault> {
        let ring = (0..sdma::RLC_COUNT)
            .map(|index| SdmaRing {
                engine,
                registers: sdma::RLC0 + index * sdma::RING_SPAN,
            })
            .find(|ring| self.queues.on_ring(*ring).is_none());
        let Some(ring) = ring.filter(|_| engine < self.config.sdma_count) else {
            self.note(format!("no ring is free on SDMA engine {engine}"));
            return Ok(None);
        };
        let process = self.hws.processes[listed.process].clone();
        let space = Space::Process { root: process.root };
        let descriptor = listed.descriptor;
        let read = |dword: u64| self.memory.read_u32(Space::Kernel, descriptor + dword * 4);
        let wide = |low: u64, high: u64| -> Result<u64, MemoryFault> {
            Ok(u64::from(read(low)?) | (u64::from(read(high)?) << 32))
        };
        let control = read(mqd::sdma::RB_CNTL)?;
        let pointer = wide(mqd::sdma::RB_RPTR, mqd::sdma::RB_RPTR + 1)?;
        let base = wide(mqd::sdma::RB_BASE, mqd::sdma::RB_BASE + 1)?;
        let report = wide(mqd::sdma::RB_RPTR_ADDR_LO, mqd::sdma::RB_RPTR_ADDR_HI)?;
        let activity = wide(mqd::sdma::UTILIZATION, mqd::sdma::UTILIZATION + 1)?;
        let doorbell_offset = read(mqd::sdma::DOORBELL_OFFSET)?;
        let write = self
            .memory
            .read_u64(space, listed.write_address)
            .unwrap_or(pointer);
        for (register, value) in [
            (sdma::RB_CNTL, control | 1),
            (sdma::RB_BASE, base as u32),
            (sdma::RB_BASE_HI, (base >> 32) as u32),
            (sdma::DOORBELL, SDMA_DOORBELL_ENABLE),
            (sdma::DOORBELL_OFFSET, doorbell_offset),
        ] {
            self.registers.set(sdma_register(ring, register), value);
        }
        let key = self.queues.insert(Queue {
            role: Role::User,
            format: Format::Sdma,
            seat: Seat::Sdma(ring),
            dies: 1,
            home: 0,
            doorbell: Some(listed.doorbell),
            space,
            vmid,
            pasid: process.pasid,
            mqd: Some(descriptor),
            stride: 0,
            ring: base << 8,
            ring_bytes: 4 << ((control >> 1) & 0x1f),
            fetched: pointer,
            read: pointer,
            write,
            report_address: report & !3,
            fetching: false,
            indirect: None,
            indirect_signal: None,
            leaving: None,
            restoring: 0,
            fault: None,
            pipe_priority: 0,
            is_static: listed.is_static,
            cu_masks: Vec::new(),
            logical_dies: Vec::new(),
            chunk: 1,
            dispatches: Vec::new(),
            account: 0,
            busy_until: GpuNanos::default(),
            busy_nanos: activity * 10,
        });
        self.account_mapped(key);
        self.kick(key);
        Ok(Some(key))
    }

    /// A free SDMA ring has no doorbell: the driver takes one for a hang.
    pub fn clear_sdma_doorbell(&mut self, ring: SdmaRing) {
        self.registers.set(sdma_register(ring, sdma::DOORBELL), 0);
        let control = self.registers.get(sdma_register(ring, sdma::RB_CNTL));
        self.registers
            .set(sdma_register(ring, sdma::RB_CNTL), control & !1);
    }
}
