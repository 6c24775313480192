// SPDX-License-Identifier: GPL-2.0-only
//! The driver's own rings.

use super::load::{load_registers, load_slot, Loading};
use crate::engines::Engines;
use crate::layout::descriptor as mqd;
use crate::memory::{MemoryFault, Space};
use crate::registers::table::gc;
use crate::terms::{QueueKey, Role, Seat, Slot, WaveSettings};

/// The driver activated the slot of a ring through its registers.
pub fn activate(engines: &mut Engines, die: u32, slot: Slot) {
    clear_slot(engines, die, slot);
    let loading = Loading {
        role: Role::Privileged,
        vmid: 0,
        pasid: 0,
        space: Space::Kernel,
        write_address: None,
        doorbell: None,
        descriptor: None,
        is_static: false,
        settings: WaveSettings::default(),
    };
    let key = load_slot(engines, die, 1 << die, slot, loading);
    engines.queues.kick(&mut engines.bus, key);
}

/// Removes a ring whose slot another one takes.
fn clear_slot(engines: &mut Engines, die: u32, slot: Slot) {
    if let Some(old) = engines.queues.in_slot(die, slot) {
        engines.queues.remove(old);
        engines.compute.close(old);
    }
}

/// One of the driver's own rings, as MAP_QUEUES names it.
pub struct KernelRing {
    pub role: Role,
    pub descriptor: u64,
    pub write_address: u64,
    pub doorbell: u32,
}

/// Maps one of the driver's own rings on a die (MAP_QUEUES on the
/// privileged ring).
pub fn map_kernel_ring(
    engines: &mut Engines,
    die: u32,
    slot: Slot,
    ring: &KernelRing,
) -> Result<(), MemoryFault> {
    clear_slot(engines, die, slot);
    load_registers(&mut engines.bus, die, slot, ring.descriptor, 0)?;
    let loading = Loading {
        role: ring.role,
        vmid: 0,
        pasid: 0,
        space: Space::Kernel,
        write_address: Some(ring.write_address),
        doorbell: Some(ring.doorbell),
        descriptor: Some((ring.descriptor, 0)),
        is_static: true,
        settings: WaveSettings::default(),
    };
    let key = load_slot(engines, die, 1 << die, slot, loading);
    engines.queues.kick(&mut engines.bus, key);
    Ok(())
}

/// Takes one of the driver's own rings off its die.
pub fn unmap_kernel_ring(engines: &mut Engines, die: u32, doorbell: u32) {
    let key = engines.queues.find(|queue| {
        !queue.role().is_user() && queue.is_on(die) && queue.doorbell() == Some(doorbell)
    });
    if let Some(key) = key {
        drop_ring(engines, key);
    }
}

pub fn drop_ring(engines: &mut Engines, key: QueueKey) {
    let Some(queue) = engines.queues.remove(key) else {
        return;
    };
    engines.compute.close(key);
    let Seat::Compute(slot) = queue.seat() else {
        return;
    };
    let bus = &mut engines.bus;
    for die in queue.dies() {
        // The driver takes the pointer it finds here for the next
        // ring in this slot, which starts at 0.
        bus.registers.set_queue(die, slot, gc::CP_HQD_ACTIVE, 0);
        bus.registers.set_queue(die, slot, gc::CP_HQD_PQ_RPTR, 0);
    }
    if let (Some(descriptor), true) = (queue.descriptor(), queue.role() != Role::Privileged) {
        let at = |dword| descriptor.wrapping_add(dword * 4);
        let (read, write) = (queue.read_dwords() as u32, queue.write_dwords());
        // The descriptor was readable when the ring was mapped.
        let _ = bus.memory.write_u32(Space::Kernel, at(mqd::PQ_RPTR), read);
        let _ = bus.memory.write_u64(Space::Kernel, at(mqd::PQ_WPTR), write);
    }
}
