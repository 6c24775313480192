// SPDX-License-Identifier: GPL-2.0-only

//! How queues are watched: the operator's choice.

#![forbid(unsafe_code)]

/// How queues are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplerKind {
    /// Memory, and wave counts when an inversion is suspected.
    Auto,
    /// Read and write pointers in user memory.
    Memory,
    /// The registers of the hardware queues as well.
    Mmio,
}

impl SamplerKind {
    const ALL: [Self; 3] = [SamplerKind::Auto, SamplerKind::Memory, SamplerKind::Mmio];

    /// The one that a word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            SamplerKind::Auto => "auto",
            SamplerKind::Memory => "memory",
            SamplerKind::Mmio => "mmio",
        }
    }
}
