// SPDX-License-Identifier: GPL-2.0-only
//! A queue in a ring of an SDMA engine: what the ring's registers show, and what
//! the queue leaves there and in its descriptor.

use super::{Queue, Queues};
use crate::bus::Buses;
use crate::layout::descriptor as mqd;
use crate::memory::Space;
use crate::registers::table::sdma;
use crate::registers::{sdma_register, sdma_ring};
use crate::terms::SdmaRing;

impl Queues {
    /// The current value of an SDMA engine's register.
    pub fn read_sdma(&self, bus: &Buses, engine: u32, offset: u32, address: u32) -> u32 {
        let stored = bus.registers.get(address);
        let Some((ring, register)) = sdma_ring(engine, offset) else {
            return stored;
        };
        let queue = self.on_ring(ring).and_then(|key| self.get(key));
        match (register, queue) {
            (sdma::CONTEXT_STATUS, queue) => {
                let busy = queue.is_some_and(|q| q.busy_until > bus.now() || q.read != q.write);
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
}

impl Queue {
    /// Stores the pointers in the ring's registers.
    pub fn store_sdma_pointers(&self, bus: &mut Buses, ring: SdmaRing) {
        for (register, value) in [
            (sdma::RB_RPTR, self.read as u32),
            (sdma::RB_RPTR_HI, (self.read >> 32) as u32),
            (sdma::RB_WPTR, self.write as u32),
            (sdma::RB_WPTR_HI, (self.write >> 32) as u32),
        ] {
            bus.registers.set(sdma_register(ring, register), value);
        }
    }

    /// Leaves the ring; registers and descriptor keep what it needs to continue.
    pub fn leave_sdma_ring(&self, bus: &mut Buses, ring: SdmaRing) {
        self.store_sdma_pointers(bus, ring);
        free_sdma_ring(bus, ring);
        let Some(descriptor) = self.descriptor else {
            return;
        };
        for (dword, value) in [
            (mqd::sdma::RB_RPTR, self.read),
            (mqd::sdma::UTILIZATION, self.busy_ticks()),
        ] {
            let at = descriptor.wrapping_add(dword * 4);
            if let Err(fault) = bus.memory.write_u64(Space::Kernel, at, value) {
                bus.note(format!("descriptor of an SDMA queue: {fault}"));
            }
        }
    }
}

/// Clears the doorbell of a free ring, which the driver would take for a hang.
fn free_sdma_ring(bus: &mut Buses, ring: SdmaRing) {
    let control = sdma_register(ring, sdma::RB_CNTL);
    let enabled = bus.registers.get(control);
    bus.registers.set(sdma_register(ring, sdma::DOORBELL), 0);
    bus.registers.set(control, enabled & !1);
}
