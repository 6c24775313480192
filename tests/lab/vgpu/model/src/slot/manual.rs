// SPDX-License-Identifier: GPL-2.0-only
//! User queues that the driver loads by register, die by die, without the
//! scheduler firmware (`sched_policy=2`).

use super::load::{descriptor_stride, load_die_settings, load_slot, reading_die, Loading};
use crate::bus::Buses;
use crate::engines::Engines;
use crate::preempt;
use crate::registers::table::gc;
use crate::terms::{QueueKey, Role, Seat, Slot, WaveSettings};

/// The driver activated a slot for a user's address space.
pub fn activate(engines: &mut Engines, die: u32, slot: Slot, vmid: u32) {
    let key = match partner(engines, die, slot, vmid) {
        Some(key) => {
            let Some(queue) = engines.queues.get_mut(key) else {
                return;
            };
            if queue.is_on(die) {
                return;
            }
            queue.join(die);
            key
        }
        None => load(engines, die, slot, vmid),
    };
    if let Err(fault) = load_die_settings(engines, key, die) {
        let reason = format!("descriptor: {fault}");
        engines.queues.fail(&mut engines.bus, key, reason);
        return;
    }
    preempt::begin_restore(engines, key, 1 << die);
}

/// The same queue in the slot of another die, if it is loaded there already.
fn partner(engines: &Engines, die: u32, slot: Slot, vmid: u32) -> Option<QueueKey> {
    let registers = &engines.bus.registers;
    let first = engines.bus.partition_of(die).first;
    let doorbell = registers.queue(die, slot, gc::CP_HQD_PQ_DOORBELL_CONTROL);
    let doorbell = Some((doorbell >> 2) & 0x3ff_ffff);
    engines.queues.find(|queue| {
        queue.role() == Role::Manual
            && queue.first() == first
            && queue.seat() == Seat::Compute(slot)
            && queue.vmid() == vmid
            && queue.doorbell() == doorbell
    })
}

/// What the registers of a die say of an address space's waves.
fn wave_settings(bus: &Buses, die: u32, vmid: u32) -> WaveSettings {
    let get = |register| bus.registers.of_space(die, vmid, register);
    let wide = |low: u32| u64::from(get(low)) | (u64::from(get(low + 1)) << 32);
    WaveSettings::new(
        [get(gc::SH_MEM_CONFIG), get(gc::SH_MEM_BASES)],
        wide(gc::SQ_SHADER_TBA_LO),
        wide(gc::SQ_SHADER_TMA_LO),
    )
}

fn load(engines: &mut Engines, die: u32, slot: Slot, vmid: u32) -> QueueKey {
    let bus = &engines.bus;
    let write_address = bus
        .registers
        .queue_wide(die, slot, gc::CP_HQD_PQ_WPTR_POLL_ADDR);
    let loading = Loading {
        role: Role::Manual,
        vmid,
        pasid: bus.pasid_of(vmid),
        space: bus.context_space(vmid, Some(die)),
        write_address: Some(write_address),
        doorbell: None,
        descriptor: None,
        is_static: true,
        settings: wave_settings(bus, die, vmid),
    };
    let key = load_slot(engines, die, 1 << die, slot, loading);
    // What becomes of it from here on is charged to its own account.
    engines.queues.account_mapped(&mut engines.bus, key);
    let own = engines.queues.get(key).and_then(|queue| queue.descriptor());
    let stride = own.map_or(Ok(0), |own| descriptor_stride(&engines.bus, own));
    let partition = engines.bus.partition_of(die);
    let home = own.map_or(Ok(die), |own| reading_die(&engines.bus, own, partition));
    let settings = stride.and_then(|stride| Ok((stride, home?)));
    match (settings, engines.queues.get_mut(key)) {
        (Ok((stride, home)), Some(queue)) => {
            // The registers name this die's descriptor; the queue
            // keeps the first die's.
            queue.set_descriptor(
                own.map(|own| own - u64::from(die - partition.first) * stride),
                stride,
            );
            queue.set_home(home);
        }
        (Ok(_), None) => {}
        (Err(fault), _) => {
            let reason = format!("descriptor: {fault}");
            engines.queues.fail(&mut engines.bus, key, reason);
        }
    }
    key
}
