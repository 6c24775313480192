// SPDX-License-Identifier: GPL-2.0-only
//! How a user queue leaves its slot and comes back: waves are given a grace
//! time, taken off the compute units and written to the queue's own save
//! area, and later read from there and from nowhere else.

mod image;

use std::collections::VecDeque;

use crate::compute::{Dispatch, Resident, SavedWork};
use crate::gpu::{Event, Gpu};
use crate::layout::descriptor as mqd;
use crate::memory::{MemoryFault, Space};
use crate::queue::{Leaving, Queue};
use crate::registers::table::gc;
use crate::registers::xcc_base;
use crate::terms::{Exit, Format, GpuNanos, QueueKey, SdmaRing, Seat};
use image::Image;

/// The driver sets it in a descriptor whose queue has a save area.
const QSWITCH_MODE: u32 = 1 << 30;

/// Nanoseconds in one unit of CP_IQ_WAIT_TIME2.SCH_WAVE: 1000 cycles of
/// 2.1 GHz.
const GRACE_UNIT: u64 = 476;

/// The save area that a die's descriptor describes.
#[derive(Clone, Copy, Debug)]
struct Area {
    descriptor: u64,
    base: u64,
    size: u32,
    stack_size: u32,
    stack_offset: u32,
}

impl Gpu {
    fn area(&self, queue: &Queue, die: u32) -> Result<Option<Area>, MemoryFault> {
        let Some(first) = queue.mqd else {
            return Ok(None);
        };
        let descriptor = first + u64::from(die) * queue.stride;
        let at = |dword: u64| descriptor + dword * 4;
        let mode = self
            .memory
            .read_u32(Space::Kernel, at(mqd::PERSISTENT_STATE))?;
        if mode & QSWITCH_MODE == 0 {
            return Ok(None);
        }
        Ok(Some(Area {
            descriptor,
            base: self
                .memory
                .read_u64(Space::Kernel, at(mqd::CTX_SAVE_BASE))?,
            size: self
                .memory
                .read_u32(Space::Kernel, at(mqd::CTX_SAVE_SIZE))?,
            stack_size: self
                .memory
                .read_u32(Space::Kernel, at(mqd::CNTL_STACK_SIZE))?,
            stack_offset: self
                .memory
                .read_u32(Space::Kernel, at(mqd::CNTL_STACK_OFFSET))?,
        }))
    }

