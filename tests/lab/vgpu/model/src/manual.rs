// SPDX-License-Identifier: GPL-2.0-only
//! User queues that the driver loads by register, die by die, without the
//! scheduler firmware (`sched_policy=2`).

use crate::gpu::Gpu;
use crate::registers::table::gc;
use crate::rings::Loading;
use crate::terms::{Format, QueueKey, Role, Seat, Slot};

impl Gpu {
    /// The driver activated a slot of an address space that is not its own.
    pub fn activate_manual(&mut self, die: u32, slot: Slot, vmid: u32) {
        // The slot of another die may hold the same queue already.
        let doorbell = self
            .registers
            .queue(die, slot, gc::CP_HQD_PQ_DOORBELL_CONTROL);
        let doorbell = Some((doorbell >> 2) & 0x3ff_ffff);
        let partner = self.queues.find(|queue| {
            queue.role == Role::Manual
                && queue.seat == Seat::Compute(slot)
                && queue.vmid == vmid
                && queue.doorbell == doorbell
        });
        let key = match partner {
            Some(key) => {
                if self.queues.get(key).is_some_and(|queue| queue.is_on(die)) {
                    return;
                }
                if let Some(queue) = self.queues.get_mut(key) {
                    queue.dies |= 1 << die;
                }
                key
            }
            None => self.load_manual(die, slot, vmid),
        };
        if let Err(fault) = self.load_die_settings(key, die) {
            self.fail_queue(key, format!("descriptor: {fault}"));
            return;
        }
        self.begin_restore(key, 1 << die);
    }

    fn load_manual(&mut self, die: u32, slot: Slot, vmid: u32) -> QueueKey {
        let write_address = self
            .registers
            .queue_wide(die, slot, gc::CP_HQD_PQ_WPTR_POLL_ADDR);
        let space = self.context_space(vmid, Some(die));
        let loading = Loading {
            role: Role::Manual,
            vmid,
            pasid: self.pasid_of(vmid),
            space,
            write_address: Some(write_address).filter(|address| *address != 0),
            is_static: true,
        };
        let key = self.load_slot(die, 1 << die, slot, loading);
        let stride = self.queues.get(key).and_then(|queue| queue.mqd);
        let stride = stride.map_or(Ok(0), |own| self.descriptor_stride(own));
        match stride {
            Ok(stride) => {
                if let Some(queue) = self.queues.get_mut(key) {
                    // The registers name this die's descriptor; the queue
                    // keeps the first die's. Packets are read by that one.
                    queue.mqd = queue.mqd.map(|own| own - u64::from(die) * stride);
                    queue.stride = stride;
                    queue.home = if queue.format == Format::Aql { 0 } else { die };
                }
            }
            Err(fault) => self.fail_queue(key, format!("descriptor: {fault}")),
        }
        self.account_mapped(key);
        key
    }
}
