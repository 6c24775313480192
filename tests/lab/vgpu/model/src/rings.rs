// SPDX-License-Identifier: GPL-2.0-only
//! Hardware queue slots: loading a queue from its descriptor or the slot's
//! registers, what a reader of the registers sees, and doorbells.

use crate::gpu::Gpu;
use crate::layout::descriptor as mqd;
use crate::memory::{MemoryFault, Space};
use crate::queue::Queue;
use crate::registers::sdma_register;
use crate::registers::table::{gc, sdma};
use crate::terms::{Exit, Format, GpuNanos, QueueKey, Role, SdmaRing, Seat, Slot};

const DOORBELL_ENABLE: u32 = 1 << 30;
const QUEUE_IDLE: u32 = 1 << 30;

/// Registers of one queue slot.
const SLOT_REGISTERS: usize = crate::registers::QUEUE_REGISTERS;

/// Position of a descriptor's dword in the slot's registers.
const fn register(dword: u64) -> u32 {
    gc::CP_MQD_BASE_ADDR + (dword - mqd::REGISTERS) as u32
}

/// Where a queue comes from, for [`Gpu::load_slot`].
pub struct Loading {
    pub role: Role,
    pub vmid: u32,
    pub pasid: u32,
    pub space: Space,
    /// Where to read the write pointer, unless the registers say it.
    pub write_address: Option<u64>,
    pub is_static: bool,
}

impl Gpu {
    /// Copies a descriptor into the registers of a slot of one die.
    pub fn load_registers(
        &mut self,
        die: u32,
        slot: Slot,
        descriptor: u64,
        vmid: u32,
    ) -> Result<(), MemoryFault> {
        let first = descriptor + mqd::REGISTERS * 4;
        let mut values: [u32; SLOT_REGISTERS] = self.memory.read_dwords(Space::Kernel, first)?;
        let mut set = |register: u32, value| {
            values[(register - gc::CP_MQD_BASE_ADDR) as usize] = value;
        };
        set(gc::CP_HQD_ACTIVE, 1);
        set(gc::CP_HQD_VMID, vmid);
        self.registers.load_queue(die, slot, &values);
        let control = self
            .registers
            .queue(die, slot, gc::CP_HQD_PQ_DOORBELL_CONTROL);
        self.registers.set_queue(
            die,
            slot,
            gc::CP_HQD_PQ_DOORBELL_CONTROL,
            control | DOORBELL_ENABLE,
        );
        Ok(())
    }

    /// Makes a queue of the registers of a slot on some dies.
    pub fn load_slot(&mut self, home: u32, dies: u32, slot: Slot, loading: Loading) -> QueueKey {
        let get = |register| self.registers.queue(home, slot, register);
        let wide = |register| self.registers.queue_wide(home, slot, register);
        let control = get(gc::CP_HQD_PQ_CONTROL);
        let is_aql = get(register(181)) & 1 != 0;
        let format = if is_aql { Format::Aql } else { Format::Pm4 };
        let doorbell_control = get(gc::CP_HQD_PQ_DOORBELL_CONTROL);
        let mqd = wide(gc::CP_MQD_BASE_ADDR);
        let read_low = get(gc::CP_HQD_PQ_RPTR);
        let mut write = wide(gc::CP_HQD_PQ_WPTR_LO);
        let mut read = full_pointer(read_low, write);
        if is_aql {
            read >>= 4;
            write >>= 4;
        }
        let write_address = loading.write_address.unwrap_or(0);
        if write_address != 0 {
            // A pointer that cannot be read shows as an empty ring; the
            // doorbell carries the next value.
            write = self
                .memory
                .read_u64(loading.space, write_address)
                .unwrap_or(read);
        }
        let die_count = self.config.xcc_count as usize;
        let queue = Queue {
            role: loading.role,
            format,
            seat: Seat::Compute(slot),
            dies,
            home,
            doorbell: (doorbell_control & DOORBELL_ENABLE != 0)
                .then_some((doorbell_control >> 2) & 0x3ff_ffff),
            space: loading.space,
            vmid: loading.vmid,
            pasid: loading.pasid,
            mqd: Some(mqd),
            stride: 0,
            ring: wide(gc::CP_HQD_PQ_BASE) << 8,
            ring_bytes: 8 << (control & 0x3f).min(40),
            fetched: read,
            read,
            write,
            report_address: wide(register(139)) & !3,
            fetching: false,
            indirect: None,
            indirect_signal: None,
            leaving: None,
            restoring: 0,
            fault: None,
            pipe_priority: get(register(mqd::PIPE_PRIORITY)) & 3,
            is_static: loading.is_static,
            cu_masks: vec![[u32::MAX; 4]; die_count],
            logical_dies: (0..self.config.xcc_count).collect(),
            chunk: 1,
            dispatches: Vec::new(),
            account: 0,
            busy_until: GpuNanos::default(),
            busy_nanos: 0,
        };
        self.queues.insert(queue)
    }

