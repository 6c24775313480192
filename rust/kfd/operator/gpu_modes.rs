// SPDX-License-Identifier: GPL-2.0-only

//! The modes that single GPUs have of their own.
//!
//! They are kept by the GPU's address, so that they outlive whatever becomes of the
//! GPU while the module is loaded.

#![forbid(unsafe_code)]

use gpreempt_policy::{Mode, MOST_GPUS};

/// The longest address of a GPU, in bytes. On the PCI bus it has 16 at most.
const LONGEST: usize = 24;

/// The address of a GPU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Address([u8; LONGEST]);

impl Address {
    /// The address of this text, if it is not too long to be one.
    pub fn new(text: &[u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut bytes = [0; LONGEST];
        for (byte, written) in bytes.iter_mut().zip(text) {
            *byte = *written;
        }
        Some(Self(bytes))
    }
}

/// So many GPUs have modes of their own that there is no room for another one.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The GPUs with modes of their own, also those that are gone.
pub struct Modes([Option<(Address, Mode)>; MOST_GPUS]);

impl Modes {
    /// Every GPU follows the module.
    pub const fn none() -> Self {
        Self([None; MOST_GPUS])
    }

    /// The mode of a GPU, if it has one of its own.
    pub fn of(&self, gpu: Address) -> Option<Mode> {
        let mut own = self.0.iter().flatten();
        own.find(|own| own.0 == gpu).map(|own| own.1)
    }

    /// Gives a GPU a mode of its own, or with none the module's again.
    pub fn set(&mut self, gpu: Address, mode: Option<Mode>) -> Result<(), NoRoom> {
        let own = self
            .0
            .iter()
            .position(|own| own.is_some_and(|own| own.0 == gpu));
        let place = own.or_else(|| self.0.iter().position(|own| own.is_none()));
        match (place.and_then(|at| self.0.get_mut(at)), mode) {
            (Some(place), mode) => *place = mode.map(|mode| (gpu, mode)),
            (None, Some(_)) => return Err(NoRoom),
            (None, None) => {}
        }
        Ok(())
    }
}
