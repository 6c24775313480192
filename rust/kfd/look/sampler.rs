// SPDX-License-Identifier: GPL-2.0-only

//! How queues are watched: the operator's choice.

#![forbid(unsafe_code)]

use crate::kernel::choice::choice;

choice! {
    /// How queues are watched.
    pub enum SamplerKind {
        /// Memory, and wave counts when an inversion is suspected.
        Auto "auto",
        /// Read and write pointers in user memory.
        Memory "memory",
        /// The registers of the hardware queues as well.
        Mmio "mmio",
    }
}