    /// Starts to take a user queue off some of its dies.
    pub fn begin_exit(&mut self, key: QueueKey, exit: Exit, dies: u32) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let unyielding = self.faults.unyielding.contains(&queue.doorbell_offset());
        if !unyielding && queue.leaving.is_none() {
            self.start_exit(key, exit, dies & queue.dies);
        }
    }

    /// The driver resets a queue that does not leave: its waves are lost.
    pub fn force_exit(&mut self, key: QueueKey, dies: u32) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let saving = queue.leaving.as_ref().is_some_and(|leaving| leaving.saving);
        if !saving {
            queue.leaving = None;
            let dies = dies & queue.dies;
            self.start_exit(key, Exit::Kill, dies);
        }
    }

    fn start_exit(&mut self, key: QueueKey, exit: Exit, dies: u32) {
        let serial = self.next_serial();
        let Some(queue) = self.queues.get(key).filter(|_| dies != 0) else {
            return;
        };
        let has_area = matches!(self.area(queue, queue.home), Ok(Some(_)));
        let exit = match exit {
            Exit::Save if queue.slot().is_some() && !has_area => Exit::Drain,
            exit => exit,
        };
        let home = queue.home;
        if let Some(queue) = self.queues.get_mut(key) {
            queue.leaving = Some(Leaving {
                exit,
                dies,
                serial,
                saving: false,
            });
        }
        match exit {
            Exit::Kill => self.take_off(key),
            Exit::Save | Exit::Drain => {
                if exit == Exit::Save {
                    let at = self.now.after(self.grace(home));
                    self.events.push(at, Event::GraceEnd { queue: key, serial });
                }
                self.exit_progress(key);
            }
        }
    }

    /// How long waves may go on before they are saved.
    fn grace(&self, die: u32) -> u64 {
        let times = self.registers.get(xcc_base(die) + gc::CP_IQ_WAIT_TIME2);
        u64::from((times >> 8) & 0xff) * GRACE_UNIT
    }

    /// Queues that would not yield may do so now: their operation still waits.
    pub fn retry_exits(&mut self) {
        for key in self.hws_waiting() {
            self.begin_exit(key, Exit::Save, u32::MAX);
        }
    }

    /// A leaving queue may have no wave left to wait for.
    pub fn exit_progress(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let Some(leaving) = queue.leaving.as_ref().filter(|leaving| !leaving.saving) else {
            return;
        };
        let dies = leaving.dies;
        let resident: u64 = queue
            .dispatches
            .iter()
            .flat_map(|dispatch| dispatch.shares.iter().zip(0..))
            .filter(|(_, die)| (dies >> die) & 1 != 0)
            .map(|(share, _)| share.resident)
            .sum();
        if resident == 0 && queue.restoring & dies == 0 {
            self.take_off(key);
        }
    }

    pub fn grace_end(&mut self, key: QueueKey, serial: u64) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        // What is being restored is saved again once it is there.
        let due = queue.leaving.as_ref().is_some_and(|leaving| {
            leaving.serial == serial && !leaving.saving && queue.restoring & leaving.dies == 0
        });
        if due {
            self.take_off(key);
        }
    }

    /// Takes the waves off the units and starts moving their state.
    fn take_off(&mut self, key: QueueKey) {
        let now = self.now;
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let account = queue.account;
        let Some(leaving) = queue.leaving.as_mut() else {
            return;
        };
        leaving.saving = true;
        let (exit, dies, serial) = (leaving.exit, leaving.dies, leaving.serial);
        let mut bytes = 0;
        for die in (0..self.config.xcc_count).filter(|die| (dies >> die) & 1 != 0) {
            let evicted = self.compute.dies[die as usize].evict(key);
            for resident in &evicted {
                self.accounts.left(now, account, resident.footprint.waves);
                if exit != Exit::Kill {
                    bytes += resident.footprint.saved_bytes();
                }
            }
            if let Some(queue) = self.queues.get_mut(key) {
                put_back(queue, die, evicted, now);
            }
        }
        if exit == Exit::Kill {
            if let Some(queue) = self.queues.get_mut(key) {
                queue.dispatches.clear();
            }
        }
        let unmap = now.after(self.config.timing.unmap_queue);
        let end = if bytes > 0 {
            self.move_state(unmap, bytes)
        } else {
            unmap
        };
        if bytes > 0 {
            self.accounts.save_begins(now, account, bytes);
        }
        let busy = self.queues.get(key).map_or(now, |queue| queue.busy_until);
        self.events
            .push(end.max(busy), Event::SaveEnd { queue: key, serial });
        self.launch_all();
    }

    /// When a transfer of so many bytes ends. All of them share one channel.
    fn move_state(&mut self, from: GpuNanos, bytes: u64) -> GpuNanos {
        let start = from.max(self.save_channel_free);
        let fixed = self.config.timing.save_fixed;
        let end = start.after(self.config.save_time(bytes).0 - fixed);
        self.save_channel_free = end;
        end.after(fixed)
    }

    pub fn save_end(&mut self, key: QueueKey, serial: u64) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let Some(leaving) = queue
            .leaving
            .clone()
            .filter(|leaving| leaving.serial == serial)
        else {
            return;
        };
        if let Seat::Sdma(ring) = queue.seat {
            // A packet that refers to a buffer ends before the queue leaves.
            if queue.indirect.is_some() && queue.fault.is_none() && leaving.exit != Exit::Kill {
                self.finish_buffer(key, serial);
                return;
            }
            self.store_sdma(key, ring);
            self.queue_left(key);
            return;
        }
        let saved = leaving.exit != Exit::Kill;
        for die in (0..self.config.xcc_count).filter(|die| (leaving.dies >> die) & 1 != 0) {
            if let Err(problem) = self.store_die(key, die, saved) {
                self.fail_queue(key, format!("saving waves: {problem}"));
            }
        }
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        queue.leaving = None;
        queue.dies &= !leaving.dies;
        let account = queue.account;
        let gone = queue.dies == 0;
        let saved_workgroups = queue
            .dispatches
            .iter()
            .flat_map(|d| &d.shares)
            .map(|s| s.waiting.len() as u64)
            .sum();
        for dispatch in &mut queue.dispatches {
            for (share, die) in dispatch.shares.iter_mut().zip(0..) {
                if (leaving.dies >> die) & 1 != 0 {
                    share.present = false;
                    share.waiting.clear();
                }
            }
        }
        self.accounts.save_ends(self.now, account, saved_workgroups);
        if gone {
            self.queue_left(key);
        }
    }

    /// Lets a leaving SDMA queue reach the end of its buffer.
    fn finish_buffer(&mut self, key: QueueKey, serial: u64) {
        let flow = self.sdma_fetch(key);
        let nanos = match flow {
            crate::gpu::Flow::Next(nanos) => nanos.max(1),
            _ => self.config.timing.poll,
        };
        self.events
            .push(self.now.after(nanos), Event::SaveEnd { queue: key, serial });
    }

    fn store_sdma(&mut self, key: QueueKey, ring: SdmaRing) {
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        let (read, write, descriptor) = (queue.read, queue.write, queue.mqd);
        let activity = queue.busy_ticks();
        self.store_sdma_pointers(ring, read, write);
        self.clear_sdma_doorbell(ring);
        let Some(descriptor) = descriptor else {
            return;
        };
        for (dword, value) in [
            (mqd::sdma::RB_RPTR, read),
            (mqd::sdma::UTILIZATION, activity),
        ] {
            let at = descriptor + dword * 4;
            if let Err(fault) = self.memory.write_u64(Space::Kernel, at, value) {
                self.note(format!("descriptor of an SDMA queue: {fault}"));
            }
        }
    }

    /// A queue has left its last die.
    fn queue_left(&mut self, key: QueueKey) {
        self.account_unmapped(key);
        self.queues.remove(key);
        self.hws_queue_left(key);
    }

    /// Writes a die's descriptor, control stack and wave state.
    fn store_die(&mut self, key: QueueKey, die: u32, saved: bool) -> Result<(), Problem> {
        let Some(queue) = self.queues.get(key) else {
            return Ok(());
        };
        let Seat::Compute(slot) = queue.seat else {
            return Ok(());
        };
        let Some(first) = queue.mqd else {
            return Ok(());
        };
        let descriptor = first + u64::from(die) * queue.stride;
        let space = queue.space;
        let (read, write) = (queue.read_dwords(), queue.write_dwords());
        let buffer = queue.indirect.filter(|_| queue.format == Format::Pm4);
        let image = Image::of(queue, die);
        let spoil = self.faults.corrupt_saves.contains(&queue.doorbell_offset());
        let area = self.area(queue, die)?;
        let now = self.now;
        let mut put = |dword: u64, value: u32| {
            self.memory
                .write_u32(Space::Kernel, descriptor + dword * 4, value)
        };
        put(mqd::PQ_RPTR, read as u32)?;
        put(mqd::PQ_WPTR, write as u32)?;
        put(mqd::PQ_WPTR + 1, (write >> 32) as u32)?;
        put(mqd::HQD_ACTIVE, 0)?;
        let address = buffer.map_or(0, |buffer| buffer.address);
        put(mqd::IB_BASE, address as u32)?;
        put(mqd::IB_BASE + 1, (address >> 32) as u32)?;
        put(mqd::IB_RPTR, buffer.map_or(0, |buffer| buffer.dwords))?;
        put(mqd::SAVE_END_TIME, now.ticks() as u32)?;
        put(mqd::SAVE_END_TIME + 1, (now.ticks() >> 32) as u32)?;
        let registers = &mut self.registers;
        registers.set_queue(die, slot, gc::CP_HQD_ACTIVE, 0);
        registers.set_queue(die, slot, gc::CP_HQD_DEQUEUE_REQUEST, 0);
        registers.set_queue(die, slot, gc::CP_HQD_PQ_RPTR, read as u32);
        registers.set_queue(die, slot, gc::CP_HQD_PQ_WPTR_LO, write as u32);
        registers.set_queue(die, slot, gc::CP_HQD_PQ_WPTR_HI, (write >> 32) as u32);
        let Some(area) = area else {
            return Ok(());
        };
        let (stack, state) = match (saved, image) {
            (true, Some(image)) => {
                let stack = image.stack();
                let offset = area
                    .stack_size
                    .checked_sub(stack.len() as u32)
                    .ok_or(Problem::Full("control stack"))?;
                let mut at = u64::from(area.stack_size);
                for (index, (record, bytes)) in image.state().into_iter().enumerate() {
                    let end = at + bytes;
                    if end > u64::from(area.size) {
                        return Err(Problem::Full("save area"));
                    }
                    let mut record = record;
                    if spoil && index == 0 {
                        record[8] ^= 1;
                    }
                    self.memory.write(space, area.base + at, &record)?;
                    at = end;
                }
                let stack_at = descriptor + mqd::CONTROL_STACK + u64::from(offset);
                self.memory.write(Space::Kernel, stack_at, &stack)?;
                (offset, at as u32)
            }
            _ => (area.stack_size, area.stack_size),
        };
        let mut put = |dword: u64, value: u32| {
            self.memory
                .write_u32(Space::Kernel, area.descriptor + dword * 4, value)
        };
        put(mqd::CNTL_STACK_OFFSET, stack)?;
        put(mqd::WG_STATE_OFFSET, state)?;
        Ok(())
    }

    /// Reads back what a die's save area holds for a queue that was just
    /// loaded, and starts the transfer.
    pub fn begin_restore(&mut self, key: QueueKey, dies: u32) {
        let mut bytes = 0;
        let mut workgroups = 0;
        for die in (0..self.config.xcc_count).filter(|die| (dies >> die) & 1 != 0) {
            match self.read_die(key, die) {
                Ok((more, count)) => {
                    bytes += more;
                    workgroups += count;
                }
                Err(problem) => {
                    self.fail_queue(key, format!("restoring waves: {problem}"));
                    return;
                }
            }
        }
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        queue.join();
        queue.restoring |= dies;
        let account = queue.account;
        let end = if bytes > 0 {
            self.move_state(self.now, bytes)
        } else {
            self.now
        };
        if bytes > 0 {
            self.accounts
                .restore_begins(self.now, account, bytes, workgroups);
        }
        self.events
            .push(end, Event::RestoreEnd { queue: key, dies });
    }

    pub fn restore_end(&mut self, key: QueueKey, dies: u32) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        queue.restoring &= !dies;
        let account = queue.account;
        self.accounts.restore_ends(self.now, account);
        while let Some(position) = self
            .queues
            .get(key)
            .and_then(|queue| queue.dispatches.iter().position(Dispatch::is_done))
        {
            self.dispatch_done(key, position);
        }
        self.exit_progress(key);
        self.launch_all();
        self.kick(key);
    }

    /// Bytes and workgroups that the save area holds; their work is added to
    /// the queue's dispatches.
    fn read_die(&mut self, key: QueueKey, die: u32) -> Result<(u64, u64), Problem> {
        let Some(queue) = self.queues.get(key) else {
            return Ok((0, 0));
        };
        let space = queue.space;
        let Some(area) = self.area(queue, die)? else {
            return Ok((0, 0));
        };
        if area.stack_offset >= area.stack_size {
            return Ok((0, 0));
        }
        let used = (area.stack_size - area.stack_offset) as usize;
        let mut stack = vec![0; used];
        let stack_at = area.descriptor + mqd::CONTROL_STACK + u64::from(area.stack_offset);
        self.memory.read(Space::Kernel, stack_at, &mut stack)?;
        let mut image = Image::from_stack(&stack).map_err(Problem::Spoiled)?;
        let mut at = u64::from(area.stack_size);
        let mut bytes = 0;
        for (position, size) in image.places() {
            let mut record = [0; image::RECORD];
            self.memory.read(space, area.base + at, &mut record)?;
            image
                .add_record(position, &record)
                .map_err(Problem::Spoiled)?;
            at += size;
            bytes += size;
        }
        let workgroups = image.workgroups();
        let die_count = self.config.xcc_count;
        if let Some(queue) = self.queues.get_mut(key) {
            image.give_to(queue, die, die_count);
        }
        Ok((bytes, workgroups))
    }
}

/// Turns workgroups that were taken off a die into work that waits.
fn put_back(queue: &mut Queue, die: u32, evicted: Vec<Resident>, now: GpuNanos) {
    for dispatch in &mut queue.dispatches {
        let share = &mut dispatch.shares[die as usize];
        let mut work: Vec<SavedWork> = evicted
            .iter()
            .filter(|resident| resident.packet == dispatch.packet)
            .map(|resident| SavedWork {
                workgroup: resident.workgroup,
                remaining: match (resident.ends, dispatch.cost) {
                    (GpuNanos::NEVER, u64::MAX) => u64::MAX,
                    // A fault keeps it from ending though its time is over.
                    (GpuNanos::NEVER, _) => 0,
                    (ends, _) => ends.since(now),
                },
            })
            .collect();
        work.sort_by_key(|work| work.workgroup);
        share.resident = 0;
        let mut waiting = VecDeque::from(work);
        waiting.append(&mut share.waiting);
        share.waiting = waiting;
    }
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    #[error("the {0} is full")]
    Full(&'static str),
    #[error("the saved state is spoiled: {0}")]
    Spoiled(&'static str),
}
