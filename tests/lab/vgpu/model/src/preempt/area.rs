// SPDX-License-Identifier: GPL-2.0-only
//! Where a die's state of a queue is saved, as its descriptor says.

use crate::compute::Trouble;
use crate::engines::Engines;
use crate::layout::descriptor as mqd;
use crate::memory::{FaultCause, Memory, MemoryFault, Space};
use crate::queue::Queue;
use crate::terms::QueueKey;

/// The driver sets it in a descriptor whose queue has a save area.
const QSWITCH_MODE: u32 = 1 << 30;

/// The save area that a die's descriptor describes.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    pub descriptor: u64,
    pub base: u64,
    pub size: u32,
    pub stack_size: u32,
    pub stack_offset: u32,
}

impl Area {
    pub fn read(memory: &Memory, queue: &Queue, die: u32) -> Result<Option<Area>, MemoryFault> {
        let Some(descriptor) = queue.descriptor_of(die) else {
            return Ok(None);
        };
        let word = |dword: u64| memory.read_u32(Space::Kernel, descriptor.wrapping_add(dword * 4));
        if word(mqd::PERSISTENT_STATE)? & QSWITCH_MODE == 0 {
            return Ok(None);
        }
        Ok(Some(Area {
            descriptor,
            base: memory.read_u64(
                Space::Kernel,
                descriptor.wrapping_add(mqd::CTX_SAVE_BASE * 4),
            )?,
            size: word(mqd::CTX_SAVE_SIZE)?,
            stack_size: word(mqd::CNTL_STACK_SIZE)?,
            stack_offset: word(mqd::CNTL_STACK_OFFSET)?,
        }))
    }

    /// The kernel's address of an offset in the control stack.
    pub fn stack_at(&self, offset: u32) -> u64 {
        self.descriptor
            .wrapping_add(mqd::CONTROL_STACK + u64::from(offset))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    #[error("the {0} is full")]
    Full(&'static str),
    #[error("the saved state is spoiled: {0}")]
    Spoiled(&'static str),
    #[error("the trap handler: {0}")]
    Handler(String),
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Problem {
        match trouble {
            Trouble::Memory(fault) => Problem::Memory(fault),
            Trouble::Handler(what) => Problem::Handler(what),
        }
    }
}

/// A wave whose state is not what was saved goes on anywhere: it fetches its next
/// instruction where no page is.
const LOST_WAVE: MemoryFault = MemoryFault {
    address: 0,
    write: false,
    cause: FaultCause::NotMapped,
};

impl Problem {
    /// Stops the queue whose waves could not be moved, and tells the driver where
    /// hardware would run into a page fault.
    pub fn stop(self, engines: &mut Engines, key: QueueKey, doing: &str) {
        let (queues, bus) = (&mut engines.queues, &mut engines.bus);
        match self {
            Problem::Memory(fault) => queues.memory_fault(bus, key, fault, doing),
            Problem::Spoiled(_) => {
                queues.memory_fault(bus, key, LOST_WAVE, &format!("{doing}: {self}"));
            }
            Problem::Full(_) | Problem::Handler(_) => {
                queues.fail(bus, key, format!("{doing}: {self}"))
            }
        }
    }
}
