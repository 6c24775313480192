// SPDX-License-Identifier: GPL-2.0-only
//! Writing what a queue leaves behind: descriptor, control stack and wave state.

use super::area::{Area, Problem};
use crate::bus::Buses;
use crate::compute::{context, Image};
use crate::engines::Engines;
use crate::layout::descriptor as mqd;
use crate::memory::{MemoryFault, Space};
use crate::queue::Queue;
use crate::registers::table::gc;
use crate::terms::{Exit, Format, QueueKey, Seat, Slot};

/// A leaving SDMA queue is in a buffer of packets, which it finishes first.
pub fn in_buffer(engines: &Engines, key: QueueKey, serial: u64) -> bool {
    let Some(queue) = engines.queues.get(key) else {
        return false;
    };
    matches!(queue.seat(), Seat::Sdma(_))
        && queue.indirect().is_some()
        && queue.fault().is_none()
        && queue
            .leaving()
            .is_some_and(|leaving| leaving.serial == serial && leaving.exit != Exit::Kill)
}

/// The state of a leaving queue has been moved. True if it is no longer loaded
/// on any die.
pub fn save_end(engines: &mut Engines, key: QueueKey, serial: u64) -> bool {
    let Some(queue) = engines.queues.get(key) else {
        return false;
    };
    let leaving = queue.leaving().copied();
    let Some(leaving) = leaving.filter(|leaving| leaving.serial == serial) else {
        return false;
    };
    let gone = match queue.seat() {
        Seat::Sdma(ring) => {
            queue.leave_sdma_ring(&mut engines.bus, ring);
            true
        }
        Seat::Compute(slot) => {
            let saved = leaving.exit != Exit::Kill;
            leave_dies(engines, key, slot, leaving.dies, saved)
        }
    };
    if gone {
        engines.queues.drop_left(&mut engines.bus, key);
        engines.compute.close(key);
    }
    gone
}

fn leave_dies(engines: &mut Engines, key: QueueKey, slot: Slot, dies: u32, saved: bool) -> bool {
    for die in (0..engines.bus.config.xcc_count).filter(|die| (dies >> die) & 1 != 0) {
        if let Err(problem) = store_die(engines, key, die, slot, saved) {
            problem.stop(engines, key, "saving waves");
        }
    }
    let workgroups = engines.compute.waiting(key);
    engines.compute.depart(key, dies);
    let Some(queue) = engines.queues.get_mut(key) else {
        return false;
    };
    let gone = queue.leave(dies);
    let now = engines.bus.now();
    engines
        .bus
        .accounts
        .save_ends(now, queue.account(), workgroups);
    gone
}

/// Writes a die's descriptor, control stack and wave state.
fn store_die(
    engines: &mut Engines,
    key: QueueKey,
    die: u32,
    slot: Slot,
    saved: bool,
) -> Result<(), Problem> {
    let bus = &mut engines.bus;
    let Some(queue) = engines.queues.get(key) else {
        return Ok(());
    };
    let Some(descriptor) = queue.descriptor_of(die) else {
        return Ok(());
    };
    let area = Area::read(&bus.memory, queue, die)?;
    store_registers(bus, queue, die, slot);
    if queue.keeps_saved() {
        return Ok(());
    }
    store_descriptor(bus, queue, descriptor)?;
    let Some(area) = area else {
        return Ok(());
    };
    let image = engines.compute.image(key, die, queue.fetched(), bus.now());
    let (stack, state) = match image.filter(|_| saved) {
        Some(image) => store_image(bus, queue, die, &area, image)?,
        None => (area.stack_size, area.stack_size),
    };
    let mut put = |dword: u64, value: u32| {
        bus.memory.write_u32(
            Space::Kernel,
            area.descriptor.wrapping_add(dword * 4),
            value,
        )
    };
    put(mqd::CNTL_STACK_OFFSET, stack)?;
    put(mqd::WG_STATE_OFFSET, state)?;
    Ok(())
}

fn store_descriptor(bus: &mut Buses, queue: &Queue, descriptor: u64) -> Result<(), MemoryFault> {
    let ticks = bus.ticks();
    let (read, write) = (queue.read_dwords(), queue.write_dwords());
    let buffer = queue.indirect().filter(|_| queue.format() == Format::Pm4);
    let address = buffer.map_or(0, |buffer| buffer.address);
    let mut put = |dword: u64, value: u32| {
        bus.memory
            .write_u32(Space::Kernel, descriptor.wrapping_add(dword * 4), value)
    };
    put(mqd::PQ_RPTR, read as u32)?;
    put(mqd::PQ_WPTR, write as u32)?;
    put(mqd::PQ_WPTR + 1, (write >> 32) as u32)?;
    put(mqd::HQD_ACTIVE, 0)?;
    put(mqd::IB_BASE, address as u32)?;
    put(mqd::IB_BASE + 1, (address >> 32) as u32)?;
    put(mqd::IB_RPTR, buffer.map_or(0, |buffer| buffer.dwords))?;
    if queue.format() == Format::Pm4 && descriptor_is_homes(queue, descriptor) {
        for (dword, value) in queue.shader().changes() {
            put(dword, value)?;
        }
    }
    put(mqd::SAVE_END_TIME, ticks as u32)?;
    put(mqd::SAVE_END_TIME + 1, (ticks >> 32) as u32)
}

/// Whether it is that of the die that reads the queue's packets.
fn descriptor_is_homes(queue: &Queue, descriptor: u64) -> bool {
    queue.descriptor_of(queue.home()) == Some(descriptor)
}

fn store_registers(bus: &mut Buses, queue: &Queue, die: u32, slot: Slot) {
    let (read, write) = (queue.read_dwords(), queue.write_dwords());
    for (register, value) in [
        (gc::CP_HQD_ACTIVE, 0),
        (gc::CP_HQD_DEQUEUE_REQUEST, 0),
        (gc::CP_HQD_PQ_RPTR, read as u32),
        (gc::CP_HQD_PQ_WPTR_LO, write as u32),
        (gc::CP_HQD_PQ_WPTR_HI, (write >> 32) as u32),
    ] {
        bus.registers.set_queue(die, slot, register, value);
    }
}

/// Writes control stack and wave state. Returns where the stack begins and where
/// the state ends, as offsets in the save area.
fn store_image(
    bus: &mut Buses,
    queue: &Queue,
    die: u32,
    area: &Area,
    mut image: Image,
) -> Result<(u32, u32), Problem> {
    let stack = image.stack(bus.config.local_memory().granule);
    let offset = area
        .stack_size
        .checked_sub(stack.len() as u32)
        .ok_or(Problem::Full("control stack"))?;
    let spoil = bus.faults.corrupt_saves.contains(&queue.doorbell_offset());
    let mut at = u64::from(area.stack_size);
    let records = image.state();
    let context = context(bus, queue, die);
    let mut groups = image.groups_mut();
    for (index, (mut record, bytes)) in records.into_iter().enumerate() {
        let end = at + bytes;
        if end > u64::from(area.size) {
            return Err(Problem::Full("save area"));
        }
        if record.is_empty() {
            if let Some((group, vgprs)) = groups.next() {
                bus.accounts.stopped(queue.account(), group.addresses());
                group.save(&mut bus.memory, &context, area.base.wrapping_add(at), vgprs)?;
            }
        } else {
            if spoil && index == 0 {
                record[8] ^= 1;
            }
            bus.memory
                .write(context.space, area.base.wrapping_add(at), &record)?;
        }
        at = end;
    }
    bus.memory
        .write(Space::Kernel, area.stack_at(offset), &stack)?;
    Ok((offset, at as u32))
}