    /// The driver activated a slot through its registers.
    pub fn activate_slot(&mut self, die: u32, slot: Slot) {
        let vmid = self.registers.queue(die, slot, gc::CP_HQD_VMID) & 0xf;
        if slot.me == 1 && vmid != 0 {
            self.activate_manual(die, slot, vmid);
            return;
        }
        if let Some(old) = self.queues.in_slot(die, slot) {
            self.queues.remove(old);
        }
        let loading = Loading {
            role: Role::Privileged,
            vmid: 0,
            pasid: 0,
            space: Space::Kernel,
            write_address: None,
            is_static: false,
        };
        let key = self.load_slot(die, 1 << die, slot, loading);
        self.kick(key);
    }

    /// Maps one of the driver's own rings on a die (MAP_QUEUES on the
    /// privileged ring).
    pub fn map_kernel_ring(
        &mut self,
        die: u32,
        slot: Slot,
        role: Role,
        descriptor: u64,
        write_address: u64,
        doorbell: u32,
    ) -> Result<(), MemoryFault> {
        if let Some(old) = self.queues.in_slot(die, slot) {
            self.queues.remove(old);
        }
        self.load_registers(die, slot, descriptor, 0)?;
        let loading = Loading {
            role,
            vmid: 0,
            pasid: 0,
            space: Space::Kernel,
            write_address: Some(write_address).filter(|address| *address != 0),
            is_static: true,
        };
        let key = self.load_slot(die, 1 << die, slot, loading);
        if let Some(queue) = self.queues.get_mut(key) {
            queue.doorbell = Some(doorbell);
            queue.mqd = Some(descriptor);
        }
        self.kick(key);
        Ok(())
    }

    /// Takes one of the driver's own rings off its die.
    pub fn unmap_kernel_ring(&mut self, die: u32, doorbell: u32) {
        let key = self.queues.find(|queue| {
            !queue.role.is_user() && queue.is_on(die) && queue.doorbell == Some(doorbell)
        });
        if let Some(key) = key {
            self.drop_kernel_ring(key);
        }
    }

    fn drop_kernel_ring(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.remove(key) else {
            return;
        };
        if let Seat::Compute(slot) = queue.seat {
            for die in queue.dies() {
                // The driver takes the pointer it finds here for the next
                // ring in this slot, which starts at 0.
                self.registers.set_queue(die, slot, gc::CP_HQD_ACTIVE, 0);
                self.registers.set_queue(die, slot, gc::CP_HQD_PQ_RPTR, 0);
            }
            if let (Some(descriptor), true) = (queue.mqd, queue.role != Role::Privileged) {
                let at = |dword| descriptor + dword * 4;
                // The descriptor was readable when the ring was mapped.
                let _ = self.memory.write_u32(
                    Space::Kernel,
                    at(mqd::PQ_RPTR),
                    queue.read_dwords() as u32,
                );
                let _ =
                    self.memory
                        .write_u64(Space::Kernel, at(mqd::PQ_WPTR), queue.write_dwords());
            }
        }
    }

