// SPDX-License-Identifier: GPL-2.0-only
//! What a reader of a slot's registers sees.

use crate::engines::Engines;
use crate::registers::table::gc;
use crate::terms::Slot;

const QUEUE_IDLE: u32 = 1 << 30;

/// The current value of a queue register.
pub fn read_queue_register(engines: &Engines, die: u32, slot: Slot, register: u32) -> u32 {
    let stored = engines.bus.registers.queue(die, slot, register);
    let Some(key) = engines.queues.in_slot(die, slot) else {
        return stored;
    };
    let Some(queue) = engines.queues.get(key) else {
        return stored;
    };
    let is_empty = queue.read() == queue.write();
    match register {
        gc::CP_HQD_PQ_RPTR => queue.read_dwords() as u32,
        gc::CP_HQD_PQ_WPTR_LO => queue.write_dwords() as u32,
        gc::CP_HQD_PQ_WPTR_HI => (queue.write_dwords() >> 32) as u32,
        gc::CP_HQD_PQ_CONTROL => stored & !(1 << 15) | (u32::from(is_empty) << 15),
        gc::CP_HQD_HQ_STATUS0 => {
            let leaving = queue.leaving().is_some_and(|l| (l.dies >> die) & 1 != 0);
            let idle = is_empty && engines.compute.in_flight(key) == 0;
            stored & !(QUEUE_IDLE | 3) | u32::from(leaving) | if idle { QUEUE_IDLE } else { 0 }
        }
        _ => stored,
    }
}
