// SPDX-License-Identifier: GPL-2.0-only
//! The host of a virtual function, as its guest meets it: a mailbox, data in video memory,
//! a security processor, and registers that are not the guest's.

pub mod exchange;
mod mailbox;
mod rights;
mod security;
mod turns;

pub use mailbox::Consequence;
pub use rights::{By, ForbiddenReport};
pub use turns::{Next, Turns};

use crate::bus::Buses;
use crate::clock::HostStep;

/// What the host remembers of its guest.
#[derive(Clone, Default)]
pub struct Host {
    /// The guest has the GPU to itself, to set it up or to leave it.
    exclusive: bool,
    ring: Option<security::CommandRing>,
    refused: rights::Refused,
}

impl Host {
    /// A host that has made everything ready for its guest.
    pub fn new(bus: &mut Buses) -> Host {
        if bus.config.virtual_function {
            place_exchange(bus);
        }
        Host::default()
    }

    /// The guest has the GPU to itself.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// The GPU is reset: what belongs to it, and not to the host, is gone.
    pub fn reset(&mut self) {
        self.ring = None;
    }

    pub fn step(&mut self, bus: &mut Buses, step: HostStep) -> Consequence {
        match step {
            HostStep::Hear => self.hear(bus),
            HostStep::Answer { request, first } => return self.answer(bus, request, first),
            HostStep::Security => self.security(bus),
        }
        Consequence::Nothing
    }
}

/// Writes the host's page.
fn place_exchange(bus: &mut Buses) {
    bus.memory.vram_write(exchange::OFFSET, &exchange::page());
}
