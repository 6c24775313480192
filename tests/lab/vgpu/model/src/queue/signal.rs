// SPDX-License-Identifier: GPL-2.0-only
//! Signals of the HSA standard, and the interrupt that wakes a waiting program.

use super::{Queue, Queues};
use crate::bus::Buses;
use crate::interrupt::source;
use crate::layout::aql::{owner, signal};
use crate::memory::{Memory, MemoryFault};
use crate::terms::{GpuNanos, QueueKey};

impl Queues {
    /// Decrements a completion signal and wakes a program that waits for it.
    /// `started` gives a dispatch its time stamps, and is of the reference clock. Address 0
    /// means no signal.
    pub fn complete_signal(
        &mut self,
        bus: &mut Buses,
        key: QueueKey,
        signal: u64,
        started: Option<GpuNanos>,
    ) -> Result<(), MemoryFault> {
        let Some(queue) = self.get(key).filter(|_| signal != 0) else {
            return Ok(());
        };
        let space = queue.space();
        if let Some(started) = started {
            let ended = bus.ticks();
            bus.memory
                .write_u64(space, signal.wrapping_add(signal::START), started.ticks())?;
            bus.memory
                .write_u64(space, signal.wrapping_add(signal::START + 8), ended)?;
        }
        bus.memory
            .add_u64(space, signal.wrapping_add(signal::VALUE), u64::MAX)?;
        self.wake(bus, key, signal)
    }

    /// Tells the queue's owner by a signal that it must do something before the queue goes
    /// on. Nothing is said while the owner has not answered. Whether there is anybody to ask.
    pub fn ask_owner(
        &self,
        bus: &mut Buses,
        key: QueueKey,
        what: u64,
    ) -> Result<bool, MemoryFault> {
        let Some(queue) = self.get(key) else {
            return Ok(true);
        };
        let Some(signal) = queue.inactive_signal(&bus.memory)? else {
            return Ok(false);
        };
        if !queue.has_asked(&bus.memory)? {
            let value = signal.wrapping_add(signal::VALUE);
            bus.memory.write_u64(queue.space(), value, what)?;
            self.wake(bus, key, signal)?;
        }
        Ok(true)
    }

    /// Wakes a program that waits for a signal.
    fn wake(&self, bus: &mut Buses, key: QueueKey, signal: u64) -> Result<(), MemoryFault> {
        let Some(queue) = self.get(key) else {
            return Ok(());
        };
        let space = queue.space();
        let mailbox = bus
            .memory
            .read_u64(space, signal.wrapping_add(signal::MAILBOX))?;
        if mailbox != 0 {
            let event = bus
                .memory
                .read_u32(space, signal.wrapping_add(signal::EVENT))?;
            bus.memory.write_u64(space, mailbox, u64::from(event))?;
            self.end_of_pipe_interrupt(bus, key, event);
        }
        Ok(())
    }

    /// Tells the driver that a queue has reached a fence or a signal.
    pub fn end_of_pipe_interrupt(&self, bus: &mut Buses, key: QueueKey, context: u32) {
        let Some(queue) = self.get(key) else {
            return;
        };
        let context = if queue.role().is_user() { context } else { 0 };
        bus.raise(&queue.processor_interrupt(source::END_OF_PIPE, context));
    }
}

impl Queue {
    /// The signal by which its owner is asked for something, if there is one.
    fn inactive_signal(&self, memory: &Memory) -> Result<Option<u64>, MemoryFault> {
        let at = self.owner_record().wrapping_add(owner::INACTIVE_SIGNAL);
        let signal = memory.read_u64(self.space(), at)?;
        Ok((signal != 0).then_some(signal))
    }

    /// Whether its owner was asked for something and has not answered yet.
    pub fn has_asked(&self, memory: &Memory) -> Result<bool, MemoryFault> {
        let value = |signal: u64| memory.read_u64(self.space(), signal.wrapping_add(signal::VALUE));
        let signal = self.inactive_signal(memory)?;
        Ok(signal.map_or(Ok(0), value)? != 0)
    }
}