    /// The driver wrote CP_HQD_DEQUEUE_REQUEST.
    pub fn dequeue_slot(&mut self, die: u32, slot: Slot, exit: Exit) {
        match self.queues.in_slot(die, slot) {
            None => self.registers.set_queue(die, slot, gc::CP_HQD_ACTIVE, 0),
            Some(key)
                if self
                    .queues
                    .get(key)
                    .is_some_and(|queue| queue.role.is_user()) =>
            {
                self.begin_exit(key, exit, 1 << die);
            }
            Some(key) => self.drop_kernel_ring(key),
        }
    }

    /// A queue register as it is at this moment.
    pub fn read_queue_register(&mut self, die: u32, slot: Slot, register: u32) -> u32 {
        let stored = self.registers.queue(die, slot, register);
        let Some(queue) = self
            .queues
            .in_slot(die, slot)
            .and_then(|key| self.queues.get(key))
        else {
            return stored;
        };
        match register {
            gc::CP_HQD_PQ_RPTR => queue.read_dwords() as u32,
            gc::CP_HQD_PQ_WPTR_LO => queue.write_dwords() as u32,
            gc::CP_HQD_PQ_WPTR_HI => (queue.write_dwords() >> 32) as u32,
            gc::CP_HQD_PQ_CONTROL => {
                let empty = u32::from(queue.read == queue.write) << 15;
                stored & !(1 << 15) | empty
            }
            gc::CP_HQD_HQ_STATUS0 => {
                let leaving = queue
                    .leaving
                    .as_ref()
                    .is_some_and(|l| (l.dies >> die) & 1 != 0);
                let idle = queue.read == queue.write && queue.dispatches.is_empty();
                stored & !(QUEUE_IDLE | 3) | u32::from(leaving) | if idle { QUEUE_IDLE } else { 0 }
            }
            _ => stored,
        }
    }

    // Doorbells.

    pub fn ring_doorbell(&mut self, index: u32, value: u64) {
        for key in self.queues.by_doorbell(index) {
            let Some(queue) = self.queues.get_mut(key) else {
                continue;
            };
            match queue.format {
                // The value names the last packet made ready; several
                // producers may ring out of order.
                Format::Aql => queue.write = queue.write.max(value.wrapping_add(1)),
                Format::Pm4 | Format::Sdma => queue.write = value,
            }
            self.kick(key);
        }
    }

    // SDMA rings.

    /// A register of an SDMA engine as it is at this moment.
    pub fn read_sdma(&mut self, engine: u32, offset: u32, address: u32) -> u32 {
        let stored = self.registers.get(address);
        let Some((ring, register)) = crate::registers::sdma_ring(engine, offset) else {
            return stored;
        };
        let queue = self
            .queues
            .on_ring(ring)
            .and_then(|key| self.queues.get(key));
        match (register, queue) {
            (sdma::CONTEXT_STATUS, queue) => {
                let busy = queue.is_some_and(|q| q.busy_until > self.now || q.read != q.write);
                let selected = u32::from(queue.is_some());
                stored & !((1 << 2) | 1) | (u32::from(!busy) << 2) | selected
            }
            (sdma::RB_RPTR, Some(queue)) => queue.read as u32,
            (sdma::RB_RPTR_HI, Some(queue)) => (queue.read >> 32) as u32,
            (sdma::RB_WPTR, Some(queue)) => queue.write as u32,
            (sdma::RB_WPTR_HI, Some(queue)) => (queue.write >> 32) as u32,
            (sdma::UTILIZATION_LO, Some(queue)) => queue.busy_ticks() as u32,
            (sdma::UTILIZATION_HI, Some(queue)) => (queue.busy_ticks() >> 32) as u32,
            _ => stored,
        }
    }

    /// The driver enabled or disabled an SDMA ring.
    pub fn sdma_control(&mut self, ring: SdmaRing) {
        let get = |register| self.registers.get(sdma_register(ring, register));
        let control = get(sdma::RB_CNTL);
        let old = self.queues.on_ring(ring);
        let enabled = control & 1 != 0;
        match (old, enabled) {
            (Some(key), false) => {
                if let Some(queue) = self.queues.get(key) {
                    let (read, write) = (queue.read, queue.write);
                    self.store_sdma_pointers(ring, read, write);
                    self.account_unmapped(key);
                }
                self.queues.remove(key);
            }
            (None, true) => self.sdma_enable(ring, control),
            _ => {}
        }
    }

