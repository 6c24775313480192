// SPDX-License-Identifier: GPL-2.0-only
//! Hardware queue slots and rings: loading a queue from its descriptor or the
//! slot's registers, taking it away, and what a reader of the registers sees.

mod kernel_ring;
mod live;
mod load;
mod manual;
mod sdma;

pub use kernel_ring::{map_kernel_ring, unmap_kernel_ring, KernelRing};
pub use live::read_queue_register;
pub use load::{
    descriptor_stride, load_die_settings, load_registers, load_slot, reading_die, Loading,
};
pub use sdma::{load_listed, sdma_control, ListedRing};

use crate::engines::Engines;
use crate::preempt;
use crate::registers::table::gc;
use crate::terms::{Exit, Slot};

/// The driver activated a slot through its registers.
pub fn activate(engines: &mut Engines, die: u32, slot: Slot) {
    let vmid = engines.bus.registers.queue(die, slot, gc::CP_HQD_VMID) & 0xf;
    if slot.me == 1 && vmid != 0 {
        manual::activate(engines, die, slot, vmid);
    } else {
        kernel_ring::activate(engines, die, slot);
    }
}

/// The driver wrote CP_HQD_DEQUEUE_REQUEST.
pub fn dequeue(engines: &mut Engines, die: u32, slot: Slot, exit: Exit) {
    let Some(key) = engines.queues.in_slot(die, slot) else {
        engines
            .bus
            .registers
            .set_queue(die, slot, gc::CP_HQD_ACTIVE, 0);
        return;
    };
    let queue = engines.queues.get(key);
    if queue.is_some_and(|queue| queue.role().is_user()) {
        preempt::begin_exit(engines, key, exit, 1 << die);
    } else {
        kernel_ring::drop_ring(engines, key);
    }
}
