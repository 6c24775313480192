// SPDX-License-Identifier: GPL-2.0-only
//! Reading back what a queue left in its save areas.

use super::area::{Area, Problem};
use super::exit::exit_progress;
use crate::clock::Event;
use crate::compute::{context, Group, Image, RECORD};
use crate::engines::Engines;
use crate::memory::Space;
use crate::terms::QueueKey;

/// Reads back what the save areas of some dies hold for a queue that was just
/// loaded there, and starts the transfer.
pub fn begin_restore(engines: &mut Engines, key: QueueKey, dies: u32) {
    let mut bytes = 0;
    let mut workgroups = 0;
    for die in (0..engines.bus.config.xcc_count).filter(|die| (dies >> die) & 1 != 0) {
        match read_die(engines, key, die) {
            Ok((more, count)) => {
                bytes += more;
                workgroups += count;
            }
            Err(problem) => {
                problem.stop(engines, key, "restoring waves");
                if let Some(queue) = engines.queues.get_mut(key) {
                    queue.keep_saved();
                }
                return;
            }
        }
    }
    let bus = &mut engines.bus;
    let Some(queue) = engines.queues.get_mut(key) else {
        return;
    };
    engines.compute.join(queue, key);
    queue.begin_restoring(dies);
    let now = bus.now();
    let mut end = now;
    if bytes > 0 {
        end = engines.channel.transfer(bus, now, bytes);
        bus.accounts
            .restore_begins(now, queue.account(), bytes, workgroups);
    }
    bus.clock.at(end, Event::RestoreEnd { queue: key, dies });
}

pub fn restore_end(engines: &mut Engines, key: QueueKey, dies: u32) {
    let Some(queue) = engines.queues.get_mut(key) else {
        return;
    };
    queue.end_restoring(dies);
    let now = engines.bus.now();
    engines.bus.accounts.restore_ends(now, queue.account());
    engines
        .compute
        .complete(&mut engines.bus, &mut engines.queues, key);
    exit_progress(engines, key);
    engines.launch_all();
    engines.queues.kick(&mut engines.bus, key);
}

/// Hands the work in the save area to the compute engine. Returns the bytes and
/// workgroups that the area holds.
fn read_die(engines: &mut Engines, key: QueueKey, die: u32) -> Result<(u64, u64), Problem> {
    let Some(queue) = engines.queues.get_mut(key) else {
        return Ok((0, 0));
    };
    let context = context(&engines.bus, queue, die);
    let memory = &mut engines.bus.memory;
    let Some(area) = Area::read(memory, queue, die)? else {
        return Ok((0, 0));
    };
    if area.stack_offset >= area.stack_size {
        return Ok((0, 0));
    }
    let mut stack = vec![0; (area.stack_size - area.stack_offset) as usize];
    memory.read(Space::Kernel, area.stack_at(area.stack_offset), &mut stack)?;
    let mut image = Image::from_stack(&stack).map_err(Problem::Spoiled)?;
    let mut at = u64::from(area.stack_size);
    let mut bytes = 0;
    for place in image.places() {
        if at + place.bytes > u64::from(area.size) {
            return Err(Problem::Spoiled("the save area is too small for it"));
        }
        let base = area.base.wrapping_add(at);
        if let (Some(waves), Some(program)) = (place.waves, image.program(place.part)) {
            let (program, vgprs, lds) = program;
            let shape = (vgprs, lds);
            let group = Group::restore(memory, &context, program, base, &waves, shape)?;
            image.add_group(place.part, group);
        } else {
            let mut record = [0; RECORD];
            memory.read(queue.space().on(die), base, &mut record)?;
            image
                .add_record(place.part, &record)
                .map_err(Problem::Spoiled)?;
        }
        at += place.bytes;
        bytes += place.bytes;
    }
    let workgroups = image.workgroups();
    queue.resume_at(image.fetched());
    engines.compute.resume(key, die, image);
    Ok((bytes, workgroups))
}
