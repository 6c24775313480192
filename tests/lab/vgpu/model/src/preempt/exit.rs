// SPDX-License-Identifier: GPL-2.0-only
//! How a queue leaves its slot, up to the point where its waves are off the
//! units.

use super::area::Area;
use crate::bus::Buses;
use crate::clock::Event;
use crate::engines::Engines;
use crate::queue::Leaving;
use crate::registers::table::gc;
use crate::registers::xcc_base;
use crate::terms::{Exit, Format, QueueKey};

/// Nanoseconds in one unit of CP_IQ_WAIT_TIME2.SCH_WAVE: 1000 cycles of
/// 2.1 GHz.
const GRACE_UNIT: u64 = 476;

/// Starts to take a user queue off some of its dies.
pub fn begin_exit(engines: &mut Engines, key: QueueKey, exit: Exit, dies: u32) {
    let Some(queue) = engines.queues.get(key) else {
        return;
    };
    let faults = &engines.bus.faults;
    let hangs = faults.copies_hung && queue.format() == Format::Sdma && queue.has_backlog();
    let yields = !hangs && !faults.unyielding.contains(&queue.doorbell_offset());
    if yields && queue.leaving().is_none() {
        let dies = dies & queue.die_mask();
        start_exit(engines, key, exit, dies);
    }
}

/// The driver resets a queue that does not leave: its waves are lost.
pub fn force_exit(engines: &mut Engines, key: QueueKey, dies: u32) {
    let Some(queue) = engines.queues.get_mut(key) else {
        return;
    };
    if !queue.leaving().is_some_and(|leaving| leaving.saving) {
        queue.stay();
        let dies = dies & queue.die_mask();
        start_exit(engines, key, Exit::Kill, dies);
    }
}

fn start_exit(engines: &mut Engines, key: QueueKey, exit: Exit, dies: u32) {
    let bus = &mut engines.bus;
    let serial = bus.clock.serial();
    let Some(queue) = engines.queues.get_mut(key).filter(|_| dies != 0) else {
        return;
    };
    let has_area = matches!(Area::read(&bus.memory, queue, queue.home()), Ok(Some(_)));
    let exit = match exit {
        Exit::Save if queue.slot().is_some() && !has_area => Exit::Drain,
        exit => exit,
    };
    queue.begin_leaving(Leaving {
        exit,
        dies,
        serial,
        saving: false,
    });
    if exit == Exit::Save {
        let grace = grace(bus, queue.home());
        bus.clock
            .after(grace, Event::GraceEnd { queue: key, serial });
    }
    match exit {
        Exit::Kill => take_off(engines, key),
        Exit::Save | Exit::Drain => exit_progress(engines, key),
    }
}

/// How long waves may continue before they are saved.
fn grace(bus: &Buses, die: u32) -> u64 {
    let times = bus.registers.get(xcc_base(die) + gc::CP_IQ_WAIT_TIME2);
    u64::from((times >> 8) & 0xff) * GRACE_UNIT
}

/// A leaving queue may have no wave left to wait for.
pub fn exit_progress(engines: &mut Engines, key: QueueKey) {
    let Some(queue) = engines.queues.get(key) else {
        return;
    };
    let Some(leaving) = queue.leaving().filter(|leaving| !leaving.saving) else {
        return;
    };
    let resident = engines.compute.resident(key, leaving.dies);
    if resident == 0 && queue.restoring() & leaving.dies == 0 {
        take_off(engines, key);
    }
}

pub fn grace_end(engines: &mut Engines, key: QueueKey, serial: u64) {
    let Some(queue) = engines.queues.get(key) else {
        return;
    };
    // A queue that is being restored is saved once that is complete.
    let due = queue.leaving().is_some_and(|leaving| {
        leaving.serial == serial && !leaving.saving && queue.restoring() & leaving.dies == 0
    });
    if due {
        take_off(engines, key);
    }
}

/// Takes the waves off the units and starts moving their state.
fn take_off(engines: &mut Engines, key: QueueKey) {
    let bus = &mut engines.bus;
    let now = bus.now();
    let Some(queue) = engines.queues.get_mut(key) else {
        return;
    };
    let account = queue.account();
    let busy = queue.busy_until();
    let Some(leaving) = queue.begin_saving() else {
        return;
    };
    let bytes = engines.compute.evict(bus, key, account, leaving.dies);
    let mut end = now.after(bus.config.timing.unmap_queue);
    if leaving.exit == Exit::Kill {
        engines.compute.abandon(key);
    } else if bytes > 0 {
        end = engines.channel.transfer(bus, end, bytes);
        bus.accounts.save_begins(now, account, bytes);
    }
    let serial = leaving.serial;
    bus.clock
        .at(end.max(busy), Event::SaveEnd { queue: key, serial });
    engines.launch_all();
}