    pub fn store_sdma_pointers(&mut self, ring: SdmaRing, read: u64, write: u64) {
        for (register, value) in [
            (sdma::RB_RPTR, read as u32),
            (sdma::RB_RPTR_HI, (read >> 32) as u32),
            (sdma::RB_WPTR, write as u32),
            (sdma::RB_WPTR_HI, (write >> 32) as u32),
        ] {
            self.registers.set(sdma_register(ring, register), value);
        }
    }

    fn sdma_enable(&mut self, ring: SdmaRing, control: u32) {
        let get = |register| self.registers.get(sdma_register(ring, register));
        let wide = |low, high| u64::from(get(low)) | (u64::from(get(high)) << 32);
        let doorbell = get(sdma::DOORBELL);
        let offset = get(sdma::DOORBELL_OFFSET);
        let vmid = (control >> 24) & 0xf;
        let is_user = ring.registers >= sdma::RLC0;
        let read = wide(sdma::RB_RPTR, sdma::RB_RPTR_HI);
        let write = wide(sdma::RB_WPTR, sdma::RB_WPTR_HI);
        let queue = Queue {
            role: if is_user { Role::Manual } else { Role::Kernel },
            format: Format::Sdma,
            seat: Seat::Sdma(ring),
            dies: 1,
            home: 0,
            doorbell: ((doorbell >> 28) & 1 != 0).then_some((offset >> 2) & 0x3ff_ffff),
            space: self.context_space(if is_user { vmid } else { 0 }, None),
            vmid: if is_user { vmid } else { 0 },
            pasid: if is_user { self.pasid_of(vmid) } else { 0 },
            mqd: None,
            stride: 0,
            ring: wide(sdma::RB_BASE, sdma::RB_BASE_HI) << 8,
            ring_bytes: 4 << ((control >> 1) & 0x1f),
            fetched: read,
            read,
            write,
            report_address: wide(sdma::RB_RPTR_ADDR_LO, sdma::RB_RPTR_ADDR_HI) & !3,
            fetching: false,
            indirect: None,
            indirect_signal: None,
            leaving: None,
            restoring: 0,
            fault: None,
            pipe_priority: 0,
            is_static: true,
            cu_masks: Vec::new(),
            logical_dies: Vec::new(),
            chunk: 1,
            dispatches: Vec::new(),
            account: 0,
            busy_until: GpuNanos::default(),
            busy_nanos: 0,
        };
        let key = self.queues.insert(queue);
        if is_user {
            self.account_mapped(key);
        }
        self.kick(key);
    }

    /// Stores a read pointer where the queue's owner looks for it.
    pub fn report_read_pointer(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        if queue.report_address == 0 {
            return;
        }
        let (space, address) = (queue.space, queue.report_address);
        let result = match queue.format {
            Format::Aql | Format::Sdma => self.memory.write_u64(space, address, queue.read),
            Format::Pm4 => {
                let index = queue.read % (queue.ring_bytes / 4).max(1);
                self.memory.write_u32(space, address, index as u32)
            }
        };
        if let Err(fault) = result {
            self.memory_fault(key, fault, "read pointer report");
        }
    }
}

/// A 64-bit read pointer from its low half and the write pointer, which is
/// never behind it and less than 2^32 ahead.
fn full_pointer(low: u32, write: u64) -> u64 {
    let behind = (write as u32).wrapping_sub(low);
    write.saturating_sub(u64::from(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_pointer_gets_its_high_half_from_the_write_pointer() {
        assert_eq!(full_pointer(0, 0), 0);
        assert_eq!(full_pointer(0x10, 0x30), 0x10);
        assert_eq!(full_pointer(0xffff_fff0, 0x1_0000_0010), 0xffff_fff0);
        assert_eq!(full_pointer(0x20, 0x7_0000_0020), 0x7_0000_0020);
        assert_eq!(full_pointer(0x40, 0), 0, "a stale one of an empty ring");
    }
}
